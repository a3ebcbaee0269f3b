package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"amble/fetcher/capture"
)

// TestCancel cancels exchanges in each of their phases; the server tells when it has come.
func TestCancel(t *testing.T) {
	tests := []struct {
		name   string
		scheme string
		script func(p *peer, cancel func())
		class  capture.Class
		sent   bool
		body   string
	}{
		{"TLS", "https", func(p *peer, cancel func()) { p.br.Peek(1); cancel(); p.hold() }, capture.TimeoutHead, false, "<nil>"},
		{"head", "http", func(p *peer, cancel func()) { p.request(); cancel(); p.hold() }, capture.TimeoutHead, true, "<nil>"},
		{"body", "http", func(p *peer, cancel func()) {
			p.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
			p.hold()
		}, capture.TruncatedTime, true, "hello"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := serve(t, func(p *peer) { tt.script(p, cancel) })
			f := testFetcher(t, Config{})
			req := Request{URL: mustURL(t, tt.scheme+"://"+s.addr+"/")}
			if tt.name == "body" {
				watch := f.budget
				go func() { // ends when the body's first bytes are held
					for watch.Used() == 0 && ctx.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					time.Sleep(10 * time.Millisecond)
					cancel()
				}()
			}
			c := f.Do(ctx, req)
			defer c.Close()
			if c.Class != tt.class || c.Sent != tt.sent || bodyOf(t, c) != tt.body {
				t.Errorf("%s, sent %v, body %q, %q", c.Class, c.Sent, bodyOf(t, c), c.Err)
			}
			if f.pool.order.Len() != 0 {
				t.Error("the connection is kept")
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := testFetcher(t, Config{}).Do(ctx, Request{URL: mustURL(t, "http://127.0.0.1:9/")})
		if c.Class != capture.TimeoutHead || c.Sent {
			t.Errorf("%s, sent %v", c.Class, c.Sent)
		}
	})
	t.Run("look-up", func(t *testing.T) {
		names := serveNames(t)
		names.set("silent.example", nil)
		f := testFetcher(t, Config{Resolvers: []string{names.addr}})
		ctx, cancel := context.WithCancel(context.Background())
		var c *capture.Capture
		var wg sync.WaitGroup
		wg.Go(func() { c = f.Do(ctx, Request{URL: mustURL(t, "http://silent.example/")}) })
		for names.questions("silent.example") == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		wg.Wait()
		if c.Class != capture.TimeoutHead || c.Sent || !errorNames(c.Err, "cancelled") {
			t.Errorf("%s, sent %v, %q", c.Class, c.Sent, c.Err)
		}
	})
	t.Run("deadline of the context", func(t *testing.T) {
		s := serve(t, func(p *peer) { p.request(); p.hold() })
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if c := testFetcher(t, Config{}).Do(ctx, Request{URL: mustURL(t, "http://"+s.addr+"/")}); c.Class != capture.TimeoutHead || !c.Sent {
			t.Errorf("%s, sent %v, %q", c.Class, c.Sent, c.Err)
		}
	})
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	f := testFetcher(t, Config{})
	for _, u := range []string{"http://" + addr + "/", "http://127.0.0.1:0/"} {
		c := do(t, f, Request{URL: mustURL(t, u)})
		if c.Class != capture.Refused || c.Sent || c.Local != nil || c.Addr.IsValid() || c.Err == "" {
			t.Errorf("%s: %s, sent %v, local %v, %q", u, c.Class, c.Sent, c.Local, c.Err)
		}
	}
}

// TestLargeBody goes through a file, and its reader gives it back whole.
func TestLargeBody(t *testing.T) {
	line := strings.Repeat("0123456789abcde\n", 1<<10)
	s := serve(t, func(p *peer) {
		p.request()
		p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 300*len(line)))
		for range 300 {
			p.say(line)
		}
		p.hold()
	})
	f := testFetcher(t, Config{})
	c := get(t, f, s.addr, "/")
	if c.Class != capture.OK || c.Body.Len() != int64(300*len(line)) {
		t.Fatalf("%s %s, %d bytes", c.Class, c.Err, c.Body.Len())
	}
	if _, inMemory := c.Body.Bytes(); inMemory || f.budget.Used() != 0 {
		t.Errorf("in memory %v, %d bytes of the budget", inMemory, f.budget.Used())
	}
	r, p := c.Body.Reader(), make([]byte, len(line))
	for i := range 300 {
		if _, err := r.Read(p); err != nil || string(p) != line {
			t.Fatalf("part %d: %v", i, err)
		}
	}
}

// TestDiskFails: the host is not to blame, and what fitted is kept.
func TestDiskFails(t *testing.T) {
	s := serve(t, keepAlive(ok(strings.Repeat("x", 3<<20))))
	f, err := New(Config{AllowPrivate: true}, capture.NewBudget(filepath.Join(t.TempDir(), "missing"), 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := get(t, f, s.addr, "/")
	if !errors.Is(c.Local, os.ErrNotExist) || c.Class != capture.TruncatedLength || c.Body.Len() == 0 || c.Err == "" {
		t.Errorf("local %v, class %s, %d bytes, %q", c.Local, c.Class, c.Body.Len(), c.Err)
	}
}

// TestConcurrent has many exchanges on one Fetcher, some of them cancelled.
func TestConcurrent(t *testing.T) {
	const hosts, each = 8, 40
	var servers [hosts]*server
	for i := range servers {
		servers[i] = serve(t, keepAlive(ok(strings.Repeat(fmt.Sprint(i), 5000))))
	}
	f := testFetcher(t, Config{MaxIdle: hosts / 2})
	var wg sync.WaitGroup
	for i := range hosts * 2 {
		wg.Go(func() {
			host := i % hosts
			for n := range each {
				ctx, cancel := context.WithCancel(context.Background())
				if n%10 == 9 {
					go func() { // ends at once
						runtime.Gosched()
						cancel()
					}()
				}
				c := f.Do(ctx, Request{URL: mustURL(t, "http://"+servers[host].addr+"/")})
				if n%10 != 9 && (c.Class != capture.OK || bodyOf(t, c) != strings.Repeat(fmt.Sprint(host), 5000)) {
					t.Errorf("%s %s", c.Class, c.Err)
				}
				c.Close()
				cancel()
			}
		})
	}
	wg.Wait()
	if n := f.budget.Used(); n != 0 {
		t.Errorf("%d bytes of the budget are not given back", n)
	}
	if n := f.pool.order.Len(); n > hosts/2 {
		t.Errorf("%d idle connections", n)
	}
}

func TestErrorKinds(t *testing.T) {
	tests := []struct {
		err                         error
		timedOut, hungUp, exhausted bool
	}{
		{os.ErrDeadlineExceeded, true, false, false},
		{context.DeadlineExceeded, true, false, false},
		{syscall.ETIMEDOUT, true, false, false},
		{io.EOF, false, true, false},
		{io.ErrUnexpectedEOF, false, true, false},
		{syscall.ECONNRESET, false, true, false},
		{syscall.EPIPE, false, true, false},
		{syscall.EMFILE, false, false, true},
		{syscall.ENOBUFS, false, false, true},
		{syscall.ECONNREFUSED, false, false, false},
		{syscall.EHOSTUNREACH, false, false, false},
		{net.ErrClosed, false, false, false},
	}
	for _, tt := range tests {
		err := error(&net.OpError{Op: "read", Net: "tcp", Err: tt.err})
		if timedOut(err) != tt.timedOut || hungUp(err) != tt.hungUp || exhausted(err) != tt.exhausted {
			t.Errorf("%v: timed out %v, hung up %v, exhausted %v", tt.err, timedOut(err), hungUp(err), exhausted(err))
		}
	}
}
