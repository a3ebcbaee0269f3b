package scheduler

import (
	"container/heap"
	"net/netip"
	"slices"
	"strings"
	"time"

	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
)

// minForeignFloor is the shortest floor for hosts that are not the operator's.
const minForeignFloor = 200 * time.Millisecond

// host is what the loop knows of a pace key.
type host struct {
	id   frontier.HostID
	key  string
	rate ratectl.State
	// win is lent while the host is active.
	win  *ratectl.Window
	pace ratectl.Config
	// started is when the last request started, next the earliest next start, and cause says why.
	started time.Time
	next    time.Time
	cause   ratectl.Cause
	// ticket is the start that the address pace gave to a request of this host that was put off.
	ticket time.Time
	// index in the heap, -1 outside of it.
	index int
	busy  bool
	own   bool
	dirty bool
	// resend: the last request died with its reused connection, and is made again at this turn.
	resend bool
	parks  int
	// sitemaps is how many were asked for.
	sitemaps int
	// dead, when set, is why nothing of this host is fetched any more in this run.
	dead frontier.Reason
	// why says what is wrong with a host that does not connect.
	why string
	// hops are robots.txt redirects that lead to this host.
	hops    []robotsHop
	origins []*origin
	conf    HostConfig
}

type robotsHop struct {
	origin *origin // the one that was asked for its rules
	url    canon.URL
	n      int // redirects followed so far
}

// hostHeap orders the hosts that have something to start by their next start.
type hostHeap []*host

func (h hostHeap) Len() int           { return len(h) }
func (h hostHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h hostHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *hostHeap) Push(x any) {
	e := x.(*host)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *hostHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}

// put brings a host to its place in the heap; a busy host comes back by itself when its request ends.
func (c *core) put(h *host) {
	switch {
	case h.busy:
	case h.index >= 0:
		heap.Fix(&c.heap, h.index)
	default:
		heap.Push(&c.heap, h)
	}
}

// idle takes the window back from a host that left the heap: samples are worth keeping only while they are fresh.
func (c *core) idle(h *host) {
	if h.win != nil {
		*h.win = ratectl.Window{}
		c.windows = append(c.windows, h.win)
		h.win = nil
	}
}

func (c *core) window(h *host) *ratectl.Window {
	if h.win == nil {
		if n := len(c.windows); n > 0 {
			h.win, c.windows = c.windows[n-1], c.windows[:n-1]
		} else {
			h.win = new(ratectl.Window)
		}
	}
	return h.win
}

// host gives the state of a pace key, read back from the frontier when this run meets it for the first time. A host
// that an earlier run knew counts as just visited and waits its interval first: what that run did last may not have
// been committed.
func (c *core) host(id frontier.HostID, now time.Time) (*host, error) {
	for int(id) >= len(c.hosts) {
		c.hosts = append(c.hosts, nil)
	}
	if h := c.hosts[id]; h != nil {
		return h, nil
	}
	h := &host{id: id, key: c.f.HostKey(id), index: -1, next: now, cause: ratectl.CauseStart}
	h.conf = c.cfg.Hosts[h.key]
	h.own = c.cfg.Own.Covers(hostname(h.key))
	h.pace = c.paceOf(h)
	blob, err := c.f.HostBlob(id)
	if err != nil {
		return nil, err
	}
	if len(blob) > 0 {
		if err := h.rate.UnmarshalBinary(blob); err != nil {
			// A state that cannot be read is no reason to stop: the host is met anew, and gently.
			c.event("host-state", h.key, "", "unreadable, begun anew: "+err.Error(), now)
			h.rate = ratectl.State{}
		}
		h.rate.Loaded(h.pace, now)
	}
	if c.resumed && int(id) < c.hostsAtStart {
		h.started = now
		iv, cause := h.rate.Interval(h.pace)
		h.next, h.cause = now.Add(iv), cause
		if nb := h.rate.NotBefore(); nb.After(h.next) {
			h.next, h.cause = nb, ratectl.CauseRetryAfter
		}
	}
	c.hosts[id] = h
	return h, nil
}

// paceOf is the pace that the configuration sets for a host: its own keys before the crawl's. For hosts that are not
// the operator's a floor under 200 ms counts as the default.
func (c *core) paceOf(h *host) ratectl.Config {
	p := c.cfg.Pace
	if f, ok := c.seedFloor[h.key]; ok {
		p.Floor = f
	}
	if h.conf.Floor != nil {
		p.Floor = *h.conf.Floor
	}
	if h.conf.Ceiling != nil {
		p.Ceiling = *h.conf.Ceiling
	}
	if !h.own && p.Floor < minForeignFloor {
		p.Floor = defaultFloor
	}
	p.Ceiling = max(p.Ceiling, p.Floor)
	return p
}

// wake puts a host into the heap because there is something for it to do.
func (c *core) wake(id frontier.HostID, now time.Time) error {
	h, err := c.host(id, now)
	if err == nil && h.index < 0 && !h.busy {
		c.put(h)
	}
	return err
}

// Covers tells whether a host name (canonical, without port; IPv6 with or without brackets) is the operator's.
func (o Own) Covers(hostname string) bool {
	if slices.Contains(o.Hosts, hostname) {
		return true
	}
	for _, s := range o.Suffixes {
		if strings.HasSuffix(hostname, s) {
			return true
		}
	}
	a, err := netip.ParseAddr(strings.Trim(hostname, "[]"))
	return err == nil && slices.ContainsFunc(o.Prefixes, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}

// hostname is a pace key without its port.
func hostname(key string) string {
	if i := strings.LastIndexByte(key, ':'); i >= 0 && !strings.HasSuffix(key, "]") {
		return key[:i]
	}
	return key
}
