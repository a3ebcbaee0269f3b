package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a Web.
type Options struct {
	// Log, when set, gets one JSON line per request.
	Log io.Writer
	// Fast shrinks the pages per host and the behaviours' times (Retry-After, Crawl-delay, slow bodies), for tests.
	Fast bool
}

// Depth is the --depth that bounds the calendar trap and reaches everything else.
const Depth = 8

// Web is the bundled synthetic web: at least 24 hosts, deterministic, a kind of behaviour each.
type Web struct {
	sites  []*site
	byHost map[string]*site
	fast   bool

	// ctx ends what handlers wait for.
	ctx  context.Context
	stop context.CancelFunc
	// running counts the servers, their connections and the hijacked ones' handlers.
	running sync.WaitGroup

	watch watch

	mu  sync.Mutex
	log []*Request
	out io.Writer
}

// Start listens on loopback addresses and serves until Close. Each host has an address of its own, 127.0.n.1, where
// the system has the whole of 127.0.0.0/8; elsewhere it has a port of its own on 127.0.0.1.
func Start(opt Options) (*Web, error) {
	w := &Web{byHost: map[string]*site{}, fast: opt.Fast, out: opt.Log}
	w.ctx, w.stop = context.WithCancel(context.Background())
	var listeners []net.Listener
	for i, k := range kinds {
		l, err := listen(i + 1)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			w.stop()
			return nil, fmt.Errorf("start the synthetic web: %w", err)
		}
		listeners = append(listeners, l)
		s := newSite(w, k, l.Addr().String())
		w.sites = append(w.sites, s)
		w.byHost[s.host] = s
	}
	for i, s := range w.sites {
		kinds[i].build(s)
	}
	w.running.Go(func() { w.watch.run(w.ctx.Done()) })
	for i, s := range w.sites {
		s.serve(listeners[i])
	}
	return w, nil
}

func listen(n int) (net.Listener, error) {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.%d.1:0", n))
	if err != nil {
		return net.Listen("tcp4", "127.0.0.1:0")
	}
	return l, nil
}

// Close ends it; every goroutine has ended when it returns.
func (w *Web) Close() error {
	w.stop()
	var errs []error
	for _, s := range w.sites {
		errs = append(errs, s.server.Close())
	}
	w.running.Wait()
	return errors.Join(errs...)
}

// Timeout is a --timeout that only the page that never answers outlasts.
func (w *Web) Timeout() time.Duration {
	if w.fast {
		return 2 * time.Second
	}
	return 3 * time.Second
}

// Host is one host of the Web.
type Host struct {
	Host string // address:port
	Kind string
	// About is a phrase for people.
	About string
	Seed  string
}

// Hosts are all hosts, in a fixed order.
func (w *Web) Hosts() []Host {
	hs := make([]Host, len(w.sites))
	for i, s := range w.sites {
		hs[i] = Host{Host: s.host, Kind: s.kind, About: s.about, Seed: s.base + "/"}
	}
	return hs
}

// Seeds are the home pages, one per host.
func (w *Web) Seeds() []string {
	var seeds []string
	for _, h := range w.Hosts() {
		seeds = append(seeds, h.Seed)
	}
	return seeds
}

// Summary lists the hosts with their kinds, one line each.
func (w *Web) Summary() string {
	var b strings.Builder
	for _, s := range w.sites {
		fmt.Fprintf(&b, "%-20s  %-18s  %s\n", s.host, s.kind, s.about)
	}
	return b.String()
}

// Request is what a host saw. Times are the server's own.
type Request struct {
	Host   string    `json:"host"` // address:port, the pace key
	Kind   string    `json:"kind"` // the host's behaviour
	Target string    `json:"target"`
	Start  time.Time `json:"start"` // head read
	End    time.Time `json:"end"`   // last part of the response written, or given up; zero while in flight
	Status int       `json:"status"`
	// NotBefore is what the answer asked for with Retry-After.
	NotBefore time.Time `json:"not_before"`
	UserAgent string    `json:"user_agent"`
}

// Requests is the log so far, in order of Start.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	rs := make([]Request, len(w.log))
	for i, r := range w.log {
		rs[i] = *r
	}
	slices.SortStableFunc(rs, func(a, b Request) int { return a.Start.Compare(b.Start) })
	return rs
}

// begin logs the head of a request; the entry is filled in by finish.
func (w *Web) begin(s *site, r *http.Request) *Request {
	e := &Request{Host: s.host, Kind: s.kind, Target: r.RequestURI, Start: time.Now(), UserAgent: r.UserAgent()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, e)
	return e
}

func (w *Web) finish(e *Request, end time.Time, status int, notBefore time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.End, e.Status, e.NotBefore = end, status, notBefore
	if w.out != nil {
		// A log that cannot be written does not stop the web: Requests has the same lines.
		if line, err := json.Marshal(e); err == nil {
			_, _ = w.out.Write(append(line, '\n'))
		}
	}
}

// Expected are the URLs that a whole crawl from Seeds with scope host captures as pages: every URL that ends with a
// stored response, redirects and 404s included; robots.txt and sitemaps are not counted, nor what is Endless. Sorted.
func (w *Web) Expected() []string { return w.expected(func(int) bool { return true }) }

// ExpectedOK are those of Expected that end with status 200. Sorted.
func (w *Web) ExpectedOK() []string {
	return w.expected(func(status int) bool { return status == http.StatusOK })
}

func (w *Web) expected(want func(status int) bool) []string {
	var urls []string
	for _, s := range w.sites {
		for target, rt := range s.routes {
			if rt.page && !rt.endless && want(rt.status) {
				urls = append(urls, s.base+target)
			}
		}
	}
	slices.Sort(urls)
	return urls
}

// Endless tells whether url belongs to the calendar trap or to the overlong redirect chain. How much of those a crawl
// captures depends on its limits, so Expected leaves them out.
func (w *Web) Endless(url string) bool {
	rest, ok := strings.CutPrefix(url, "http://")
	if !ok {
		return false
	}
	host, path, _ := strings.Cut(rest, "/")
	s := w.byHost[host]
	if s == nil {
		return false
	}
	if s.isEndless("/" + path) {
		return true
	}
	rt := s.routes["/"+path]
	return rt != nil && rt.endless
}
