package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// madeUp starts a host on 127.2.0.n whose pages are made as they are asked for: links gives what a target says and
// links to, ok = false is a 404.
func madeUp(t *testing.T, n int, links func(target string) (text string, links []string, ok bool)) (base string, pages *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.2.0.%d:0", n))
	if err != nil {
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	pages = new(atomic.Int64)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /closed/\n")
			return
		}
		text, to, ok := links(r.RequestURI)
		if !ok {
			http.NotFound(w, r)
			return
		}
		pages.Add(1)
		var b bytes.Buffer
		b.WriteString("<!doctype html><title>page</title><p>" + text)
		for _, l := range to {
			fmt.Fprintf(&b, "<a href=\"%s\">x</a>\n", strings.ReplaceAll(l, "&", "&amp;"))
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
		_, _ = w.Write(b.Bytes())
	})}
	ended := make(chan struct{})
	go func() { // ends with Close
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return "http://" + l.Addr().String(), pages
}

// peakRSS is the most memory that an ended process held, in bytes; 0 where the system does not say.
func peakRSS(p *process) int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	return reflect.ValueOf(p.cmd.ProcessState.SysUsage()).Elem().FieldByName("Maxrss").Int() << 10
}

// FR-06: relative links that stack segments, a calendar without end, 400 facets with 400 values, and a page of 200,000
// links, all with default limits and beside hosts that are honest: the crawl ends by itself, each trap was stopped
// under its name, the honest hosts are complete, and memory stays below the case's 512 MB.
func TestFR06(t *testing.T) {
	t.Parallel()
	const manyLinks, lookedAt = 200_000, 50_000
	number := func(target, format string, into ...any) bool {
		n, err := fmt.Sscanf(target, format, into...)
		return err == nil && n == len(into)
	}
	stack, stacked := madeUp(t, 1, func(string) (string, []string, bool) {
		return "stack", []string{"www.b.example/p/"}, true
	})
	cal, calendar := madeUp(t, 2, func(target string) (string, []string, bool) {
		y := 0
		number(target, "/cal?y=%d", &y)
		return fmt.Sprintf("The year %04d", y), []string{fmt.Sprintf("/cal?y=%d", y+1)}, true
	})
	shop, facets := madeUp(t, 3, func(target string) (string, []string, bool) {
		var links []string
		f, v := 0, 0
		number(target, "/shop?facet=%d&value=%d", &f, &v)
		for i := range 400 {
			if i%80 == 0 {
				links = append(links, fmt.Sprintf("/shop?facet=%d&value=%d", (f+i+1)%400, v))
			}
			if i%80 == 40 || target == "/" {
				links = append(links, fmt.Sprintf("/shop?facet=%d&value=%d", f, (v+i+1)%400))
			}
		}
		return target, links, true
	})
	wide, _ := madeUp(t, 4, func(target string) (string, []string, bool) {
		if target != "/" {
			return "", nil, false
		}
		links := make([]string, manyLinks)
		for i := range links {
			links[i] = fmt.Sprintf("/closed/%d", i)
		}
		return "wide", links, true
	})
	args := []string{stack + "/", cal + "/cal?y=1", shop + "/", wide + "/"}

	// A forum's topics, a list of pages that only lead on, and plain sites.
	const topics, listed, leaves, sites = 1500, 150, 200, 4
	honest := map[string]int64{}
	seen := map[string]*atomic.Int64{}
	add := func(n int, want int64, links func(target string) (string, []string, bool)) {
		base, pages := madeUp(t, n, links)
		honest[base], seen[base] = want, pages
		args = append(args, base+"/")
	}
	add(10, 1+topics, func(target string) (string, []string, bool) {
		n := 0
		var links []string
		if target == "/" || number(target, "/viewtopic.php?t=%d", &n) {
			for i := range min(30, topics-n) {
				links = append(links, fmt.Sprintf("/viewtopic.php?t=%d", n+i+1))
			}
		}
		return target, links, n <= topics
	})
	add(11, 1+listed+listed+1, func(target string) (string, []string, bool) {
		n := 0
		if number(target, "/item?id=%d", &n) {
			return target, nil, true
		}
		number(target, "/list?page=%d", &n)
		if n == listed {
			return target, []string{fmt.Sprintf("/item?id=%d", n)}, true
		}
		return target, []string{fmt.Sprintf("/list?page=%d", n+1), fmt.Sprintf("/item?id=%d", n)}, true
	})
	for i := range sites {
		add(20+i, leaves, func(target string) (string, []string, bool) {
			var links []string
			for i := range leaves - 1 {
				links = append(links, fmt.Sprintf("/p/%d.html", i))
			}
			return target, links, target == "/" || slices.Contains(links, target)
		})
	}

	job := t.TempDir() + "/job"
	p := launch(t, "", append([]string{"crawl"}, own(job, args...)...)...)
	select { // with the race detector on a busy machine it takes longer than other tests may
	case <-p.done:
	case <-time.After(3 * patience):
		t.Fatalf("the crawl does not end:\n%s", head(p.stderr.String()))
	}
	if p.code != 0 {
		t.Errorf("exit code %d\n%s", p.code, head(p.stderr.String()))
	}
	s := statusOf(t, job)
	if s.State != "finished" || s.End != "exhausted" || s.Queued != 0 {
		t.Errorf("state %s, end %s, %d queued", s.State, s.End, s.Queued)
	}
	for base, want := range honest {
		if got := seen[base].Load(); got != want {
			t.Errorf("honest host %s: %d pages fetched of %d", base, got, want)
		}
	}
	for _, c := range []struct {
		what        string
		pages, most int64
		name        string
		counted     int64
	}{
		{"stacked segments", stacked.Load(), 4, "trap-repeat", 1},
		{"calendar", calendar.Load(), 120, "trap-calendar", 1},
		{"facets", facets.Load(), 9000, "trap-query", 1},
		{"links beyond the most of one page", 0, 0, "memory", manyLinks - lookedAt},
		{"links that robots.txt closes", 0, 0, "robots", lookedAt},
	} {
		if c.pages > c.most || s.Skipped[c.name] < c.counted {
			t.Errorf("%s: %d pages fetched, at most %d are meant to; %d counted as %s", c.what, c.pages, c.most, s.Skipped[c.name], c.name)
		}
	}
	if n := s.Skipped["memory"]; n != manyLinks-lookedAt {
		t.Errorf("%d links left out, %d were too many", n, manyLinks-lookedAt)
	}
	if !strings.Contains(p.stderr.String(), "150000 are left out") {
		t.Errorf("nothing is said of the links left out:\n%s", head(p.stderr.String()))
	}
	rss := peakRSS(p)
	t.Logf("%d pages, facets %d, calendar %d, peak RSS %d MiB, skipped %v", s.Pages, facets.Load(), calendar.Load(), rss>>20, s.Skipped)
	if rss > 512<<20 {
		t.Errorf("peak RSS %d MiB", rss>>20)
	}
}
