package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A seed that cannot be fetched ends with exit 4 and words that say so; a later attempt is no "nothing to do".
func TestNoSeedAndRetryFailed(t *testing.T) {
	t.Parallel()
	job := filepath.Join(t.TempDir(), "job")
	broken := serve(t, 110, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}})
	p := run(t, 4, append([]string{"crawl", broken.base + "/", "--set", "retries=1"}, own(job)...)...)
	want := "amble: ended, but no seed was captured: 0 pages, 1 failed, 0 pending. Try again: amble resume --job " + job + " --retry-failed"
	if last := lastLine(p.stderr.String()); last != want {
		t.Errorf("got  %s\nwant %s", last, want)
	}
	if said := p.stderr.String(); !strings.Contains(said, "attempts that did not go well: ") || !strings.Contains(said, " to 1 host,") {
		t.Errorf("said: %s", said)
	}

	asked := broken.requests(nil)
	p = run(t, 4, append([]string{"resume", "--retry-failed"}, own(job)...)...)
	if last := lastLine(p.stderr.String()); broken.requests(nil) == asked || last != want {
		t.Errorf("%d requests, then %d; the last line says %q", asked, broken.requests(nil), last)
	}
	p = run(t, 4, append([]string{"resume"}, own(job)...)...)
	if last := lastLine(p.stderr.String()); !strings.HasPrefix(last, "amble: nothing to do, the crawl had ended, but no seed was captured: ") {
		t.Errorf("with nothing to do the last line says %q", last)
	}
}

// show tries https, then http, as seeds do; export names what keeps it from writing, and filters that nothing passes.
func TestShowAndExportOfOneHost(t *testing.T) {
	t.Parallel()
	h := serve(t, 111, leaves(2))
	dir := t.TempDir()
	job := filepath.Join(dir, "job")
	p := run(t, 0, append([]string{"crawl", h.base + "/"}, own(job)...)...)
	if said := p.stderr.String(); !strings.Contains(said, "no pause between the requests to a host") {
		t.Errorf("the pace is not told: %s", said)
	}
	p = run(t, 0, "show", "--job", job, h.addr+"/p/1.html")
	if !strings.Contains(p.stdout.String(), h.base+"/p/1.html\n") {
		t.Errorf("show: %s", p.stdout.String())
	}
	p = run(t, 1, "show", "--job", job, h.addr+"/none")
	if want := fmt.Sprintf("https://%s/none or http://%[1]s/none is not in the archive", h.addr); !strings.Contains(p.stderr.String(), want) {
		t.Errorf("show of what is not there: %s", p.stderr.String())
	}

	p = run(t, 0, "export", "--job", job, "--format", "csv", "--host", h.addr)
	if n := strings.Count(p.stdout.String(), ","+h.addr+","); n != 2 || !strings.Contains(p.stderr.String(), "amble: 2 captures, ") {
		t.Errorf("%d rows of %s: %s%s", n, h.addr, p.stdout.String(), p.stderr.String())
	}
	p = run(t, 0, "export", "--job", job, "--format", "jsonl", "--host", "a.example", "--status", "404")
	if want := "nothing in the job passes --host a.example --status 404"; p.stdout.String() != "" || !strings.Contains(p.stderr.String(), want) {
		t.Errorf("an export of nothing: %s%s", p.stdout.String(), p.stderr.String())
	}
	p = run(t, 2, "export", "--job", job, "--format", "jsonl", "-o", filepath.Join(dir, "nope", "x.jsonl"))
	if want := "there is no folder " + filepath.Join(dir, "nope"); !strings.Contains(p.stderr.String(), want) {
		t.Errorf("a missing folder: %s", p.stderr.String())
	}
}

// A crawl into a job that is running says so, and by which process.
func TestCrawlOnARunningJob(t *testing.T) {
	t.Parallel()
	h := serve(t, 112, endless())
	job := filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
	p.until("a status", func() bool {
		_, err := os.Stat(filepath.Join(job, "status.json"))
		return err == nil
	})
	second := run(t, 2, append([]string{"crawl", h.base + "/"}, own(job)...)...)
	re := regexp.MustCompile(`is being crawled by process (\d+), since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d: .amble status --job `)
	m := re.FindStringSubmatch(second.stderr.String())
	if m == nil || m[1] != strconv.Itoa(p.cmd.Process.Pid) {
		t.Errorf("process %d: %q", p.cmd.Process.Pid, second.stderr.String())
	}
	p.signal(os.Interrupt)
	p.until("word of stopping", func() bool { return strings.Contains(p.stderr.String(), "amble: stopping") })
	time.Sleep(200 * time.Millisecond) // else it would count as the same one
	p.signal(os.Interrupt)
	p.wait()
}
