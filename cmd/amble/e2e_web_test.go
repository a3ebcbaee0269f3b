package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amble/scheduler/sim/web"
)

// arrival is by how much a server may log a request late: tests of many packages share the machine. It is allowed once
// over any run of requests, so that a pace which is too fast is found all the same; the crawl's own log is held to the
// nanosecond (exactPace).
const arrival = 50 * time.Millisecond

// webFloor is the floor of the crawls of the bundled web: none, since every host of it is our own, so that what the
// hosts say is all that holds the crawl back. PO-05 is about floors.
const webFloor = 0

// exactPace checks the crawl's own log: no request of a host starts before the one before has ended, nor sooner than
// the floor or the interval in force after it.
func exactPace(t *testing.T, job string, floor time.Duration) (requests int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(job, "crawl.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Event     *string
		Host, URL string
		Start     time.Time
		Total     float64 `json:"total_ms"`
		Interval  float64 `json:"interval_ms"`
		NotBefore string  `json:"not_before"`
		Cause     string
		Class     string
	}
	last := map[string]line{}
	for text := range strings.Lines(string(b)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("crawl.jsonl: %v in %q", err, text)
		}
		if l.Event != nil {
			continue
		}
		requests++
		if p, ok := last[l.Host]; ok {
			gap := l.Start.Sub(p.Start)
			least := max(floor, time.Duration(p.Interval*float64(time.Millisecond)), time.Duration(p.Total*float64(time.Millisecond)))
			if gap < least {
				t.Errorf("%s: started %v after %s, the interval was %v (%s)", l.URL, gap, p.URL, least, p.Cause)
			}
			if nb, err := time.Parse(time.RFC3339Nano, p.NotBefore); err == nil && l.Start.Before(nb) {
				t.Errorf("%s: started at %v, %s asked for %v", l.URL, l.Start, p.URL, nb)
			}
		}
		last[l.Host] = l
	}
	return requests
}

// webFlags are for a crawl of the bundled web.
func webFlags(w *web.Web, job string, args ...string) []string {
	return append([]string{
		"--job", job, "--allow-private", "--contact", "mailto:ops@example.org", "--own", "127.0.0.0/8",
		"--floor", "0", "--timeout", w.Timeout().String(), "--depth", "8", "--max-wait", "20s",
		"--set", "retries=2",
	}, args...)
}

// The bundled web, judged by its own log: every politeness promise is kept, and everything that can be had is
// captured, once.
func TestBundledWeb(t *testing.T) {
	t.Parallel()
	w, err := web.Start(web.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	job := t.TempDir() + "/job"
	p := run(t, 3, append([]string{"crawl"}, webFlags(w, job, w.Seeds()...)...)...)
	noEscapes(t, "stderr", p.stderr.String())
	if last := lastLine(p.stderr.String()); !strings.Contains(last, "amble resume --job "+job) || !strings.Contains(last, "1 pending") {
		t.Errorf("the last line says %q", last)
	}

	for _, b := range w.Judge(webFloor, arrival) {
		t.Error(b)
	}
	kinds := map[string]int{}
	for _, r := range w.Requests() {
		kinds[r.Kind]++
		if !strings.Contains(r.UserAgent, "mailto:ops@example.org") {
			t.Errorf("%s%s: user agent %q", r.Host, r.Target, r.UserAgent)
		}
		if r.Kind == "robots-500" && r.Target != "/robots.txt" {
			t.Errorf("%s was asked for although robots.txt is unreachable", r.Target)
		}
	}
	for _, h := range w.Hosts() {
		if kinds[h.Kind] == 0 {
			t.Errorf("%s (%s) was never asked", h.Host, h.Kind)
		}
	}

	bounded := func(cs []capture) []string {
		return once(t, slices.DeleteFunc(cs, func(c capture) bool {
			return w.Endless(c.URL) || strings.Contains(c.URL, "/sitemap-") || strings.Contains(c.URL, "/policies/")
		}))
	}
	if d := cmp.Diff(w.ExpectedOK(), bounded(captures(t, job, "--status", "200"))); d != "" {
		t.Errorf("pages that should be (-) and are (+) captured with status 200:\n%s", d)
	}
	final := slices.DeleteFunc(captures(t, job), func(c capture) bool {
		return c.Status == http.StatusTooManyRequests || c.Status == http.StatusServiceUnavailable
	})
	if d := cmp.Diff(w.Expected(), bounded(final)); d != "" {
		t.Errorf("pages that should be (-) and are (+) captured:\n%s", d)
	}

	if n := exactPace(t, job, webFloor); n != len(w.Requests()) {
		t.Errorf("%d requests in the crawl log, the servers saw %d", n, len(w.Requests()))
	}
	s := statusOf(t, job)
	if s.State != "stopped" || s.End != "waiting" || s.Queued != 1 || s.Seeds.Pending != 1 {
		t.Errorf("status %+v", s)
	}
	if s.Requests != int64(len(w.Requests())) {
		t.Errorf("%d requests counted, the servers saw %d", s.Requests, len(w.Requests()))
	}
	if s.Skipped["robots"] == 0 || s.Skipped["scope"] == 0 || s.Skipped["depth"]+s.Skipped["trap-calendar"] == 0 || s.Skipped["nofollow"] == 0 {
		t.Errorf("skipped %v", s.Skipped)
	}
	checkJob(t, job)
}

// The bundled web again, killed and resumed: the promises hold over all runs together.
func TestBundledWebKilled(t *testing.T) {
	t.Parallel()
	w, err := web.Start(web.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	job := t.TempDir() + "/job"
	// What a host said within a commit's time of a kill is lost, so those that say Retry-After are left to
	// TestRetryAfterOutlivesAKill; and those that take their time to fail are left out.
	args, left := []string{"crawl"}, "limited limited-date unavailable robots-500 timeout reset"
	for _, h := range w.Hosts() {
		if !slices.Contains(strings.Fields(left), h.Kind) {
			args = append(args, h.Seed)
		}
	}
	p := launch(t, "", append(args, webFlags(w, job)...)...)
	for range 3 {
		n := len(w.Requests()) + 40
		p.until("40 requests more", func() bool { return len(w.Requests()) >= n })
		p.kill()
		p = launch(t, "", append([]string{"resume"}, webFlags(w, job)...)...)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, head(p.stderr.String()))
	}
	for _, b := range w.Judge(webFloor, arrival) {
		t.Error(b)
	}
	exactPace(t, job, webFloor)
	checkJob(t, job)
}
