package fetcher

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amble/fetcher/capture"
	"amble/frontier/canon"
)

// benchServer names the environment variable that turns the test binary into the benchmark's
// server, so that the server's processor time is not counted.
const benchServer = "AMBLE_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(benchServer) != "" {
		serveBench()
		return
	}
	goleak.VerifyTestMain(m)
}

// serveBench answers every request with a page of 22 KB, on the listener that is the first extra file.
func serveBench() {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	page := ok(strings.Repeat("<p>A line of text.</p>", 1000))
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { // ends with the process
			p := &peer{br: bufio.NewReader(c)}
			for p.request() != "" {
				io.WriteString(c, page)
			}
		}()
	}
}

// peer is a server's side of one connection, driven by the bytes.
type peer struct {
	t *testing.T
	*net.TCPConn
	br *bufio.Reader
	// nth counts the server's connections from 1.
	nth int
	// over is closed when the test ends.
	over <-chan struct{}
}

// request reads one request head; "" at the end of the connection.
func (p *peer) request() string {
	var b strings.Builder
	for {
		line, err := p.br.ReadString('\n')
		if err != nil {
			return ""
		}
		b.WriteString(line)
		if line == "\r\n" {
			return b.String()
		}
	}
}

// say writes; what the client no longer wants to hear is no error.
func (p *peer) say(s string) error {
	_, err := p.Write([]byte(s))
	return err
}

// answer reads a request and says s.
func (p *peer) answer(s string) {
	if p.request() != "" {
		p.say(s)
	}
}

// reset makes the close a RST.
func (p *peer) reset() {
	p.SetLinger(0)
	p.Close()
}

// hold keeps the connection open and silent until the client goes or the test ends.
func (p *peer) hold() {
	gone := make(chan struct{})
	go func() { // ends with the connection, which serve's cleanup closes
		defer close(gone)
		io.Copy(io.Discard, p.br)
	}()
	select {
	case <-gone:
	case <-p.over:
	}
}

// server is a listener on loopback whose connections are driven by a script.
type server struct {
	addr string
	mu   sync.Mutex
	// conns is how many connections were accepted.
	conns int
}

func (s *server) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// serve runs script for each connection until the test ends.
func serve(t *testing.T, script func(p *peer)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	over := make(chan struct{})
	open := map[net.Conn]bool{}
	var wg sync.WaitGroup
	wg.Go(func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			nth := s.conns
			open[c] = true
			s.mu.Unlock()
			wg.Go(func() {
				script(&peer{t: t, TCPConn: c.(*net.TCPConn), br: bufio.NewReader(c), nth: nth, over: over})
				c.Close()
				s.mu.Lock()
				delete(open, c)
				s.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		close(over)
		l.Close()
		s.mu.Lock()
		for c := range open {
			c.Close()
		}
		s.mu.Unlock()
		wg.Wait()
	})
	return s
}

// testFetcher is a Fetcher that may go to loopback.
func testFetcher(t testing.TB, cfg Config) *Fetcher {
	t.Helper()
	if cfg.UserAgent == "" {
		cfg.UserAgent = "Amble/test"
	}
	if !cfg.RequireContact {
		cfg.AllowPrivate = true
	}
	return newFetcher(t, cfg)
}

func newFetcher(t testing.TB, cfg Config) *Fetcher {
	t.Helper()
	f, err := New(cfg, capture.NewBudget(t.TempDir(), 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func mustURL(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// get fetches http://addr/path.
func get(t testing.TB, f *Fetcher, addr, path string) *capture.Capture {
	t.Helper()
	return do(t, f, Request{URL: mustURL(t, "http://"+addr+path)})
}

func do(t testing.TB, f *Fetcher, req Request) *capture.Capture {
	t.Helper()
	c := f.Do(context.Background(), req)
	t.Cleanup(func() { c.Close() })
	return c
}

// bodyOf is the body as text; "<nil>" where none was begun.
func bodyOf(t testing.TB, c *capture.Capture) string {
	t.Helper()
	if c.Body == nil {
		return "<nil>"
	}
	p, ok := c.Body.Bytes()
	if !ok {
		t.Fatal("a short body is not in memory")
	}
	return string(p)
}

func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// short timeouts, for exchanges that are to run into them.
var short = Config{Timeout: 300 * time.Millisecond, ConnectTimeout: 200 * time.Millisecond, HeadTimeout: 150 * time.Millisecond}
