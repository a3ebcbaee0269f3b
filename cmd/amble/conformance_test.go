package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConformance crawls documentation that nginx serves, beside wget2, and judges by nginx's own logs. It is run by
// .ci/conformance.sh, which says in AMBLE_CONFORMANCE where those logs are.
func TestConformance(t *testing.T) {
	dir := os.Getenv("AMBLE_CONFORMANCE")
	if dir == "" {
		t.Skip("needs nginx, wget2 and Debian's documentation packages: make conformance")
	}
	for name, origin := range map[string]string{
		"python": "http://127.0.31.1:8311", "postgresql": "http://127.0.31.2:8312", "git": "http://127.0.31.3:8313",
	} {
		t.Run(name, func(t *testing.T) {
			job := filepath.Join(dir, "job-"+name)
			seed := origin + "/index.html"
			amble(t, "crawl", "-q", "--job", job, "--own", "127.0.31.0/24", "--floor", "0", seed)
			// Exit code 8 only says that some answer was an error, as 404 is.
			wget := exec.Command("wget2", "-q", "-r", "-l", "inf", "--no-robots", "-P", t.TempDir(), seed)
			if out, err := wget.CombinedOutput(); err != nil && wget.ProcessState.ExitCode() != 8 {
				t.Fatalf("wget2: %v\n%s", err, out)
			}
			log := filepath.Join(dir, name+".log")
			ours, theirs := reached(t, log, "Amble/"), reached(t, log, "wget2/")
			if len(ours) < 100 {
				t.Fatalf("only %d pages were reached", len(ours))
			}
			captured := capturedPages(t, job, origin)
			for _, target := range slices.Sorted(maps.Keys(ours)) {
				if captured[target].times != 1 || ours[target] != 1 {
					t.Errorf("%s: captured %d times, served %d times", target, captured[target].times, ours[target])
				}
			}
			for target := range captured {
				if ours[target] == 0 {
					t.Errorf("%s: captured, though nginx did not serve it", target)
				}
			}
			explained := 0
			for _, target := range slices.Sorted(maps.Keys(ours)) {
				if theirs[target] > 0 {
					continue
				}
				why := whyNotTheirs(t, job, target, captured[target].via)
				if why == "" {
					t.Errorf("%s: only Amble reached it, and nothing explains that", target)
					continue
				}
				explained++
				t.Logf("%s: only Amble reached it: %s", target, why)
			}
			for _, target := range slices.Sorted(maps.Keys(theirs)) {
				if ours[target] == 0 {
					t.Errorf("%s: only wget2 reached it", target)
				}
			}
			t.Logf("%s: %d pages by Amble, %d by wget2, %d differences explained", name, len(ours), len(theirs), explained)
		})
	}
}

// amble runs the command line in a process of its own and returns what it wrote.
func amble(t *testing.T, args ...string) []byte {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "AMBLE_TEST_MAIN=1", "XDG_CONFIG_HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("amble %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// reached counts the HTML pages that a server's log says an agent was given.
func reached(t *testing.T, log, agent string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]int)
	for line := range bytes.Lines(text) {
		var l struct {
			Agent, MIME, Target string
			Status              int
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v: %s", log, err, line)
		}
		if l.Status == 200 && strings.HasPrefix(l.MIME, "text/html") && strings.HasPrefix(l.Agent, agent) {
			pages[l.Target]++
		}
	}
	return pages
}

type capturedPage struct {
	times int
	via   string
}

// capturedPages are the HTML pages of an archive by request-target.
func capturedPages(t *testing.T, job, origin string) map[string]capturedPage {
	t.Helper()
	pages := make(map[string]capturedPage)
	for line := range bytes.Lines(amble(t, "export", "-q", "--job", job, "--format", "jsonl", "--status", "200", "--mime", "text/html")) {
		var l struct{ URL, Via string }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		target := strings.TrimPrefix(l.URL, origin)
		pages[target] = capturedPage{pages[target].times + 1, l.Via}
	}
	return pages
}

// whyNotTheirs explains why wget2 did not find a page that is linked from via: "" when it should have.
func whyNotTheirs(t *testing.T, job, target, via string) string {
	t.Helper()
	raw := string(amble(t, "show", "--job", job, "--body", via))
	name := path.Base(target)
	if !strings.Contains(raw, name) && strings.Contains(html.UnescapeString(raw), name) {
		return fmt.Sprintf("%s writes the link with character references (as in &#45;), which wget2 does not decode", via)
	}
	return ""
}
