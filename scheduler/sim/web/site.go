package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/encoding"
)

// site is one host.
type site struct {
	web         *Web
	kind, about string
	host, base  string

	routes map[string]*route
	// tree are the pages that link each other, "/" first: page i links to its children 4i+1 to 4i+4.
	tree []string
	// extra are HTML fragments that are spread over the tree's pages.
	extra []string
	// head is put into every page's head element.
	head string
	// more, when set, gives a page further links.
	more func(target string) string

	// charset with its encoder, when pages are not UTF-8; contentType is the header of its pages.
	encoding    encoding.Encoding
	contentType string
	// text gives the words of the pages.
	text vocabulary

	// delay is the Crawl-delay of robots.txt; robotsEnd is the request that answers for it at last (a redirect may
	// lead elsewhere), and robotsHops are targets here that belong to a robots.txt.
	delay      time.Duration
	robotsEnd  place
	robotsHops map[string]bool
	// forbidden are the targets that robots.txt forbids, of all that are linked; allForbidden: everything is.
	forbidden    map[string]bool
	allForbidden bool
	// isEndless recognises targets of a trap.
	isEndless func(target string) bool
	// bucket, when set, limits the requests.
	bucket *bucket
	// wrap, when set, stands before every page.
	wrap func(x *exchange, next func())

	server *http.Server

	mu   sync.Mutex
	seen map[string]int // requests by target
}

// place is a target on a host.
type place struct{ host, target string }

// route is what a target answers.
type route struct {
	answer func(x *exchange)
	// status is what a request for it ends with, 0 when there never is a response.
	status int
	// page: it counts as a page (robots.txt and sitemaps do not).
	page    bool
	endless bool
}

func newSite(w *Web, k kind, host string) *site {
	return &site{
		web: w, kind: k.name, about: k.about, host: host, base: "http://" + host,
		routes: map[string]*route{}, robotsHops: map[string]bool{"/robots.txt": true},
		robotsEnd: place{host, "/robots.txt"}, forbidden: map[string]bool{},
		isEndless: func(string) bool { return false },
		text:      english, contentType: "text/html; charset=utf-8", seen: map[string]int{},
	}
}

// pick is the first value, or the second on a fast web.
func pick[T any](s *site, usual, fast T) T {
	if s.web.fast {
		return fast
	}
	return usual
}

// serve runs the server until Web.Close.
func (s *site) serve(l net.Listener) {
	s.server = &http.Server{
		Handler: s,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.web.running.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.web.running.Done()
			}
		},
	}
	s.web.running.Go(func() { _ = s.server.Serve(l) })
}

// ServeHTTP logs the request and has its route answer it.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.web.running.Add(1)
	defer s.web.running.Done()
	x := &exchange{ResponseWriter: w, r: r, s: s, target: r.RequestURI}
	entry := s.web.begin(s, r)
	defer func() {
		x.ending()
		if !x.hijacked {
			_ = http.NewResponseController(x.ResponseWriter).Flush()
		}
		s.web.finish(entry, x.end, x.status, x.notBefore)
	}()
	s.mu.Lock()
	s.seen[x.target]++
	x.nth = s.seen[x.target]
	s.mu.Unlock()

	if s.bucket != nil && !s.bucket.take(time.Now()) {
		x.refuse(http.StatusTooManyRequests, s.bucket.retryAfter, s.bucket.date)
		return
	}
	rt := s.routes[x.target]
	switch {
	case rt == nil && s.isEndless(x.target):
		s.page(x)
	case rt == nil:
		x.notFound(http.StatusNotFound)
	case s.wrap != nil && rt.page:
		s.wrap(x, func() { rt.answer(x) })
	default:
		rt.answer(x)
	}
}

// exchange is one request and the ways to answer it.
type exchange struct {
	http.ResponseWriter
	r      *http.Request
	s      *site
	target string
	nth    int // of this target, from 1

	status    int
	notBefore time.Time
	hijacked  bool
	end       time.Time
}

// ending notes the end of the exchange. It is called before the last write, since the client can be quicker to go on
// than this goroutine to look at the time.
func (x *exchange) ending() {
	if x.end.IsZero() {
		x.end = time.Now()
	}
}

// WriteHeader keeps the status for the log.
func (x *exchange) WriteHeader(status int) {
	x.status = status
	x.ResponseWriter.WriteHeader(status)
}

// send answers with a whole body.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.Header().Set("Content-Type", contentType)
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	x.ending()
	_, _ = x.Write(body)
}

func (x *exchange) text(status int, body string) {
	x.send(status, "text/plain; charset=utf-8", []byte(body))
}

func (x *exchange) redirect(status int, location string) {
	x.Header().Set("Location", location)
	x.send(status, "text/html; charset=utf-8", []byte("<!doctype html><title>Moved</title><p>The page has moved.</p>"))
}

func (x *exchange) notFound(status int) {
	x.send(status, "text/html; charset=utf-8", []byte("<!doctype html><title>Gone</title><p>There is nothing here.</p>"))
}

// refuse answers 429 or 503, with Retry-After as seconds or as a date unless after is 0.
func (x *exchange) refuse(status int, after time.Duration, date bool) {
	now := time.Now()
	switch {
	case after == 0:
	case date:
		// A date has whole seconds: the next one that is not before the wait is over.
		x.notBefore = now.Add(after + time.Second - 1).Truncate(time.Second)
		x.Header().Set("Retry-After", x.notBefore.UTC().Format(http.TimeFormat))
	default:
		x.notBefore = now.Add(after)
		x.Header().Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	x.text(status, "Please come back later.\n")
}

// wait sleeps, and tells whether anyone still waits for the answer.
func (x *exchange) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.r.Context().Done():
		return false
	case <-x.s.web.ctx.Done():
		return false
	}
}

// reset ends the connection with a TCP reset and no response.
func (x *exchange) reset() {
	c, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x.hijacked = true
	x.ending()
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// silent never answers; after a while it gives up, so that no crawl hangs on it, and closes the connection.
func (x *exchange) silent(giveUp time.Duration) {
	x.wait(giveUp)
	x.reset()
}

// pieces sends a body of unknown length, with a pause after each part.
func (x *exchange) pieces(status int, contentType string, body []byte, parts int, pause time.Duration) {
	x.Header().Set("Content-Type", contentType)
	x.WriteHeader(status)
	rc := http.NewResponseController(x.ResponseWriter)
	size := max(1, (len(body)+parts-1)/parts)
	for len(body) > 0 {
		n := min(size, len(body))
		if n == len(body) {
			x.ending()
		}
		if _, err := x.Write(body[:n]); err != nil {
			return
		}
		body = body[n:]
		if err := rc.Flush(); err != nil {
			return
		}
		if len(body) > 0 && pause > 0 && !x.wait(pause) {
			return
		}
	}
}

// add registers a target. Redirects, 404s and 200s alike are pages unless said otherwise.
func (s *site) add(target string, status int, answer func(x *exchange)) *route {
	rt := &route{answer: answer, status: status, page: true}
	s.routes[target] = rt
	return rt
}

// file registers something that is no page: robots.txt, a sitemap, an image.
func (s *site) file(target string, answer func(x *exchange)) {
	s.add(target, http.StatusOK, answer).page = false
}

// robots serves a robots.txt.
func (s *site) robots(lines ...string) {
	body := strings.Join(lines, "\n") + "\n"
	s.file("/robots.txt", func(x *exchange) { x.text(http.StatusOK, body) })
}

// forbid registers targets that robots.txt forbids: they would answer, were they asked.
func (s *site) forbid(targets ...string) {
	for _, t := range targets {
		s.forbidden[t] = true
		s.add(t, http.StatusOK, s.page).page = false
		s.link(t)
	}
}

// link has some page of the tree link to a target.
func (s *site) link(targets ...string) {
	for _, t := range targets {
		s.extra = append(s.extra, anchor(t, "see also "+t))
	}
}

// page answers with the target's HTML page.
func (s *site) page(x *exchange) { x.send(http.StatusOK, s.contentType, s.render(x.target)) }

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(b)
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return buf.Bytes()
}

// bucket is a token bucket in the server's own time. A refused request costs nothing.
type bucket struct {
	perSecond, size float64
	retryAfter      time.Duration // 0: said nothing of
	date            bool

	mu     sync.Mutex
	tokens float64
	last   time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() {
		b.tokens = b.size
	} else {
		b.tokens = min(b.size, b.tokens+now.Sub(b.last).Seconds()*b.perSecond)
	}
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
