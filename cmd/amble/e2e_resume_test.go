package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// farm is n hosts of perHost pages each, whose answers take one to four times delay.
func farm(t *testing.T, n, perHost int, delay time.Duration) (hosts []*host, seeds, urls []string) {
	t.Helper()
	for i := range n {
		h := serve(t, i+1, leaves(perHost))
		h.slow(time.Duration(1+i%4) * delay)
		hosts, seeds, urls = append(hosts, h), append(seeds, h.base+"/"), append(urls, h.urls()...)
	}
	slices.Sort(urls)
	return hosts, seeds, urls
}

func total(hosts []*host) (n int) {
	for _, h := range hosts {
		n += h.requests(nil)
	}
	return n
}

// FR-01: kill -9 at random moments and resume, until the crawl ends. Nothing is lost, nothing is stored twice, and only
// what was in flight or in an open batch is fetched again. AMBLE_KILLS=30 is the long form, AMBLE_KILL_SEED repeats a run.
func TestFR01KillAndResume(t *testing.T) {
	t.Parallel()
	kills, perHost, delay := 5, 15, 5*time.Millisecond
	if v := os.Getenv("AMBLE_KILLS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		kills, perHost, delay = n, 40, 20*time.Millisecond
	}
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("AMBLE_KILL_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("AMBLE_KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	hosts, seeds, urls := farm(t, 20, perHost, delay)
	job := filepath.Join(t.TempDir(), "job")
	flags := own(job, "--workers", "16")

	var killed []time.Time
	p := launch(t, "", append(append([]string{"crawl"}, seeds...), flags...)...)
	for len(killed) < kills {
		// The first kills may come before anything was asked; the others after a random number of answers.
		if goal := total(hosts) + random.IntN(2*len(urls)/(kills+1)); random.IntN(6) > 0 {
			for total(hosts) < goal && !p.ended() {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Duration(random.Int64N(int64(6 * delay))))
		if p.ended() {
			break
		}
		p.kill()
		killed = append(killed, time.Now())
		if _, err := os.Stat(filepath.Join(job, "amble.db")); err != nil {
			// It was killed before the job began: there is nothing to resume, and the crawl is simply begun.
			p = launch(t, "", append(append([]string{"crawl"}, seeds...), flags...)...)
			continue
		}
		if kills > 5 {
			run(t, 0, "status", "--check", "--job", job)
		}
		p = launch(t, "", append([]string{"resume"}, flags...)...)
	}
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, head(p.stderr.String()))
	}

	if d := cmp.Diff(urls, once(t, captures(t, job))); d != "" {
		t.Errorf("pages that should be (-) and are (+) captured:\n%s", d)
	}
	if s := statusOf(t, job); s.State != "finished" || s.End != "exhausted" || s.Queued != 0 || s.Pages != int64(len(urls)) || s.Failed != 0 ||
		s.Seeds.Captured != int64(len(seeds)) {
		t.Errorf("status %+v", s)
	}
	checkJob(t, job)

	// A page that is asked for again was in flight or in an open batch at a kill: what was answered well before it
	// (batches close after 100 ms; the rest is the patience of a slow disk) is safe.
	again, perKill := 0, map[time.Time]int{}
	for _, h := range hosts {
		first := map[string]hit{}
		for _, x := range h.seen() {
			before, known := first[x.target]
			first[x.target] = x
			if !known || x.target == "/robots.txt" {
				continue
			}
			again++
			i := slices.IndexFunc(killed, func(at time.Time) bool {
				return !at.Before(before.start) && at.Before(x.start) && (before.end.IsZero() || at.Sub(before.end) < 2*time.Second)
			})
			if i < 0 {
				t.Errorf("%s%s was fetched again although it was done", h.base, x.target)
				continue
			}
			perKill[killed[i]]++
		}
	}
	most := 0
	for _, n := range perKill {
		most = max(most, n)
	}
	t.Logf("%d kills, %d pages, %d fetched again, %d at most after one kill (16 in flight, and what 100 ms bring)",
		len(killed), len(urls), again, most)
}

// listed is a site that only its sitemap index reaches: three children of n pages each.
func listed(n int) (pages map[string]http.HandlerFunc, isPage func(string) bool) {
	pages = map[string]http.HandlerFunc{"/": page()}
	xml := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>%s`, body)
		}
	}
	const ns = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
	pages["/robots.txt"] = func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "Sitemap: http://%s/index.xml\n", r.Host)
	}
	pages["/index.xml"] = func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		for i := range 3 {
			fmt.Fprintf(&b, "<sitemap><loc>http://%s/child-%d.xml</loc></sitemap>", r.Host, i)
		}
		xml("<sitemapindex "+ns+">"+b.String()+"</sitemapindex>")(w, r)
	}
	for i := range 3 {
		for j := range n {
			pages[fmt.Sprintf("/c%d/%d.html", i, j)] = page("/")
		}
		pages[fmt.Sprintf("/child-%d.xml", i)] = func(w http.ResponseWriter, r *http.Request) {
			var b strings.Builder
			for j := range n {
				fmt.Fprintf(&b, "<url><loc>http://%s/c%d/%d.html</loc></url>", r.Host, i, j)
			}
			xml("<urlset "+ns+">"+b.String()+"</urlset>")(w, r)
		}
	}
	return pages, func(target string) bool { return strings.HasPrefix(target, "/c") && strings.HasSuffix(target, ".html") }
}

// FR-02: a crawl of a sitemap, stopped and resumed, fetches the rest and nothing again; a finished one has nothing to do.
func TestFR02SitemapStopAndResume(t *testing.T) {
	t.Parallel()
	pages, isPage := listed(100)
	h := serve(t, 30, pages)
	h.slow(5 * time.Millisecond)
	job := filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
	p.until("50 pages", func() bool { return h.requests(isPage) >= 50 })
	p.signal(os.Interrupt)
	if code := p.wait(); code != 3 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	part := h.requests(isPage)
	if part >= 300 {
		t.Fatalf("the crawl was not stopped: %d pages", part)
	}
	if got := len(once(t, captures(t, job, "--url", `/c\d/`))); got != part {
		t.Errorf("%d pages captured, the server answered %d", got, part)
	}
	// The same seed again changes nothing.
	run(t, 0, append([]string{"resume", h.base + "/"}, own(job)...)...)
	if n := h.requests(isPage); n != 300 {
		t.Errorf("%d requests for 300 pages", n)
	}
	if again := h.twice(); len(again) > 0 {
		t.Errorf("fetched again: %q", again)
	}
	before := len(h.seen())
	for _, args := range [][]string{{"resume"}, {"resume", h.base + "/"}} {
		p := run(t, 0, append(args, own(job)...)...)
		if all := p.stdout.String() + p.stderr.String(); !strings.Contains(all, "nothing to do") {
			t.Errorf("resume of a finished job says %q", all)
		}
	}
	if n := len(h.seen()); n != before {
		t.Errorf("%d requests after the end", n-before)
	}
	if n := len(once(t, captures(t, job, "--url", `/c\d/`))); n != 300 {
		t.Errorf("%d pages captured", n)
	}
	checkJob(t, job)
}

// More seeds on a resume are crawled; what was done is left alone.
func TestResumeWithMoreSeeds(t *testing.T) {
	t.Parallel()
	a, b := serve(t, 31, leaves(5)), serve(t, 32, leaves(5))
	job := filepath.Join(t.TempDir(), "job")
	run(t, 0, append([]string{"crawl", a.base + "/"}, own(job)...)...)
	run(t, 0, append([]string{"resume", a.base + "/", b.base + "/"}, own(job)...)...)
	if d := cmp.Diff(append(a.urls(), b.urls()...), once(t, captures(t, job))); d != "" {
		t.Error(d)
	}
	if again := append(a.twice(), b.twice()...); len(again) > 0 {
		t.Errorf("fetched again: %q", again)
	}
}

// --max-pages is exact, and holds over all runs of a job.
func TestMaxPagesAcrossResume(t *testing.T) {
	t.Parallel()
	hosts, seeds, urls := farm(t, 5, 8, 5*time.Millisecond)
	job := filepath.Join(t.TempDir(), "job")
	command := append([]string{"crawl"}, seeds...)
	for _, limit := range []int{7, 19} {
		p := run(t, 0, append(command, own(job, "--max-pages", strconv.Itoa(limit))...)...)
		if s := statusOf(t, job); s.Pages != int64(limit) || s.End != "max_pages" {
			t.Errorf("limit %d: status %+v\n%s", limit, s, p.stderr.String())
		}
		if n := total(hosts); n != limit {
			t.Errorf("limit %d: %d pages were asked for", limit, n)
		}
		if n := len(once(t, captures(t, job))); n != limit {
			t.Errorf("limit %d: %d captured", limit, n)
		}
		command = []string{"resume"}
	}
	run(t, 0, append([]string{"resume"}, own(job, "--max-pages", "0")...)...)
	if d := cmp.Diff(urls, once(t, captures(t, job))); d != "" {
		t.Error(d)
	}
	if n := total(hosts); n != len(urls) {
		t.Errorf("%d requests for %d pages", n, len(urls))
	}
}

// A second process on a job refuses at once and names the one that holds it; an export beside it works.
func TestSecondProcessAndExportBesideACrawl(t *testing.T) {
	t.Parallel()
	h := serve(t, 33, leaves(400))
	h.slow(10 * time.Millisecond)
	job := filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
	p.until("60 pages", func() bool { return h.requests(nil) >= 60 })

	second := launch(t, "", append([]string{"resume"}, own(job)...)...)
	if code := second.wait(); code == 0 || code == 3 || code == 4 {
		t.Errorf("the second process exits %d", code)
	}
	if pid := strconv.Itoa(p.cmd.Process.Pid); !strings.Contains(second.stderr.String(), pid) {
		t.Errorf("the second process does not name %s: %q", pid, second.stderr.String())
	}
	run(t, 2, append([]string{"crawl", h.base + "/"}, own(job)...)...)
	overwrite := launch(t, "", append([]string{"crawl", h.base + "/", "--overwrite"}, own(job)...)...)
	if code := overwrite.wait(); code == 0 {
		t.Error("--overwrite took a running job's place")
	}

	// status.json comes each second.
	p.until("a status", func() bool {
		_, err := os.Stat(filepath.Join(job, "status.json"))
		return err == nil
	})
	some := once(t, captures(t, job))
	if s := statusOf(t, job); !p.ended() && s.State != "running" {
		t.Errorf("status of a running crawl: %+v", s)
	}
	if p.ended() {
		t.Fatal("the crawl ended before it was looked at")
	}
	all := h.urls()
	for _, u := range some {
		if !slices.Contains(all, u) {
			t.Errorf("exported beside the crawl: %s", u)
		}
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("%d captures exported beside the crawl", len(some))
	if len(some) == 0 {
		t.Error("nothing was exported beside the crawl")
	}
	h.slow(0)
	run(t, 0, append([]string{"resume"}, own(job)...)...)
	if d := cmp.Diff(all, once(t, captures(t, job))); d != "" {
		t.Error(d)
	}
}
