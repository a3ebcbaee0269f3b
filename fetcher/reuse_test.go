package fetcher

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"amble/fetcher/capture"
)

// keepAlive answers every request on a connection with s.
func keepAlive(s string) func(*peer) {
	return func(p *peer) {
		for p.request() != "" {
			p.say(s)
		}
	}
}

func TestReuse(t *testing.T) {
	s := serve(t, keepAlive(ok("hi")))
	f := testFetcher(t, Config{})
	for i := range 5 {
		c := get(t, f, s.addr, fmt.Sprintf("/%d", i))
		if c.Class != capture.OK || c.Stale {
			t.Fatalf("%d: %s %s", i, c.Class, c.Err)
		}
		if reused := i > 0; reused != (c.Phases.Connect == 0) {
			t.Errorf("%d: phases %+v", i, c.Phases)
		}
		if c.Addr.String() != s.addr {
			t.Errorf("address %v, want %s", c.Addr, s.addr)
		}
	}
	if s.accepted() != 1 {
		t.Errorf("%d connections, want 1", s.accepted())
	}
}

// TestNotReused has responses after which the connection must not carry another request.
func TestNotReused(t *testing.T) {
	for name, response := range map[string]string{
		"close":               "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.0":            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"both framings":       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"bytes after the end": ok("hi") + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"body after 304":      "HTTP/1.1 304 Not Modified\r\n\r\nevil",
		"cut":                 "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\nlonger than it may be",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, keepAlive(response))
			f := testFetcher(t, Config{MaxBody: 10})
			first, second := get(t, f, s.addr, "/1"), get(t, f, s.addr, "/2")
			if first.Class != second.Class || first.Status == 0 || second.Stale {
				t.Errorf("%s (%s), then %s (%s)", first.Class, first.Err, second.Class, second.Err)
			}
			if s.accepted() != 2 {
				t.Errorf("%d connections, want 2", s.accepted())
			}
		})
	}
	t.Run("HTTP/1.0 keep-alive is", func(t *testing.T) {
		s := serve(t, keepAlive("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi"))
		f := testFetcher(t, Config{})
		get(t, f, s.addr, "/1")
		get(t, f, s.addr, "/2")
		if s.accepted() != 1 {
			t.Errorf("%d connections, want 1", s.accepted())
		}
	})
}

// TestIdleClosed is HT-06 (d): a server that closes after each answer without saying so costs no failure. Where its
// close crosses with the next request, that one is Stale, and never fails on a connection of its own.
func TestIdleClosed(t *testing.T) {
	s := serve(t, func(p *peer) { p.answer(ok("hi")) })
	f := testFetcher(t, Config{})
	for i := range 20 {
		c := get(t, f, s.addr, "/")
		if c.Stale {
			c = get(t, f, s.addr, "/")
		}
		if c.Class != capture.OK {
			t.Fatalf("%d: %s %s", i, c.Class, c.Err)
		}
	}
}

// TestIdleSpeaks: what a server says on an idle connection is no answer to the next request.
func TestIdleSpeaks(t *testing.T) {
	spoken := make(chan struct{})
	s := serve(t, func(p *peer) {
		p.answer(ok("hi"))
		if p.nth == 1 {
			p.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			close(spoken)
			p.hold()
		}
	})
	f := testFetcher(t, Config{})
	get(t, f, s.addr, "/")
	<-spoken
	if c := get(t, f, s.addr, "/"); c.Status != 200 || bodyOf(t, c) != "hi" {
		t.Errorf("status %d, body %q", c.Status, bodyOf(t, c))
	}
}

// TestStale has a reused connection that dies once the request is on it. The request goes out once, whatever happens;
// only a death before any byte of the response leaves it open whether the server saw it.
func TestStale(t *testing.T) {
	tests := []struct {
		name   string
		second func(p *peer) // what the connection does with its second request
		class  capture.Class
		stale  bool
	}{
		{"closed", func(p *peer) { p.request() }, capture.Reset, true},
		{"reset", func(p *peer) { p.request(); p.reset() }, capture.Reset, true},
		{"after a byte", func(p *peer) { p.answer("H") }, capture.Reset, false},
		{"after an interim response", func(p *peer) { p.answer("HTTP/1.1 100 Continue\r\n\r\n") }, capture.Reset, false},
		{"silent", func(p *peer) { p.request(); p.hold() }, capture.TimeoutHead, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(p *peer) {
				p.answer(ok("whole"))
				if p.nth == 1 {
					tt.second(p)
				}
			})
			f := testFetcher(t, Config{HeadTimeout: 200 * time.Millisecond})
			var admitted int
			req := Request{URL: mustURL(t, "http://"+s.addr+"/"), Admit: admitAt(&admitted, 0)}
			if c := do(t, f, req); c.Class != capture.OK {
				t.Fatal(c.Class, c.Err)
			}
			c := do(t, f, req)
			if c.Class != tt.class || c.Stale != tt.stale || !c.Sent || c.Err == "" || s.accepted() != 1 {
				t.Errorf("%s, stale %v, %d connections (%s); want %s, %v, 1", c.Class, c.Stale, s.accepted(), c.Err, tt.class, tt.stale)
			}
			checkTimes(t, c)
			if c := do(t, f, req); c.Class != capture.OK || c.Stale || s.accepted() != 2 {
				t.Errorf("the next one: %s, %d connections (%s)", c.Class, s.accepted(), c.Err)
			}
			if admitted != 3 {
				t.Errorf("Admit asked %d times, want once an exchange", admitted)
			}
		})
	}
}

func TestPool(t *testing.T) {
	a, b := serve(t, keepAlive(ok("a"))), serve(t, keepAlive(ok("b")))
	f := testFetcher(t, Config{MaxIdle: 1})
	for range 2 {
		get(t, f, a.addr, "/")
		get(t, f, b.addr, "/")
	}
	if a.accepted() != 2 || b.accepted() != 2 {
		t.Errorf("%d and %d connections, want 2 each: one idle connection is kept in all", a.accepted(), b.accepted())
	}
	if n := f.pool.order.Len(); n != 1 || len(f.pool.byHost) != 1 {
		t.Errorf("%d idle connections, %d hosts", n, len(f.pool.byHost))
	}
	// An old connection is not trusted.
	f.pool.byHost[b.addr].idleSince = time.Now().Add(-2 * maxIdleTime)
	get(t, f, b.addr, "/")
	if b.accepted() != 3 {
		t.Errorf("%d connections, want 3", b.accepted())
	}
	// Another origin with the same host key displaces the connection.
	f.pool.byHost[b.addr].origin = "https://" + b.addr
	get(t, f, b.addr, "/")
	if b.accepted() != 4 || f.pool.order.Len() != 1 {
		t.Errorf("%d connections, want 4; %d idle", b.accepted(), f.pool.order.Len())
	}
	f.Close()
	if c := get(t, f, b.addr, "/"); c.Class != capture.OK || f.pool.order.Len() != 0 {
		t.Errorf("after Close: %s, %d idle", c.Class, f.pool.order.Len())
	}
}

// admitAt is an Admit hook that gives slots that far in the future, and counts its calls.
func admitAt(calls *int, in time.Duration) func(a netip.Addr) time.Time {
	return func(a netip.Addr) time.Time {
		if *calls++; !a.IsLoopback() {
			panic("admit asked for " + a.String())
		}
		return time.Now().Add(in)
	}
}

func TestAdmit(t *testing.T) {
	s := serve(t, keepAlive(ok("hi")))
	u := mustURL(t, "http://"+s.addr+"/")
	f := testFetcher(t, Config{})
	var calls int
	c := do(t, f, Request{URL: u, Admit: admitAt(&calls, time.Hour)})
	if c.Deferred.IsZero() || c.Sent || c.Class != "" || c.Status != 0 || calls != 1 || c.Addr.String() != s.addr {
		t.Errorf("deferred to %v, sent %v, class %q, %d calls, address %v", c.Deferred, c.Sent, c.Class, calls, c.Addr)
	}
	asked := time.Now()
	c = do(t, f, Request{URL: u, Admit: admitAt(&calls, 20*time.Millisecond)})
	if c.Class != capture.OK || c.Start.Sub(asked) < 20*time.Millisecond || c.Phases.TTFB > c.Phases.Total {
		t.Errorf("%s, started %v after it was asked", c.Class, c.Start.Sub(asked))
	}
	if s.accepted() != 1 {
		t.Errorf("%d connections, want 1: the deferred exchange's is kept", s.accepted())
	}
	ctx, cancel := context.WithCancel(context.Background())
	c = f.Do(ctx, Request{URL: u, Admit: func(netip.Addr) time.Time { cancel(); return time.Now().Add(900 * time.Millisecond) }})
	if c.Class != capture.TimeoutHead || c.Sent || !strings.Contains(c.Err, "cancelled") {
		t.Errorf("%s, sent %v, %q", c.Class, c.Sent, c.Err)
	}
}

func TestAccept(t *testing.T) {
	s := serve(t, keepAlive("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 100000\r\n\r\nstart"))
	f := testFetcher(t, Config{})
	var status int
	var mime string
	c := do(t, f, Request{URL: mustURL(t, "http://"+s.addr+"/"), Accept: func(st int, h http.Header) bool {
		status, mime = st, h.Get("Content-Type")
		return false
	}})
	if status != 200 || mime != "video/mp4" || c.Class != capture.OK || c.Body != nil || c.Truncated != "" {
		t.Errorf("asked with %d %q; class %s, body %v, truncated %q", status, mime, c.Class, c.Body, c.Truncated)
	}
	if n := f.pool.order.Len(); n != 0 {
		t.Errorf("%d idle connections, want none", n)
	}
}
