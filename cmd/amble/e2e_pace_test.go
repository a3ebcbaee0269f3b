package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gaps reports requests of a host that come sooner than they should, counted over runs of requests (see arrival).
func (h *host) gaps(t *testing.T, least time.Duration) {
	t.Helper()
	var due time.Time
	for i, x := range h.seen() {
		if i > 0 && x.start.Add(arrival).Before(due) {
			t.Errorf("%s%s came %v too early", h.base, x.target, due.Sub(x.start))
			due = x.start
		}
		if x.start.After(due) {
			due = x.start
		}
		due = due.Add(least)
	}
}

// PO-05: a chain of pages, so that the queue never holds more than one, with robots.txt, a sitemap and a retry: the
// floor (300 ms here, for 1 s) lies between any two requests, over a resume too.
func TestPO05PaceOutlivesTheQueue(t *testing.T) {
	t.Parallel()
	const floor, n = 300 * time.Millisecond, 2
	pages := map[string]http.HandlerFunc{}
	for i := range n {
		pages[fmt.Sprintf("/%d.html", i)] = page(fmt.Sprintf("/%d.html", i+1))
	}
	pages["/"] = page("/0.html")
	pages[fmt.Sprintf("/%d.html", n)] = page()
	pages["/robots.txt"] = func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "User-agent: *\nDisallow: /x\nSitemap: http://%s/sitemap.txt\n", r.Host)
	}
	pages["/sitemap.txt"] = func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "http://%s/listed.html\n", r.Host) }
	var tries atomic.Int32
	pages["/listed.html"] = func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		page()(w, r)
	}
	h := serve(t, 50, pages)
	job := filepath.Join(t.TempDir(), "job")
	run(t, 0, append([]string{"crawl", h.base + "/"}, own(job, "--floor", floor.String(), "--max-pages", "2")...)...)
	run(t, 0, append([]string{"resume"}, own(job, "--floor", floor.String(), "--max-pages", "0")...)...)
	h.gaps(t, floor)
	if tries.Load() != 2 {
		t.Errorf("the page that was unavailable at first was asked for %d times", tries.Load())
	}
	want := slices.DeleteFunc(h.urls(), func(u string) bool { return u == h.base+"/sitemap.txt" })
	got := slices.DeleteFunc(once(t, captures(t, job, "--status", "200")), func(u string) bool { return u == h.base+"/sitemap.txt" })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// PO-06: one host with a long Crawl-delay and slow answers holds nobody else up, with far fewer workers than hosts. The
// times are a tenth of the case's: Crawl-delay 3 for 30, answers of 300 ms for 3 s.
func TestPO06SlowHostHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	slow := leaves(50)
	slow["/robots.txt"] = text("User-agent: *\nCrawl-delay: 3\n")
	hosts := []*host{serve(t, 60, slow)}
	hosts[0].slow(300 * time.Millisecond)
	seeds := []string{hosts[0].base + "/"}
	for i := 1; i < 20; i++ {
		h := serve(t, 60+i, leaves(50))
		hosts, seeds = append(hosts, h), append(seeds, h.base+"/")
	}
	job := filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append(append([]string{"crawl"}, seeds...), own(job, "--workers", "8")...)...)
	p.until("950 pages of the others", func() bool { return total(hosts[1:]) >= 19*50 })
	p.until("three requests to the slow host", func() bool { return len(hosts[0].seen()) >= 3 })
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	var last time.Time
	for _, h := range hosts[1:] {
		for _, x := range h.seen() {
			if x.start.After(last) {
				last = x.start
			}
		}
	}
	asked := 0
	for _, x := range hosts[0].seen() {
		if x.start.Before(last) {
			asked++
		}
	}
	// The 950 others take seconds; at the slow host's pace they would take three quarters of an hour.
	if asked > 8 {
		t.Errorf("the slow host was asked %d times before the others were done", asked)
	}
	hosts[0].gaps(t, 3*time.Second)
}

// A Retry-After that is on disk holds after a kill.
func TestRetryAfterOutlivesAKill(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	pages := leaves(4)
	pages["/"] = func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.Header().Set("Retry-After", "4")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		page("/p/1.html")(w, r)
	}
	h := serve(t, 51, pages)
	job := filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
	p.until("the refusal", func() bool { return tries.Load() == 1 })
	time.Sleep(time.Second) // a commit takes milliseconds
	p.kill()
	run(t, 0, append([]string{"resume"}, own(job)...)...)
	hits := h.seen()
	i := slices.IndexFunc(hits, func(x hit) bool { return x.target == "/" })
	if i < 0 || i+1 >= len(hits) {
		t.Fatalf("requests: %v", hits)
	}
	if waited := hits[i+1].start.Sub(hits[i].end); waited+arrival < 4*time.Second {
		t.Errorf("%s came %v after an answer with Retry-After: 4", hits[i+1].target, waited)
	}
}

// A resume waits a host's interval first, whatever of its pace was on disk when the crawl was killed.
func TestPaceOutlivesAKill(t *testing.T) {
	t.Parallel()
	const interval = 2 * time.Second
	for _, c := range []struct {
		name, robots string
		flags        []string
		after        string // the request after which it is killed
	}{
		{"floor", "User-agent: *\nDisallow:\n", []string{"--floor", interval.String()}, "/robots.txt"},
		{"crawl-delay", "User-agent: *\nCrawl-delay: 2\n", nil, "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pages := leaves(9)
			pages["/robots.txt"] = text(c.robots)
			h := serve(t, 52, pages)
			job := filepath.Join(t.TempDir(), "job")
			p := launch(t, "", append(append([]string{"crawl", h.base + "/"}, own(job)...), c.flags...)...)
			p.until(c.after, func() bool { return h.requests(func(target string) bool { return target == c.after }) > 0 })
			time.Sleep(200 * time.Millisecond)
			p.kill()
			n := len(h.seen())
			p = launch(t, "", append(append([]string{"resume"}, own(job)...), c.flags...)...)
			p.until("the next requests", func() bool { return len(h.seen()) >= n+2 })
			p.kill()
			h.gaps(t, interval)
		})
	}
}
