package scheduler

import (
	"net/netip"
	"sync"
	"time"
)

// addressPace spaces the request starts per network address, so that a thousand names on one machine are not a
// thousand times the load. Slots are claimed: each waiter has a time of its own. It is safe for concurrent use.
type addressPace struct {
	every time.Duration

	mu   sync.Mutex
	next map[netip.Prefix]time.Time
}

func newAddressPace(every time.Duration) *addressPace {
	return &addressPace{every: every, next: map[netip.Prefix]time.Time{}}
}

// claim takes the next slot of the address (IPv6: of its /64) and returns its time, not before now.
func (p *addressPace) claim(a netip.Addr, now time.Time) time.Time {
	bits := 32
	if a = a.Unmap(); a.Is6() {
		bits = 64
	}
	key, err := a.WithZone("").Prefix(bits)
	if err != nil || p.every <= 0 {
		return now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	if t, ok := p.next[key]; ok && t.After(now) {
		at = t
	}
	p.next[key] = at.Add(p.every)
	// What lies in the past constrains nothing; without this the table grows with every address ever met.
	if len(p.next) > 4096 && len(p.next)&1023 == 0 {
		for k, t := range p.next {
			if t.Before(now) {
				delete(p.next, k)
			}
		}
	}
	return at
}
