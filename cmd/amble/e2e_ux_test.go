package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// UX-01: a seed list with a byte order mark, CR LF, blanks, a comment, no scheme, an invalid host, a foreign scheme and a
// repetition. Hosts on loopback stand for a, b and c; the lines that are wrong are the case's own.
func TestUX01SeedList(t *testing.T) {
	t.Parallel()
	a, b, c := serve(t, 90, leaves(2)), serve(t, 91, leaves(2)), serve(t, 92, leaves(2))
	lines := []string{
		"\ufeff" + a.base + "/",
		"",
		"# note",
		"  " + b.base + "/  ",
		c.addr, // no scheme: https, then http
		"http://d.example7.55/x",
		"ftp://e.example/",
		a.base + "/#x",
	}
	dir := t.TempDir()
	list := filepath.Join(dir, "seeds.txt")
	if err := os.WriteFile(list, []byte(strings.Join(lines, "\r\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(dir, "job")
	p := run(t, 0, append([]string{"crawl", "--seeds", list}, own(job)...)...)
	var want []string
	for _, h := range []*host{a, b, c} {
		want = append(want, h.urls()...)
		if again := h.twice(); len(again) > 0 {
			t.Errorf("%s: fetched again: %q", h.addr, again)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, once(t, captures(t, job))); d != "" {
		t.Error(d)
	}
	for n, part := range map[int]string{6: "d.example7.55", 7: "ftp://e.example/"} {
		re := regexp.MustCompile(fmt.Sprintf(`(?m)^.*(:|line )%d\b.*%s.*$`, n, regexp.QuoteMeta(part)))
		if !re.MatchString(p.stderr.String()) {
			t.Errorf("line %d (%s) is not reported:\n%s", n, part, p.stderr.String())
		}
	}
	for _, n := range []int{1, 2, 3, 4, 5, 8} {
		if re := regexp.MustCompile(fmt.Sprintf(`seeds\.txt:%d\b`, n)); re.MatchString(p.stderr.String()) {
			t.Errorf("line %d is reported:\n%s", n, p.stderr.String())
		}
	}
	// Asked to be strict, it fetches nothing and says so.
	before := len(a.seen())
	run(t, 2, append([]string{"crawl", "--strict-seeds", "--seeds", list}, own(filepath.Join(dir, "strict"))...)...)
	if n := len(a.seen()); n != before {
		t.Errorf("%d requests in spite of --strict-seeds", n-before)
	}
}

// A list of URLs on standard input with --scope page fetches these and nothing else.
func TestScopePageFromStdin(t *testing.T) {
	t.Parallel()
	h := serve(t, 93, leaves(12))
	job := filepath.Join(t.TempDir(), "job")
	want := []string{h.base + "/", h.base + "/p/3.html", h.base + "/p/7.html"}
	p := launch(t, strings.Join(want, "\n")+"\n", append([]string{"crawl", "--scope", "page", "--seeds", "-"}, own(job)...)...)
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	if d := cmp.Diff(want, once(t, captures(t, job))); d != "" {
		t.Error(d)
	}
	if n := h.requests(nil); n != 3 {
		t.Errorf("%d requests", n)
	}
	if s := statusOf(t, job); s.Skipped["scope"] != 9 {
		t.Errorf("skipped %v", s.Skipped)
	}
}

// endless is a site with a Crawl-delay of a minute and a download that never ends by itself.
func endless() map[string]http.HandlerFunc {
	pages := leaves(5)
	pages["/robots.txt"] = text("User-agent: *\nDisallow: /private\n")
	pages["/"] = page("/download")
	pages["/download"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "100000000")
		rc := http.NewResponseController(w)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "drip\n"); err != nil || rc.Flush() != nil {
				return
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	}
	return pages
}

// UX-03: a signal is answered at once and ends the crawl within its grace time, whatever is in flight and however long
// a Crawl-delay is; a second one ends it at once; SIGTERM is SIGINT; the job can be resumed each time.
func TestUX03Signals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		signals []os.Signal
		loading bool // a download is in flight
	}{
		{"SIGINT", []os.Signal{os.Interrupt}, false},
		{"SIGTERM", []os.Signal{syscall.SIGTERM}, true},
		{"SIGINT twice", []os.Signal{os.Interrupt, os.Interrupt}, true},
		{"SIGINT and SIGTERM", []os.Signal{os.Interrupt, syscall.SIGTERM}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pages := leaves(5)
			pages["/robots.txt"] = text("User-agent: *\nCrawl-delay: 60\n")
			delayed, other := serve(t, 94, pages), serve(t, 95, endless())
			last := "/download"
			if !c.loading {
				other, last = serve(t, 95, leaves(2)), "/p/1.html"
			}
			job := filepath.Join(t.TempDir(), "job")
			p := launch(t, "", append([]string{"crawl", delayed.base + "/", other.base + "/"}, own(job)...)...)
			p.until(last, func() bool {
				return other.requests(func(target string) bool { return target == last }) > 0 && len(delayed.seen()) > 0
			})
			asked := time.Now()
			for i, s := range c.signals {
				if i > 0 && s == c.signals[i-1] {
					time.Sleep(200 * time.Millisecond) // within 150 ms it would count as the same one
				}
				p.signal(s)
				if i == 0 {
					p.until("word of stopping", func() bool { return strings.Contains(p.stderr.String(), "stopping") })
				}
			}
			if code := p.wait(); code != 3 {
				t.Errorf("exit code %d\n%s", code, p.stderr.String())
			}
			took := time.Since(asked)
			t.Logf("ended after %v", took.Round(time.Millisecond))
			// What is in flight has 10 s to end; a second signal, or nothing in flight, ends it at once.
			if grace := 10 * time.Second; took > grace && (len(c.signals) > 1 || !c.loading) {
				t.Error("it did not end at once")
			}
			if last := lastLine(p.stderr.String()); !strings.Contains(last, "amble resume --job "+job) {
				t.Errorf("the last line says %q", last)
			}
			if s := statusOf(t, job); s.State != "stopped" || s.End != "signal" || s.Queued == 0 {
				t.Errorf("status %+v", s)
			}
			checkJob(t, job)
			if got := once(t, captures(t, job)); !slices.Contains(got, other.base+"/") {
				t.Errorf("captured %q", got)
			}
		})
	}
}

// UX-04: what goes on and why is seen with the default flags and nobody at a terminal: a line now and then, counts by
// skip reason, no escape codes; what is there is never overwritten without being told to.
func TestUX04WhatGoesOnIsSeen(t *testing.T) {
	t.Parallel()
	other := serve(t, 96, leaves(1))
	pages := leaves(8)
	var links []string
	for target := range pages {
		links = append(links, target)
	}
	pages["/robots.txt"] = text("User-agent: *\nCrawl-delay: 0.5\nDisallow: /private/\n")
	for i := range 5 {
		links = append(links, fmt.Sprintf("/private/%d", i), fmt.Sprintf("%s/out/%d", other.base, i))
	}
	for i := range 3 {
		target := fmt.Sprintf("/reset/%d", i)
		pages[target] = func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = c.Close()
			}
		}
		links = append(links, target)
	}
	slices.Sort(links)
	pages["/"] = page(links...)
	h := serve(t, 97, pages)
	dir := t.TempDir()
	job := filepath.Join(dir, "job")

	out, err := os.Create(filepath.Join(dir, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := command(t, append([]string{"crawl", h.base + "/", "--set", "retries=1"}, own(job)...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	said := string(b)
	noEscapes(t, "the output", said)
	for what, re := range map[string]string{
		"a periodic line":           `(?m)pages.*queued.*crawl-delay`,
		"the scope in force":        `scope host`,
		"robots.txt's skips":        `5 robots`,
		"the scope's skips":         `5 scope`,
		"the failures at the end":   `(?m)8 pages, 3 failed, 0 pending.*$`,
		"how to use the result":     `amble export`,
		"the crawl delay by a name": `crawl-delay`,
	} {
		if !regexp.MustCompile(re).MatchString(said) {
			t.Errorf("%s is missing (%s) in:\n%s", what, re, said)
		}
	}
	if s := statusOf(t, job); s.Skipped["robots"] != 5 || s.Skipped["scope"] != 5 || s.Failed != 3 || s.Pages != 8 {
		t.Errorf("status %+v", s)
	}

	// The same again: the job and the export are left alone.
	asked := len(h.seen())
	p := run(t, 2, append([]string{"crawl", h.base + "/"}, own(job)...)...)
	for _, word := range []string{"amble resume", "--job", "--overwrite"} {
		if !strings.Contains(p.stderr.String(), word) {
			t.Errorf("the refusal does not name %s: %q", word, p.stderr.String())
		}
	}
	file := filepath.Join(dir, "pages.jsonl")
	export := []string{"export", "--format", "jsonl", "-o", file, "--job", job}
	run(t, 0, export...)
	if err := os.WriteFile(file, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, 2, export...)
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine\n" {
		t.Errorf("the output was replaced: %q, %v", b, err)
	}
	run(t, 0, append(export, "--overwrite")...)
	if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), "{") {
		t.Errorf("the output was not replaced: %.40q, %v", b, err)
	}
	if n := len(h.seen()); n != asked {
		t.Errorf("%d requests", n-asked)
	}
}

// The exit codes of the contract: 0, 2, 3 (TestUX03Signals and others) and 4.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	job := func(name string) string { return filepath.Join(dir, name) }
	h := serve(t, 98, leaves(2))
	closed := leaves(2)
	closed["/robots.txt"] = text("User-agent: *\nDisallow: /\n")
	d := serve(t, 99, closed)

	run(t, 0, append([]string{"crawl", h.base + "/"}, own(job("a"))...)...)
	run(t, 2, append([]string{"crawl"}, own(job("b"))...)...)
	run(t, 2, append([]string{"crawl", h.base + "/", "--no-such-flag"}, own(job("b"))...)...)
	run(t, 2, append([]string{"crawl", h.base + "/", "--depth", "x"}, own(job("b"))...)...)
	run(t, 2, append([]string{"resume"}, own(job("b"))...)...)
	run(t, 2, "status", "--job", job("b"))
	run(t, 2, "no-such-command")
	p := run(t, 4, append([]string{"crawl", d.base + "/"}, own(job("c"))...)...)
	if n := d.requests(nil); n != 0 {
		t.Errorf("%d requests for what robots.txt forbids", n)
	}
	if !strings.Contains(p.stderr.String(), "robots") {
		t.Errorf("the reason is not told: %q", p.stderr.String())
	}
	// A private address is refused unless it is opened.
	run(t, 4, "crawl", h.base+"/", "--job", job("d"), "--contact", "mailto:ops@example.org")
	// Nobody else's host goes under 200 ms.
	run(t, 2, "crawl", h.base+"/", "--job", job("e"), "--contact", "mailto:ops@example.org", "--allow-private", "--floor", "20ms")
}

// A seed that redirects within its registrable domain makes the target a seed (http://x to https://www.x); names and TLS
// are not to be had on loopback, so another port of the same address stands for it. One that leads to another address
// is fetched as that one page, and a line says so.
func TestSeedRedirects(t *testing.T) {
	t.Parallel()
	near, far := serve(t, 100, leaves(4)), serve(t, 101, leaves(4))
	to := func(u string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, u, http.StatusMovedPermanently) }}
	}
	a, b := serve(t, 100, to(near.base+"/")), serve(t, 102, to(far.base+"/"))
	jobA, jobB := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	run(t, 0, append([]string{"crawl", a.base + "/"}, own(jobA)...)...)
	want := append(near.urls(), a.base+"/")
	slices.Sort(want)
	if d := cmp.Diff(want, once(t, captures(t, jobA))); d != "" {
		t.Error(d)
	}
	p := run(t, 0, append([]string{"crawl", b.base + "/"}, own(jobB)...)...)
	if strings.HasPrefix(b.addr, "127.0.0.1:") {
		return // all hosts have one address here, so nothing is far
	}
	want = []string{b.base + "/", far.base + "/"}
	slices.Sort(want)
	if d := cmp.Diff(want, once(t, captures(t, jobB))); d != "" {
		t.Error(d)
	}
	if !strings.Contains(p.stderr.String(), far.base+"/") {
		t.Errorf("no line says where the seed leads: %q", p.stderr.String())
	}
}
