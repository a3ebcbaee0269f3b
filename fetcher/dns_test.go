package fetcher

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"amble/fetcher/capture"
)

func errorNames(err, word string) bool { return strings.Contains(err, word) }

// nameServer answers over UDP on loopback.
type nameServer struct {
	addr string
	mu   sync.Mutex
	// zone gives the addresses of a name without its last dot. A nil func is silence, an
	// RCode other than success an error.
	zone map[string]func() ([]netip.Addr, dnsmessage.RCode)
	// asked counts the questions per name, A and AAAA apart.
	asked map[string]int
}

func (s *nameServer) questions(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

func (s *nameServer) set(name string, answer func() ([]netip.Addr, dnsmessage.RCode)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zone[name] = answer
}

func addrs(as ...string) func() ([]netip.Addr, dnsmessage.RCode) {
	var list []netip.Addr
	for _, a := range as {
		list = append(list, netip.MustParseAddr(a))
	}
	return func() ([]netip.Addr, dnsmessage.RCode) { return list, dnsmessage.RCodeSuccess }
}

func rcode(c dnsmessage.RCode) func() ([]netip.Addr, dnsmessage.RCode) {
	return func() ([]netip.Addr, dnsmessage.RCode) { return nil, c }
}

func serveNames(t *testing.T) *nameServer {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{addr: pc.LocalAddr().String(), zone: map[string]func() ([]netip.Addr, dnsmessage.RCode){}, asked: map[string]int{}}
	done := make(chan struct{})
	go func() { // ends with the socket
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := s.reply(buf[:n]); reply != nil {
				pc.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	return s
}

func (s *nameServer) reply(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name]++
	answer, known := s.zone[name]
	if known && answer == nil {
		return nil
	}
	r := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RCode: dnsmessage.RCodeNameError},
		Questions: m.Questions,
	}
	if known {
		var as []netip.Addr
		as, r.RCode = answer()
		for _, a := range as {
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			switch {
			case a.Is4() && q.Type == dnsmessage.TypeA:
				r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case a.Is6() && q.Type == dnsmessage.TypeAAAA:
				r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
	}
	b, err := r.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

func TestNames(t *testing.T) {
	names := serveNames(t)
	s := serve(t, keepAlive(ok("hi")))
	_, port, _ := net.SplitHostPort(s.addr)
	names.set("one.example", addrs("127.0.0.1"))
	names.set("dead-first.example", addrs("127.0.0.2", "127.0.0.1"))
	names.set("broken.example", rcode(dnsmessage.RCodeServerFailure))
	names.set("empty.example", addrs())
	names.set("public.example", addrs("192.0.2.1"))

	f := newFetcher(t, Config{Own: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolvers: []string{names.addr}})
	tests := []struct {
		host   string
		class  capture.Class
		noSuch bool
	}{
		{"one.example", capture.OK, false},
		{"dead-first.example", capture.OK, false},
		{"broken.example", capture.DNS, false},
		{"empty.example", capture.DNS, true},
		{"nx.invalid", capture.DNS, true},
		{"public.example", capture.Address, false},
	}
	for _, tt := range tests {
		c := get(t, f, tt.host+":"+port, "/")
		if c.Class != tt.class || c.NoSuchHost != tt.noSuch || (c.Err == "") != (tt.class == capture.OK) {
			t.Errorf("%s: %s, no such host %v, %q", tt.host, c.Class, c.NoSuchHost, c.Err)
		}
		if c.Phases.DNS <= 0 {
			t.Errorf("%s: no time for the look-up", tt.host)
		}
		if c.Class == capture.OK && c.Addr.String() != s.addr {
			t.Errorf("%s: address %v", tt.host, c.Addr)
		}
		checkTimes(t, c)
	}
}

// TestDeadName is HT-06 (a) and (b): one look-up for many URLs, and no failure that stays.
func TestDeadName(t *testing.T) {
	names := serveNames(t)
	s := serve(t, keepAlive(ok("hi")))
	_, port, _ := net.SplitHostPort(s.addr)
	f := testFetcher(t, Config{Resolvers: []string{names.addr}})
	var reason string
	var asked int
	for i := range 200 {
		c := get(t, f, "later.example:"+port, fmt.Sprintf("/%d", i))
		if i == 0 {
			reason, asked = c.Err, names.questions("later.example")
		}
		if c.Class != capture.DNS || !c.NoSuchHost || c.Err != reason || c.Sent {
			t.Fatalf("%d: %s %q", i, c.Class, c.Err)
		}
	}
	if n := names.questions("later.example"); n != asked || n > 4 {
		t.Errorf("%d questions after 200 URLs, %d after the first", n, asked)
	}

	names.set("later.example", addrs("127.0.0.1"))
	r := f.resolver
	r.mu.Lock()
	a := r.answers["later.example"]
	if life := a.until.Sub(a.at); life > time.Minute {
		t.Errorf("a failed look-up is believed for %v", life)
	}
	a.until = a.until.Add(-negativeTTL)
	r.answers["later.example"] = a
	r.mu.Unlock()
	if c := get(t, f, "later.example:"+port, "/"); c.Class != capture.OK {
		t.Errorf("the name works by now: %s %s", c.Class, c.Err)
	}
}

// TestRebinding is SE-01 for names: each address is judged when it is dialled.
func TestRebinding(t *testing.T) {
	secret := serve(t, keepAlive(ok("secret")))
	_, port, _ := net.SplitHostPort(secret.addr)
	open, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip("a second loopback address cannot be listened on:", err)
	}
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			c, err := open.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4096)
			c.Read(b)
			c.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nopen"))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		open.Close()
		<-done
	})
	names := serveNames(t)
	f := newFetcher(t, Config{Own: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolvers: []string{names.addr}})
	names.set("mixed.example", addrs("127.0.0.1", "127.0.0.2", "::1", "169.254.169.254"))
	if c := get(t, f, "mixed.example:"+port, "/"); c.Class != capture.OK || bodyOf(t, c) != "open" {
		t.Errorf("mixed: %s %q %s", c.Class, bodyOf(t, c), c.Err)
	}
	names.set("turning.example", addrs("127.0.0.2"))
	if c := get(t, f, "turning.example:"+port, "/"); c.Class != capture.OK {
		t.Errorf("before it turns: %s %s", c.Class, c.Err)
	}
	for _, to := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "64:ff9b::7f00:1"} {
		names.set("turning.example", addrs(to))
		f.resolver.mu.Lock()
		delete(f.resolver.answers, "turning.example")
		f.resolver.mu.Unlock()
		if c := get(t, f, "turning.example:"+port, "/"); c.Class != capture.Address || c.Sent {
			t.Errorf("turned to %s: %s %s", to, c.Class, c.Err)
		}
	}
	// By name, the operator's own host opens loopback, and still no metadata address.
	names.set("own.example", addrs("169.254.169.254", "fd00:ec2::254"))
	if c := do(t, f, Request{URL: mustURL(t, "http://own.example/"), Own: true}); c.Class != capture.Address || !errorNames(c.Err, "metadata") {
		t.Errorf("own name at a metadata address: %s %s", c.Class, c.Err)
	}
	if n := secret.accepted(); n != 0 {
		t.Errorf("%d connections to the private server", n)
	}
}

func TestSilentNameServer(t *testing.T) {
	names := serveNames(t)
	names.set("silent.example", nil)
	f := testFetcher(t, Config{Resolvers: []string{names.addr}, ConnectTimeout: 100 * time.Millisecond})
	c := get(t, f, "silent.example", "/")
	if c.Class != capture.TimeoutConnect || c.NoSuchHost || c.Sent || c.Phases.DNS == 0 {
		t.Errorf("%s %s, phases %+v", c.Class, c.Err, c.Phases)
	}
}

// TestSharedLookup: who asks for a name that is being looked up waits for the same answer; a
// look-up that nobody waits for is given up.
func TestSharedLookup(t *testing.T) {
	r := newResolver(nil, time.Minute)
	defer r.close()
	started, release, ended := make(chan struct{}, 10), make(chan struct{}), make(chan struct{}, 10)
	want := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	r.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
		defer func() { ended <- struct{}{} }()
		started <- struct{}{}
		select {
		case <-release:
			return want, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	waiting := func(name string) int {
		r.mu.Lock()
		defer r.mu.Unlock()
		if fl := r.flights[name]; fl != nil {
			return fl.waiters
		}
		return 0
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if as, err := r.resolve(context.Background(), "a.example"); err != nil || len(as) != 1 {
				t.Errorf("%v, %v", as, err)
			}
		})
	}
	wg.Go(func() {
		if _, err := r.resolve(ctx, "a.example"); err != context.Canceled {
			t.Errorf("a waiter that gave up: %v", err)
		}
	})
	for waiting("a.example") != 9 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for waiting("a.example") != 8 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	wg.Wait()
	if len(started) != 1 {
		t.Errorf("%d look-ups, want 1", len(started))
	}
	if a, ok := r.cached("a.example", time.Now()); !ok || a.err != nil || a.until.Sub(a.at) != positiveTTL {
		t.Errorf("cached %+v, %v", a, ok)
	}
	r.distrust("a.example")
	if a, ok := r.cached("a.example", time.Now()); !ok || a.until.Sub(a.at) != negativeTTL {
		t.Errorf("distrusted %+v, %v", a, ok)
	}

	<-started
	<-ended
	release = make(chan struct{})
	ctx, cancel = context.WithCancel(context.Background())
	wg.Go(func() { r.resolve(ctx, "b.example") })
	<-started
	cancel()
	wg.Wait()
	<-ended
	if _, ok := r.cached("b.example", time.Now()); ok {
		t.Error("a look-up that was given up is remembered")
	}
}

func TestAnswersBounded(t *testing.T) {
	r := newResolver(nil, time.Minute)
	defer r.close()
	const most = 1000
	r.most = most
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for i := range most {
		r.store(fmt.Sprintf("old%d.example", i), answer{at: now, until: now.Add(time.Duration(i%2+1) * time.Minute)})
	}
	later := now.Add(90 * time.Second)
	r.store("new.example", answer{at: later, until: later.Add(positiveTTL)})
	if n := len(r.answers); n != most/2+1 {
		t.Errorf("%d answers, want the stale half gone", n)
	}
	for i := range most {
		r.store(fmt.Sprintf("more%d.example", i), answer{at: later, until: later.Add(positiveTTL)})
	}
	if n := len(r.answers); n > most {
		t.Errorf("%d answers, want at most %d", n, most)
	}
}
