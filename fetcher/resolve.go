package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How long look-ups are believed. The positive time is short beside a crawl and long beside a
// page; the negative one bounds what a dead name costs, and lets it come back (RFC 2308 section 7
// permits 5 minutes). After a connection to all addresses of a name failed, its answer counts as
// long as a negative one: the name may have moved.
const (
	positiveTTL = 5 * time.Minute
	negativeTTL = 30 * time.Second
	// maxAnswers bounds the cache; an answer takes some 200 bytes.
	maxAnswers = 100_000
	// maxAddrs bounds the addresses kept per name: no more are ever tried.
	maxAddrs = 16
)

// resolver looks names up, one look-up per name at a time, and remembers the answers.
type resolver struct {
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	timeout time.Duration
	// most bounds the answers that are remembered.
	most int

	// base ends the look-ups in flight when the Fetcher is closed.
	base   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	answers map[string]answer
	flights map[string]*flight
}

type answer struct {
	addrs []netip.Addr
	err   error
	at    time.Time
	until time.Time
}

// flight is a look-up under way. Its goroutine ends when the look-up does, when the last waiter
// has gone, or with the resolver.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int // guarded by resolver.mu
	answer  answer
}

func newResolver(servers []string, timeout time.Duration) *resolver {
	r := &resolver{
		timeout: timeout,
		most:    maxAnswers,
		answers: map[string]answer{},
		flights: map[string]*flight{},
	}
	r.base, r.cancel = context.WithCancel(context.Background())
	var turn atomic.Uint32
	res := &net.Resolver{
		PreferGo: len(servers) > 0,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if len(servers) > 0 {
				address = servers[int(turn.Add(1)-1)%len(servers)]
			}
			var d net.Dialer
			c, err := d.DialContext(ctx, network, address)
			if err == nil {
				// The net package waits out its own timeout on a silent server, cancelled or not.
				context.AfterFunc(ctx, func() { c.Close() })
			}
			return c, err
		},
	}
	r.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
		return res.LookupNetIP(ctx, "ip", name)
	}
	return r
}

// close ends the look-ups in flight and waits for them.
func (r *resolver) close() {
	r.cancel()
	r.wg.Wait()
}

// cached answers without waiting: literal addresses, localhost (RFC 6761 section 6.3), and
// names looked up before.
func (r *resolver) cached(hostname string, now time.Time) (answer, bool) {
	if a, err := netip.ParseAddr(strings.Trim(hostname, "[]")); err == nil {
		return answer{addrs: []netip.Addr{a}}, true
	}
	if hostname == "localhost" || strings.HasSuffix(hostname, ".localhost") {
		return answer{addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[hostname]
	return a, ok && now.Before(a.until)
}

// resolve looks hostname up, or joins the look-up under way. When ctx ends first, its error is
// the context's.
func (r *resolver) resolve(ctx context.Context, hostname string) ([]netip.Addr, error) {
	r.mu.Lock()
	fl := r.flights[hostname]
	if fl == nil {
		if err := r.base.Err(); err != nil {
			r.mu.Unlock()
			return nil, fmt.Errorf("resolve %s: %w", hostname, net.ErrClosed)
		}
		fctx, cancel := context.WithTimeout(r.base, r.timeout)
		fl = &flight{done: make(chan struct{}), cancel: cancel}
		r.flights[hostname] = fl
		r.wg.Add(1)
		go r.fly(fctx, hostname, fl)
	}
	fl.waiters++
	r.mu.Unlock()

	select {
	case <-fl.done:
		return fl.answer.addrs, fl.answer.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fl.waiters--; fl.waiters == 0 {
		if r.flights[hostname] == fl {
			delete(r.flights, hostname)
		}
		fl.cancel()
	}
	return nil, ctx.Err()
}

func (r *resolver) fly(ctx context.Context, hostname string, fl *flight) {
	defer r.wg.Done()
	defer fl.cancel()
	name := hostname
	if strings.Contains(name, ".") && !strings.HasSuffix(name, ".") {
		// Absolute: a public name that fails must not be tried under this network's search domains.
		name += "."
	}
	addrs, err := r.lookup(ctx, name)
	now := time.Now()
	fl.answer = answer{at: now, until: now.Add(positiveTTL)}
	if err != nil {
		fl.answer.err = err
		fl.answer.until = now.Add(negativeTTL)
		if ctx.Err() == context.DeadlineExceeded {
			fl.answer.err = context.DeadlineExceeded
		}
	} else {
		for _, a := range addrs {
			if a = a.Unmap(); len(fl.answer.addrs) < maxAddrs {
				fl.answer.addrs = append(fl.answer.addrs, a)
			}
		}
	}
	r.mu.Lock()
	if r.flights[hostname] == fl {
		delete(r.flights, hostname)
	}
	if ctx.Err() != context.Canceled {
		r.store(hostname, fl.answer)
	}
	r.mu.Unlock()
	close(fl.done)
}

// store remembers an answer; r.mu is held.
func (r *resolver) store(hostname string, a answer) {
	if len(r.answers) >= r.most {
		for name, old := range r.answers {
			if !a.at.Before(old.until) {
				delete(r.answers, name)
			}
		}
		// The map's order is random, so what goes when nothing is stale is too.
		for name := range r.answers {
			if len(r.answers) < r.most-r.most/16 {
				break
			}
			delete(r.answers, name)
		}
	}
	r.answers[hostname] = a
}

// distrust shortens the life of an answer whose addresses did not take a connection.
func (r *resolver) distrust(hostname string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.answers[hostname]; ok && a.at.Add(negativeTTL).Before(a.until) {
		a.until = a.at.Add(negativeTTL)
		r.answers[hostname] = a
	}
}

// noSuchHost tells whether a look-up failed because the name does not exist.
func noSuchHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
