package fetcher

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// maxIdleTime is how long a connection is kept for reuse. Servers close theirs after 5 to 120 s;
// boxes between may drop one silently, which costs a head timeout to find out.
const maxIdleTime = 90 * time.Second

// conn is one connection to an origin.
type conn struct {
	net.Conn            // reads and writes plain text, through TLS where there is some
	raw        net.Conn // the TCP connection; closing it never blocks
	addr       netip.AddrPort
	origin     string // scheme, host and port it was made for
	insecure   bool   // certificates were not verified
	used       bool   // it has been idle, so the server may have closed it meanwhile
	idleSince  time.Time
	hostKey    string
	idleRecord *list.Element
}

// pool keeps idle connections, one per host key, and the most recently used ones in all.
type pool struct {
	maxIdle int

	mu     sync.Mutex
	byHost map[string]*conn
	order  list.List // of *conn, oldest first
	closed bool
}

// take removes and returns the idle connection that fits, or nil. One that does not fit is closed:
// the host has moved on to another port or scheme.
func (p *pool) take(hostKey, origin string, now time.Time) *conn {
	p.mu.Lock()
	c := p.byHost[hostKey]
	if c != nil {
		p.remove(c)
	}
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	if c.origin != origin || now.Sub(c.idleSince) > maxIdleTime {
		c.raw.Close()
		return nil
	}
	return c
}

// put keeps c for reuse, or closes it.
func (p *pool) put(hostKey string, c *conn, now time.Time) {
	if err := c.SetDeadline(time.Time{}); err != nil {
		c.raw.Close()
		return
	}
	var drop [2]*conn
	p.mu.Lock()
	if p.closed || p.maxIdle <= 0 {
		drop[0] = c
	} else {
		if old := p.byHost[hostKey]; old != nil {
			p.remove(old)
			drop[0] = old
		}
		c.hostKey, c.idleSince, c.used = hostKey, now, true
		c.idleRecord = p.order.PushBack(c)
		p.byHost[hostKey] = c
		if p.order.Len() > p.maxIdle {
			oldest := p.order.Front().Value.(*conn)
			p.remove(oldest)
			drop[1] = oldest
		}
	}
	p.mu.Unlock()
	for _, c := range drop {
		if c != nil {
			c.raw.Close()
		}
	}
}

// remove takes an idle c out; p.mu is held.
func (p *pool) remove(c *conn) {
	p.order.Remove(c.idleRecord)
	c.idleRecord = nil
	delete(p.byHost, c.hostKey)
}

// empty closes all idle connections.
func (p *pool) empty() {
	p.mu.Lock()
	conns := p.byHost
	p.byHost = map[string]*conn{}
	p.order.Init()
	p.mu.Unlock()
	for _, c := range conns {
		c.raw.Close()
	}
}

// close empties the pool, and closes what is put into it from now on.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.empty()
}
