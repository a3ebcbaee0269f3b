package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// finishedJob is a job whose crawl is over.
func finishedJob(t *testing.T, h *host) (job string) {
	t.Helper()
	job = filepath.Join(t.TempDir(), "job")
	run(t, 0, append([]string{"crawl", h.base + "/"}, own(job)...)...)
	return job
}

// segment is the one segment of a job.
func segment(t *testing.T, job string) string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.warc.gz", "*.warc.gz.open"} {
		names, err := filepath.Glob(filepath.Join(job, "warc", pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	if len(found) != 1 {
		t.Fatalf("segments %q", found)
	}
	return found[0]
}

// Whatever became of the database, what is archived beside it is exported and shown, with a warning.
func TestExportWithoutDatabase(t *testing.T) {
	t.Parallel()
	h := serve(t, 45, leaves(20))
	intact := finishedJob(t, h)
	db, err := os.ReadFile(filepath.Join(intact, "amble.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"missing":     nil,
		"empty":       {},
		"head zeroed": append(make([]byte, 8192), db[8192:]...),
		"cut in half": db[:len(db)/2&^4095],
		"foreign":     []byte("SQLite format 3\x00"),
		"all zero":    make([]byte, len(db)),
	} {
		job := filepath.Join(t.TempDir(), "job")
		if err := os.CopyFS(job, os.DirFS(intact)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(job, "amble.db")
		if damaged == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, damaged, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(h.urls(), once(t, captures(t, job))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, format := range []string{"csv", "urls", "seeds", "warc"} {
			p := run(t, 0, "export", "--job", job, "--format", format)
			if said := p.stderr.String(); !strings.Contains(said, "going on without it") || p.stdout.String() == "" {
				t.Errorf("%s, %s: %q", name, format, said)
			}
		}
		p := run(t, 0, "show", "--job", job, h.base+"/")
		if said := p.stderr.String(); !strings.Contains(said, "going on without it") || !strings.Contains(p.stdout.String(), h.base+"/") {
			t.Errorf("%s: show says %q, %q", name, said, p.stdout.String())
		}
		if err := os.RemoveAll(filepath.Join(job, "warc")); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"export", "--format", "urls", "--job", job}, {"show", h.base + "/", "--job", job}} {
			p := launch(t, "", args...)
			if code := p.wait(); code != 1 && code != 2 || strings.Contains(p.stderr.String(), "going on") {
				t.Errorf("%s, without an archive: %d, %q", name, code, p.stderr.String())
			}
		}
	}
}

// A damaged capture costs itself alone: the others are written, it is named, and the exit code is 1.
func TestExportOfDamage(t *testing.T) {
	t.Parallel()
	h := serve(t, 46, leaves(20))
	job := finishedJob(t, h)
	all := captures(t, job)
	var hit struct {
		URL    string
		Offset int64 `json:"warc_record_offset"`
	}
	lines := strings.SplitAfter(run(t, 0, "export", "--job", job, "--format", "jsonl").stdout.String(), "\n")
	if err := json.Unmarshal([]byte(lines[5]), &hit); err != nil {
		t.Fatal(err)
	}
	path := segment(t, job)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 16), hit.Offset+40); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"jsonl", "csv", "warc"} {
		out := filepath.Join(t.TempDir(), "out."+format)
		p := run(t, 1, "export", "--job", job, "--format", format, "-o", out)
		said := p.stderr.String()
		for _, want := range []string{"1 damaged capture could not be read", strings.TrimSuffix(filepath.Base(path), ".open"), fmt.Sprintf("offset %d", hit.Offset)} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", format, said, want)
			}
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if has := strings.Contains(string(got), `"url":"`+c.URL+`"`); format == "jsonl" && has == (c.URL == hit.URL) {
				t.Errorf("%s: %v", c.URL, has)
			}
		}
	}
	p := run(t, 1, "show", "--job", job, hit.URL)
	if said := p.stderr.String(); strings.Contains(said, "goroutine ") || !strings.Contains(said, "archive damaged") {
		t.Errorf("show says %q", head(said))
	}
}

// A signal ends an export with exit code 1 and a line, and leaves no file behind.
func TestExportInterrupted(t *testing.T) {
	t.Parallel()
	pages := leaves(2)
	big := strings.Repeat("0123456789abcdef", 16<<10)
	for i := range 60 {
		pages[fmt.Sprintf("/big/%d.html", i)] = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>", i, big) }
	}
	var seeds []string
	h := serve(t, 47, pages)
	for path := range pages {
		seeds = append(seeds, h.base+path)
	}
	job := filepath.Join(t.TempDir(), "job")
	run(t, 0, append(append([]string{"crawl"}, seeds...), own(job)...)...)
	dir := t.TempDir()
	p := launch(t, "", "export", "--job", job, "--format", "jsonl", "--body", "-o", filepath.Join(dir, "pages.jsonl.zst"))
	p.until("a temporary file", func() bool {
		names, err := os.ReadDir(dir)
		return err == nil && len(names) > 0 || p.ended()
	})
	if !p.ended() {
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended since
	}
	switch code := p.wait(); code {
	case 0:
		t.Log("it had ended before the signal came")
	case 1:
		if said := p.stderr.String(); !strings.Contains(said, "stopped by a signal") {
			t.Errorf("it says %q", said)
		}
		names, err := os.ReadDir(dir)
		if err != nil || len(names) > 0 {
			t.Errorf("left %v, %v", names, err)
		}
	default:
		t.Errorf("exit code %d: %s", code, head(p.stderr.String()))
	}
}

// Flags that mean something else than they say are refused, with exit code 2.
func TestFlagsRefused(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(t.TempDir(), "deep.yaml")
	if err := os.WriteFile(deep, []byte(strings.Repeat("[", 100000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--rate", "1e-300/h"}, {"--exclude", ""}, {"--include", ""}, {"--config", deep}} {
		job := filepath.Join(t.TempDir(), "job")
		began := time.Now()
		p := run(t, 2, append([]string{"crawl", "http://127.0.0.1:1/"}, own(job, args...)...)...)
		said := p.stderr.String()
		if len(said) > 1000 || !strings.HasPrefix(said, "amble: ") {
			t.Errorf("%q: %s", args, head(said))
		}
		t.Logf("%.40q: %v, %s", args, time.Since(began), said)
	}
	h := serve(t, 48, leaves(2))
	job := finishedJob(t, h)
	for _, name := range []string{"amble.db", "status.json", "warc/x.jsonl", filepath.Join("warc", filepath.Base(segment(t, job)))} {
		before := contents(t, job)
		run(t, 2, "export", "--job", job, "--format", "urls", "--overwrite", "-o", filepath.Join(job, name))
		if names := changed(before, contents(t, job)); len(names) > 0 {
			t.Errorf("-o %s: changed %q", name, names)
		}
	}
}
