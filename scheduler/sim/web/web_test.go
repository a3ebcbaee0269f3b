package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opt Options) *Web {
	t.Helper()
	w, err := Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *Web) site(kind string) *site {
	for _, s := range w.sites {
		if s.kind == kind {
			return s
		}
	}
	panic("no kind " + kind)
}

// client makes single exchanges: no redirects, no decoding, no connection left behind.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(c *http.Client, url string, header ...string) (int, http.Header, []byte, error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

func TestHosts(t *testing.T) {
	w := start(t, Options{Fast: true})
	hosts := w.Hosts()
	if len(hosts) < 24 {
		t.Fatalf("%d hosts", len(hosts))
	}
	kinds, keys := map[string]bool{}, map[string]bool{}
	for i, h := range hosts {
		kinds[h.Kind], keys[h.Host] = true, true
		if w.Seeds()[i] != "http://"+h.Host+"/" || h.Seed != w.Seeds()[i] {
			t.Errorf("seed %s of %s", h.Seed, h.Host)
		}
	}
	if len(kinds) != len(hosts) || len(keys) != len(hosts) {
		t.Errorf("%d kinds and %d addresses of %d hosts", len(kinds), len(keys), len(hosts))
	}
	if lines := strings.Split(strings.TrimSpace(w.Summary()), "\n"); len(lines) != len(hosts) {
		t.Errorf("summary has %d lines", len(lines))
	}
}

// normal is a body without what differs from run to run, the ports.
func normal(w *Web, body []byte) string {
	s := string(body)
	for i, h := range w.Hosts() {
		s = strings.ReplaceAll(s, h.Host, fmt.Sprintf("host-%d", i))
	}
	return s
}

func TestContentIsTheSameInEveryRun(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	total := 0
	for i, s := range a.sites {
		for target, rt := range s.routes {
			if rt.status != http.StatusOK || !rt.page {
				continue
			}
			x, y := normal(a, s.render(target)), normal(b, b.sites[i].render(target))
			if x != y {
				t.Errorf("%s%s differs", s.kind, target)
			}
			if n := len(x); n < 2000 || n > 24<<10 {
				t.Errorf("%s%s has %d bytes", s.kind, target, n)
			}
			total++
		}
		if n := len(s.tree); n > 40 {
			t.Errorf("%s has %d pages", s.kind, n)
		}
	}
	if total < 400 {
		t.Errorf("%d pages in all", total)
	}
}

// A crawl written for this test alone finds exactly what Expected says, and the log has every request of it.
func TestExpectedIsWhatACrawlReaches(t *testing.T) {
	var lines bytes.Buffer
	w := start(t, Options{Fast: true, Log: &lines})
	c := client(t)
	var mu sync.Mutex
	var all, ok []string
	var wg sync.WaitGroup
	for _, s := range w.sites {
		wg.Go(func() {
			stored := s.crawl(t, c)
			mu.Lock()
			defer mu.Unlock()
			for target, status := range stored {
				rt := s.routes[target]
				if rt != nil && !rt.page || w.Endless(s.base+target) || s.robotsHops[target] {
					continue
				}
				all = append(all, s.base+target)
				if status == http.StatusOK {
					ok = append(ok, s.base+target)
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	slices.Sort(ok)
	if d := gocmp.Diff(w.Expected(), all); d != "" {
		t.Errorf("Expected (-) and reached (+):\n%s", d)
	}
	if d := gocmp.Diff(w.ExpectedOK(), ok); d != "" {
		t.Errorf("ExpectedOK (-) and reached (+):\n%s", d)
	}

	log := settled(w)
	if !slices.IsSortedFunc(log, func(a, b Request) int { return a.Start.Compare(b.Start) }) {
		t.Error("the log is not in order")
	}
	for _, r := range log {
		if r.End.IsZero() || r.Kind == "" || r.UserAgent == "" {
			t.Errorf("incomplete entry %+v", r)
		}
	}
	for _, b := range w.Judge(0, time.Millisecond) {
		// This crawl knows no Crawl-delay.
		if b.Promise != promiseCrawlDelay && b.Promise != promiseRobots {
			t.Error(b)
		}
	}

	var n int
	d := json.NewDecoder(&lines)
	for {
		var r Request
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(log) {
		t.Errorf("%d lines logged of %d requests", n, len(log))
	}
}

func TestDepthReachesEverything(t *testing.T) {
	w := start(t, Options{})
	for _, s := range w.sites {
		// A page i of the tree lies at the depth of its index in a 4-ary tree; extras one hop further, and what
		// they lead to at most two.
		depth := 0
		for i := len(s.tree) - 1; i > 0; i = (i - 1) / 4 {
			depth++
		}
		if depth+3 > Depth {
			t.Errorf("%s: depth %d", s.kind, depth)
		}
	}
}

func TestConditional(t *testing.T) {
	w := start(t, Options{Fast: true})
	c, s := client(t), w.site("etag")
	status, header, body, err := get(c, s.base+"/")
	if err != nil || status != 200 || len(body) == 0 {
		t.Fatal(status, err)
	}
	for _, h := range [][]string{
		{"If-None-Match", header.Get("ETag")},
		{"If-Modified-Since", header.Get("Last-Modified")},
	} {
		if status, _, body, err := get(c, s.base+"/", h...); err != nil || status != 304 || len(body) != 0 {
			t.Errorf("%q: %d, %d bytes, %v", h, status, len(body), err)
		}
	}
	// A tag that does not match wins over a date that does (RFC 9110 section 13.1.3).
	if status, _, _, err := get(c, s.base+"/", "If-None-Match", `"x"`, "If-Modified-Since", header.Get("Last-Modified")); err != nil || status != 200 {
		t.Error(status, err)
	}
}

func TestCodings(t *testing.T) {
	w := start(t, Options{Fast: true})
	c := client(t)
	s := w.site("gzip")
	if _, h, body, err := get(c, s.base+"/", "Accept-Encoding", "gzip"); err != nil || h.Get("Content-Encoding") != "gzip" ||
		!bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		t.Error(h, err)
	}
	if _, h, body, err := get(c, s.base+"/"); err != nil || h.Get("Content-Encoding") != "" || !bytes.HasPrefix(body, []byte("<!doctype")) {
		t.Error(h, err)
	}
	resp, err := c.Get(w.site("chunked").base + "/")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		t.Errorf("transfer coding %q", resp.TransferEncoding)
	}
	if _, _, body, err := get(c, w.site("big").base+"/big.html"); err != nil || len(body) < 1<<20 {
		t.Error(len(body), err)
	}
	if status, _, _, err := get(c, w.site("windows-1252").base+"/caf%C3%A9?mot=for%C3%AAt"); err != nil || status != 404 {
		t.Errorf("a query in the wrong encoding is answered %d, %v", status, err)
	}
}

// What never answers ends with Close at the latest, and Close leaves no goroutine (TestMain looks).
func TestCloseEndsWhatHangs(t *testing.T) {
	w, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t)
	s := w.site("timeout")
	done := make(chan error)
	go func() {
		_, _, _, err := get(c, s.base+"/silent.html")
		done <- err
	}()
	for len(w.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if r := w.Requests()[0]; !r.End.IsZero() || r.Target != "/silent.html" {
		t.Errorf("in flight: %+v", r)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("the silent page answered")
	}
	if r := w.Requests()[0]; r.End.IsZero() || r.Status != 0 {
		t.Errorf("given up: %+v", r)
	}
}

// settled is the log once no request is under way: a client can be quicker than the server's entry.
func settled(w *Web) []Request {
	for {
		log := w.Requests()
		if !slices.ContainsFunc(log, func(r Request) bool { return r.End.IsZero() }) {
			return log
		}
		time.Sleep(time.Millisecond)
	}
}

// A host that limits refuses those who hurry, and logs the time that it asked for.
func TestLimits(t *testing.T) {
	w := start(t, Options{Fast: true})
	c := client(t)
	for _, kind := range []string{"limited", "limited-date", "limited-bare"} {
		s := w.site(kind)
		for range 1000 {
			before := time.Now()
			status, h, _, err := get(c, s.base+"/")
			if err != nil {
				t.Fatal(err)
			}
			if status != http.StatusTooManyRequests {
				continue
			}
			log := settled(w)
			nb := log[len(log)-1].NotBefore
			if kind == "limited-bare" {
				if !nb.IsZero() || h.Get("Retry-After") != "" {
					t.Errorf("%s: %v, %q", kind, nb, h.Get("Retry-After"))
				}
			} else if wait := nb.Sub(before); wait < time.Second || wait > 30*time.Second {
				t.Errorf("%s: asked for %v", kind, wait)
			} else if _, err := http.ParseTime(h.Get("Retry-After")); (err == nil) != (kind == "limited-date") {
				t.Errorf("%s: %q", kind, h.Get("Retry-After"))
			}
			break
		}
	}
	refused := map[string]bool{}
	for _, r := range settled(w) {
		refused[r.Kind] = refused[r.Kind] || r.Status == http.StatusTooManyRequests
	}
	if len(refused) != 3 || slices.Contains(slices.Collect(maps.Values(refused)), false) {
		t.Errorf("refused: %v", refused)
	}
}

func TestBucket(t *testing.T) {
	b := &bucket{perSecond: 2, size: 3}
	for _, c := range []struct {
		ms   int
		want bool
	}{{0, true}, {0, true}, {0, true}, {0, false}, {499, false}, {500, true}, {500, false}, {60000, true}, {60000, true}, {60000, true}, {60000, false}} {
		if got := b.take(t0.Add(time.Duration(c.ms) * time.Millisecond)); got != c.want {
			t.Errorf("at %d ms: %v", c.ms, got)
		}
	}
}
