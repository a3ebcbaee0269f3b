package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amble/fetcher"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a real server on loopback that keeps its own log.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
	at   []time.Time
}

func newSite(t *testing.T, pages map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.URL.RequestURI())
		s.at = append(s.at, time.Now())
		s.mu.Unlock()
		if h := pages[r.URL.RequestURI()]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *site) count(target string) (n int) {
	for _, r := range s.requests() {
		if r == target {
			n++
		}
	}
	return n
}

func html(links ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>page</title>")
		for _, l := range links {
			fmt.Fprintf(w, "<a href=%q>x</a>\n", l)
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func to(url string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, code) }
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
}

// ownConfig crawls loopback at floor 0.
func ownConfig() Config {
	own := Own{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	return Config{
		Rules:   frontier.Rules{Scope: frontier.ScopeHost, Depth: -1},
		Pace:    ratectl.Config{Floor: 0, Ceiling: 2 * time.Second},
		Workers: 8, Product: "Amble", Sitemaps: "auto", Own: own, BodyMemory: 16 << 20, AddressInterval: 250 * time.Millisecond,
		Limits: Limits{MaxWait: 3 * time.Second, Retries: 3},
		Fetch:  fetcher.Config{UserAgent: "Amble/test", Own: own.Prefixes, MaxBody: 1 << 20, Timeout: 5 * time.Second},
	}
}

func seedsOf(t *testing.T, urls ...string) []frontier.Seed {
	t.Helper()
	var out []frontier.Seed
	for _, s := range urls {
		u, err := canon.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, frontier.Seed{URL: u, Raw: s, Implied: -1})
	}
	return out
}

// run crawls a job in dir to its end.
func run(t *testing.T, dir string, mode Mode, cfg Config, seeds []frontier.Seed) Status {
	t.Helper()
	c, err := Start(dir, mode, cfg, seeds, []byte("# test\n"), "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logLines reads the crawl log.
func logLines(t *testing.T, dir string) (requests []requestLine, events []eventLine) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, crawlLogName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var e eventLine
		var r requestLine
		if err := errors.Join(json.Unmarshal([]byte(line), &e), json.Unmarshal([]byte(line), &r)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Event != "" {
			events = append(events, e)
		} else {
			requests = append(requests, r)
		}
	}
	return requests, events
}

func TestCrawlOfASite(t *testing.T) {
	pages := map[string]http.HandlerFunc{"/robots.txt": text("User-agent: *\nDisallow: /private\n")}
	links := []string{"/private/x", "http://other.example/", "mailto:a@example.org"}
	for i := range 30 {
		links = append(links, fmt.Sprintf("/p%d", i))
		pages[fmt.Sprintf("/p%d", i)] = html("/", fmt.Sprintf("/p%d", (i+7)%30))
	}
	pages["/"] = html(links...)
	s := newSite(t, pages)
	dir := filepath.Join(t.TempDir(), "job")
	st := run(t, dir, ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	if st.State != "finished" || st.End != endExhausted || st.Pages != 31 || st.Requests != 32 || st.Queued != 0 || st.Failed != 0 {
		t.Errorf("status %+v", st)
	}
	if st.Seeds != (SeedCounts{Captured: 1}) {
		t.Errorf("seeds %+v", st.Seeds)
	}
	if st.Skipped["robots"] != 1 || st.Skipped["scope"] != 1 || st.Skipped["scheme"] != 1 {
		t.Errorf("skipped %v", st.Skipped)
	}
	got := s.requests()
	if got[0] != "/robots.txt" {
		t.Errorf("first request is %s", got[0])
	}
	slices.Sort(got)
	if n := len(got); n != 32 || len(slices.Compact(got)) != n {
		t.Errorf("%d requests: %v", n, got)
	}
	reqs, _ := logLines(t, dir)
	if len(reqs) != 32 {
		t.Errorf("%d lines in the crawl log", len(reqs))
	}
	for _, r := range reqs[1:] {
		if r.Rules == "" || r.Class != "ok" || r.Via == "" && r.Hops != "" {
			t.Errorf("line %+v", r)
		}
	}
	back, live, err := ReadStatus(dir)
	if err != nil || live || back.Pages != 31 || back.State != "finished" || back.Archive != st.Archive {
		t.Errorf("read back: %+v, %v, %v", back, live, err)
	}
	if errs, err := Check(dir); err != nil || len(errs) > 0 {
		t.Errorf("check: %v, %v", errs, err)
	}
	if _, err := Start(dir, ModeNew, ownConfig(), nil, nil, "test"); !errors.Is(err, ErrJobExists) {
		t.Errorf("second crawl: %v", err)
	}
}

func TestResumeAsksNothingTwice(t *testing.T) {
	pages := map[string]http.HandlerFunc{"/robots.txt": text("User-agent: *\nDisallow: /no\n")}
	var links []string
	for i := range 20 {
		links = append(links, fmt.Sprintf("/p%d", i))
		pages[links[i]] = html()
	}
	pages["/"] = html(append(links, "/no")...)
	s := newSite(t, pages)
	dir := filepath.Join(t.TempDir(), "job")
	cfg := ownConfig()
	cfg.Limits.Pages = 5
	if st := run(t, dir, ModeNew, cfg, seedsOf(t, s.URL+"/")); st.End != endPages || st.Pages != 5 || st.State != "stopped" {
		t.Fatalf("first run: %+v", st)
	}
	if n := len(s.requests()); n != 6 {
		t.Fatalf("first run made %d requests", n)
	}
	cfg.Limits.Pages = 9
	if st := run(t, dir, ModeResume, cfg, seedsOf(t, s.URL+"/")); st.End != endPages || st.Pages != 9 {
		t.Fatalf("second run: %+v", st)
	}
	cfg.Limits.Pages = 0
	if st := run(t, dir, ModeResume, cfg, nil); st.End != endExhausted || st.Pages != 21 || st.Skipped["robots"] != 1 {
		t.Fatalf("third run: %+v", st)
	}
	got := s.requests()
	slices.Sort(got)
	if n := len(got); n != 22 || len(slices.Compact(got)) != n {
		t.Errorf("%d requests: %v", n, got)
	}
	if st := run(t, dir, ModeResume, cfg, nil); st.End != endExhausted || st.Pages != 21 || len(s.requests()) != 22 {
		t.Errorf("resume of a finished job: %+v", st)
	}
}

func TestRobotsDecideForTheOriginThatWasAsked(t *testing.T) {
	other := newSite(t, map[string]http.HandlerFunc{
		"/rules":      text("User-agent: *\nDisallow: /x\n"),
		"/robots.txt": text("User-agent: *\nDisallow: /\n"),
	})
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": to(other.URL+"/rules", 301), "/": html("/x", "/y"), "/x": html(), "/y": html(),
	})
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	if st.Pages != 2 || st.Skipped["robots"] != 1 || s.count("/x") != 0 || other.count("/rules") != 1 {
		t.Errorf("status %+v, asked %v and %v", st, s.requests(), other.requests())
	}
}

func TestRobotsOutcomes(t *testing.T) {
	var loop *site
	loop = newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, loop.URL+"/robots.txt", 302) }, "/": html(),
	})
	for _, tc := range []struct {
		name    string
		s       *site
		robots  int
		fetched bool
	}{
		{"404 permits", newSite(t, map[string]http.HandlerFunc{"/": html()}), 1, true},
		{"403 permits", newSite(t, map[string]http.HandlerFunc{"/robots.txt": status(403), "/": html()}), 1, true},
		{"500 forbids", newSite(t, map[string]http.HandlerFunc{"/robots.txt": status(500), "/": html()}), 1, false},
		{"429 forbids", newSite(t, map[string]http.HandlerFunc{"/robots.txt": status(429), "/": html()}), 1, false},
		{"five redirects, then none", loop, 6, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, ownConfig(), seedsOf(t, tc.s.URL+"/"))
			if got := tc.s.count("/") == 1; got != tc.fetched || tc.s.count("/robots.txt") != tc.robots {
				t.Errorf("asked %v; %+v", tc.s.requests(), st)
			}
			if !tc.fetched && (st.End != endWaiting || st.Queued != 1 || st.NextHost == "") {
				t.Errorf("status %+v", st)
			}
		})
	}
}

func TestSeedRedirects(t *testing.T) {
	far := newSite(t, map[string]http.HandlerFunc{"/landing": html("/more"), "/more": html()})
	farURL := strings.Replace(far.URL, "127.0.0.1", "localhost", 1)
	s := newSite(t, map[string]http.HandlerFunc{
		"/":     to("/home", 301),
		"/home": html("/a"), "/a": html(),
		"/out": to(farURL+"/landing", 302),
	})
	cfg := ownConfig()
	cfg.Own.Hosts = []string{"localhost"}
	var said []string
	cfg.Notify = func(m string) { said = append(said, m) }
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, cfg, seedsOf(t, s.URL+"/", s.URL+"/out"))
	// "/", "/home", "/a", "/out" and the landing page alone.
	if st.Pages != 5 || st.Seeds != (SeedCounts{Captured: 2}) || far.count("/more") != 0 || far.count("/landing") != 1 {
		t.Errorf("status %+v, far saw %v", st, far.requests())
	}
	if len(said) != 1 || !strings.Contains(said[0], "/landing") {
		t.Errorf("said %q", said)
	}
}

func TestRetries(t *testing.T) {
	var mu sync.Mutex
	tries := map[string]int{}
	flaky := func(fail int, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			tries[r.URL.Path]++
			n := tries[r.URL.Path]
			mu.Unlock()
			if n <= fail {
				if code == 0 {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(code)
				return
			}
			html()(w, r)
		}
	}
	s := newSite(t, map[string]http.HandlerFunc{
		"/": html("/limited", "/gone"), "/limited": flaky(2, 429), "/gone": status(410),
	})
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	if st.Pages != 3 || s.count("/limited") != 3 || s.count("/gone") != 1 || st.Classes["limited"] != 2 || st.Objections != 2 {
		t.Errorf("status %+v, asked %v", st, s.requests())
	}
	for i := range s.seen {
		if i > 0 && s.seen[i-1] == "/limited" && tries["/limited"] > 0 && i < len(s.seen)-1 {
			if gap := s.at[i].Sub(s.at[i-1]); gap < time.Second-10*time.Millisecond {
				t.Errorf("request %d came %v after a Retry-After of 1 s", i, gap)
			}
		}
	}
}

func TestHostThatDoesNotConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, map[string]http.HandlerFunc{"/": html("/a"), "/a": html()})
	dir := filepath.Join(t.TempDir(), "job")
	st := run(t, dir, ModeNew, ownConfig(), seedsOf(t, url, s.URL+"/"))
	if st.End != endWaiting || st.State != "stopped" || st.Pages != 2 || st.Queued != 1 || st.Classes["refused"] != 1 {
		t.Errorf("status %+v", st)
	}
	if st.Seeds != (SeedCounts{Captured: 1, Pending: 1}) {
		t.Errorf("seeds %+v", st.Seeds)
	}
}

func TestSeedWithoutSchemeFallsBackToHTTP(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": html("/a"), "/a": html()})
	seeds := seedsOf(t, strings.Replace(s.URL, "http:", "https:", 1)+"/")
	seeds[0].TryHTTP = true
	dir := filepath.Join(t.TempDir(), "job")
	st := run(t, dir, ModeNew, ownConfig(), seeds)
	if st.Pages != 2 || st.Failed != 0 || st.Seeds != (SeedCounts{Captured: 1}) || st.End != endExhausted {
		t.Errorf("status %+v", st)
	}
	// Nothing failed, so there is nothing to try again, and the books stay.
	cfg := ownConfig()
	cfg.RetryFailed = true
	n := len(s.requests())
	if again := run(t, dir, ModeResume, cfg, nil); again.Seeds != st.Seeds || again.Pages != 2 || len(s.requests()) != n {
		t.Errorf("after --retry-failed: %+v", again)
	}
}

func TestPrivateAddressIsRefused(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": html()})
	cfg := ownConfig()
	cfg.Own, cfg.Fetch.Own = Own{}, nil
	var said []string
	cfg.Notify = func(m string) { said = append(said, m) }
	dir := filepath.Join(t.TempDir(), "job")
	st := run(t, dir, ModeNew, cfg, seedsOf(t, s.URL+"/"))
	if len(s.requests()) != 0 || st.Skipped["address"] != 1 || st.Seeds.Failed != 1 || st.End != endExhausted {
		t.Errorf("status %+v, asked %v", st, s.requests())
	}
	if len(said) != 1 || !strings.Contains(said[0], "--own 127.0.0.1") {
		t.Errorf("said %q", said)
	}
	// The remedy that was named works.
	own := ownConfig()
	own.RetryFailed = true
	if st := run(t, dir, ModeResume, own, nil); st.Pages != 1 || st.Seeds != (SeedCounts{Captured: 1}) || st.Skipped["address"] != 0 {
		t.Errorf("after --own and --retry-failed: %+v", st)
	}
}

func TestFirstSignalDrainsSecondCutsShort(t *testing.T) {
	hang := make(chan struct{})
	arrived := make(chan struct{}, 1)
	s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}})
	defer close(hang)
	dir := filepath.Join(t.TempDir(), "job")
	c, err := Start(dir, ModeNew, ownConfig(), seedsOf(t, s.URL+"/"), nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
		c.Abort()
	}()
	st, err := c.Run(ctx)
	if err != nil || st.End != endSignal || st.Queued != 1 || st.State != "stopped" || st.Seeds.Pending != 1 {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestRetryFailedAndNarrowerRules(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	s := newSite(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			if broken.Load() {
				panic(http.ErrAbortHandler)
			}
			html("/a", "/b")(w, r)
		},
		"/a": html(), "/b": html(),
	})
	dir := filepath.Join(t.TempDir(), "job")
	cfg := ownConfig()
	cfg.Limits.Retries = 1
	if st := run(t, dir, ModeNew, cfg, seedsOf(t, s.URL+"/")); st.Failed != 1 || st.Seeds != (SeedCounts{Failed: 1}) || st.End != endExhausted {
		t.Fatalf("first run: %+v", st)
	}
	broken.Store(false)
	if st := run(t, dir, ModeResume, cfg, nil); st.Failed != 1 || st.Pages != 0 {
		t.Fatalf("resume without the flag: %+v", st)
	}
	cfg.RetryFailed = true
	cfg.Limits.Pages = 1
	if st := run(t, dir, ModeResume, cfg, nil); st.Failed != 0 || st.Pages != 1 || st.Seeds != (SeedCounts{Captured: 1}) {
		t.Fatalf("resume --retry-failed: %+v", st)
	}
	cfg.RetryFailed, cfg.Limits.Pages = false, 0
	cfg.Rules.Exclude = []*regexp.Regexp{regexp.MustCompile("/a$")}
	if st := run(t, dir, ModeResume, cfg, nil); st.Pages != 2 || st.Skipped["scope"] != 1 || s.count("/a") != 0 || s.count("/b") != 1 {
		t.Fatalf("resume with an exclude: %+v", st)
	}
}

// HT-06 (d): a server that closes each connection after its answer, without saying so, costs no failure, and no page is
// fetched over two connections at once.
func TestHT06ServerThatClosesUnasked(t *testing.T) {
	pages := map[string]http.HandlerFunc{}
	var links []string
	for i := range 40 {
		links = append(links, fmt.Sprintf("/p%d", i))
	}
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}
	for _, l := range links {
		pages[l] = answer("<title>leaf</title>")
	}
	pages["/"] = answer("<a href=" + strings.Join(links, "></a><a href=") + "></a>")
	s := newSite(t, pages)
	dir := filepath.Join(t.TempDir(), "job")
	st := run(t, dir, ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	if st.Pages != 41 || st.Failed != 0 || st.Objections != 0 || st.End != endExhausted {
		t.Errorf("status %+v", st)
	}
	reqs, _ := logLines(t, dir)
	for _, r := range reqs {
		if r.Attempt != 1 || r.Class == "reset" && r.Outcome != "again" {
			t.Errorf("line %+v", r)
		}
	}
}

// Sitemaps that name two more without end are followed two indexes deep, so that a page limit and the crawl are reached.
func TestSM04SitemapsWithoutEnd(t *testing.T) {
	var s *site
	var n atomic.Int64
	s = newSite(t, map[string]http.HandlerFunc{"/": html("/a"), "/a": html()})
	index := func(w http.ResponseWriter, r *http.Request) {
		i := n.Add(2)
		fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s/sm%d.xml</loc></sitemap><sitemap><loc>%s/sm%d.xml</loc></sitemap></sitemapindex>", s.URL, i, s.URL, i+1)
	}
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/sm"):
			index(w, r)
		case r.URL.Path == "/robots.txt":
			fmt.Fprintf(w, "User-agent: *\nDisallow:\nSitemap: %s/sm.xml\n", s.URL)
		default:
			inner.ServeHTTP(w, r)
		}
	})
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	// One from robots.txt, two it names, four they name; what those name is left out.
	if st.Pages != 2 || st.Requests != 10 || st.Skipped["trap-depth"] != 8 || st.End != endExhausted {
		t.Errorf("status %+v", st)
	}
}

// The time limit ends what is in flight too, after the same grace as a signal, and it is what ended the run.
func TestTimeLimitEndsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	cfg := ownConfig()
	cfg.Fetch.Timeout, cfg.Fetch.HeadTimeout = 5*time.Minute, 5*time.Minute
	cfg.Limits.Time = 200 * time.Millisecond
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, cfg, seedsOf(t, s.URL+"/"))
	if st.End != endTime || st.State != "stopped" || st.Queued != 1 || st.Failed != 0 || s.count("/") != 1 {
		t.Errorf("status %+v, asked %v", st, s.requests())
	}
}
