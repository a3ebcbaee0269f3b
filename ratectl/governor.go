package ratectl

import (
	"math"
	"slices"
	"time"
)

const (
	tick         = 2500 * time.Millisecond
	startRate    = 10.0  // starts a second, when none is configured
	startGain    = 1.025 // a tick, until the first shared event
	laterGain    = 1.01  // a tick, afterwards
	leastRate    = 0.5
	mostRate     = 100_000.0
	sharedCut    = 0.93
	saturatedCut = 0.92 // of what was delivered
	saturated    = 0.4  // seconds of excess from which the resource is full
	cutPeriod    = 7500 * time.Millisecond
	firstHold    = 30 * time.Second
	longestHold  = 2 * time.Minute // however many shared events there were
	sharedHosts  = 10              // fewer hosts than this say nothing about what they share
	sharedShare  = 0.6             // of the hosts that reported
	sharedExcess = 0.150
	strongExcess = 3.0 // times the bound: one tick is enough
	// prompt is how late after its slot was free a claim still counts as having waited for it.
	prompt = 5 * time.Millisecond
)

// Governor is the global limit beneath which the per-host loops run. It hands out start slots, evenly spaced: no burst,
// no sleeping and looking again. It also tells contention on what all hosts share from a host's own
// trouble: when most of the hosts slow down in the same moment, it is not the hosts (specification, 'Why the loop
// needs damping').
// It is for one goroutine; its memory is bounded by the hosts that answer within one tick of 2.5 s.
type Governor struct {
	off, eager bool
	rate, most float64
	configured bool

	next time.Time // the next free slot
	last time.Time // the latest present that was seen

	began   time.Time // of this tick
	claims  int       // in this tick
	prompts int       // of them, claims that had waited for their slot
	ended   int       // outcomes in this tick
	hosts   map[uint64]vote
	scratch []float64

	suspect   int // ticks in a row that looked shared
	shared    bool
	events    int // shared events so far
	cutAt     time.Time
	holdUntil time.Time
	delivered float64 // outcomes a second, mean
}

// vote is what a host says of the moment: its smallest excess over its usual first-byte time, and that time, seconds.
type vote struct{ excess, base float64 }

// NewGovernor makes a Governor of perSecond starts a second; 0 means that it finds the shared capacity itself, off means none at all.
// A configured rate is an upper bound: while a shared resource is short, the governor goes below it, and comes back.
func NewGovernor(perSecond float64, off bool) *Governor {
	g := &Governor{off: off, rate: startRate, most: mostRate, hosts: map[uint64]vote{}}
	if perSecond > 0 && !math.IsInf(perSecond, 1) {
		g.rate, g.most, g.configured = min(perSecond, mostRate), min(perSecond, mostRate), true
	}
	return g
}

// SetEager makes the search for the capacity double with each tick while slots are wanted, until the first shared event:
// for crawls with own hosts, whose operator is the one to be asked.
func (g *Governor) SetEager(on bool) { g.eager = on }

// Claim takes the next slot and returns its time, not before now. Slots are never shared, so waiters never wake together.
func (g *Governor) Claim(now time.Time) time.Time {
	if g.off {
		return now
	}
	g.advance(now)
	slot := g.next
	if slot.Before(now) {
		slot = now
	}
	g.claims++
	// The first slot ever was waited for by nobody.
	if !g.next.IsZero() && now.Sub(g.next) <= max(prompt, g.spacing()/4) {
		g.prompts++
	}
	g.next = slot.Add(g.spacing())
	return slot
}

// Free tells when the next slot is free, without taking it.
func (g *Governor) Free(now time.Time) time.Time {
	if g.off {
		return now
	}
	g.advance(now)
	if g.next.After(now) {
		return g.next
	}
	return now
}

// Rate is the limit in force, starts per second; 0 when off.
func (g *Governor) Rate() float64 {
	if g.off {
		return 0
	}
	return g.rate
}

// Shared tells whether this moment is attributed to a shared resource.
func (g *Governor) Shared() bool { return g.shared }

// Observe tells the governor of an outcome, baseline being the host's usual first-byte time (0 unknown); it answers
// whether this moment is attributed to a shared resource. Hosts with the same hostKey are one vote: hosts behind
// one address or CDN may be given one key.
func (g *Governor) Observe(now time.Time, hostKey uint64, kind Kind, ttfb, baseline time.Duration) (shared bool) {
	if g.off {
		return false
	}
	g.advance(now)
	if kind == NoHost {
		return g.shared
	}
	g.ended++
	var excess float64
	switch {
	case kind == Reset, kind == ConnectTimeout, kind == HeadTimeout:
		excess = 2 * strongExcess * max(sharedExcess, baseline.Seconds())
	case kind == Success && ttfb > 0 && baseline > 0:
		excess = (ttfb - baseline).Seconds()
	default:
		return g.shared // an error's speed says nothing
	}
	if v, ok := g.hosts[hostKey]; !ok || excess < v.excess {
		g.hosts[hostKey] = vote{excess, baseline.Seconds()}
	}
	return g.shared
}

func (g *Governor) spacing() time.Duration {
	return time.Duration(float64(time.Second) / g.rate)
}

// advance closes the tick when it is over. A clock that was set back takes the slots back with it.
func (g *Governor) advance(now time.Time) {
	if back := g.last.Sub(now); !g.last.IsZero() && back > time.Second {
		g.next = g.next.Add(-back)
		g.began, g.cutAt, g.holdUntil = g.began.Add(-back), g.cutAt.Add(-back), g.holdUntil.Add(-back)
	}
	g.last = now
	if g.began.IsZero() {
		g.began = now
		return
	}
	if took := now.Sub(g.began); took >= tick {
		g.close(now, took)
		g.began, g.claims, g.prompts, g.ended = now, 0, 0, 0
		clear(g.hosts)
	}
}

// close judges a tick and moves the rate.
func (g *Governor) close(now time.Time, took time.Duration) {
	got := float64(g.ended) / took.Seconds()
	if g.delivered == 0 {
		g.delivered = got
	} else {
		g.delivered += 0.3 * (got - g.delivered)
	}
	excess, bound, many := g.excess()
	switch {
	case !many || excess <= bound:
		g.suspect = 0
	case excess > strongExcess*bound:
		g.suspect = 2
	default:
		g.suspect++
	}
	wasShared := g.shared
	g.shared = g.suspect >= 2
	if g.shared {
		g.cut(now, excess, !wasShared)
		return
	}
	g.raise(now)
}

// excess gives the excess that the wanted share of the hosts has at least, and the bound over which it is suspicious.
func (g *Governor) excess() (excess, bound float64, many bool) {
	if len(g.hosts) < sharedHosts {
		return 0, 0, false
	}
	x := g.scratch[:0]
	for _, v := range g.hosts {
		x = append(x, v.base)
	}
	slices.Sort(x)
	bound = max(sharedExcess, x[len(x)/2])
	x = x[:0]
	for _, v := range g.hosts {
		x = append(x, v.excess)
	}
	slices.Sort(x)
	g.scratch = x
	return x[int(math.Floor((1-sharedShare)*float64(len(x))))], bound, true
}

func (g *Governor) cut(now time.Time, excess float64, fresh bool) {
	if fresh {
		g.events++
	}
	hold := time.Duration(min(float64(firstHold)*math.Pow(1.5, float64(g.events-1)), float64(longestHold)))
	g.holdUntil = now.Add(hold)
	if !g.cutAt.IsZero() && now.Sub(g.cutAt) < cutPeriod {
		return
	}
	g.cutAt = now
	to := sharedCut * g.rate
	if excess > saturated && g.delivered > 0 {
		to = min(to, saturatedCut*g.delivered)
	}
	g.rate = max(to, min(leastRate, g.most))
}

func (g *Governor) raise(now time.Time) {
	if g.claims == 0 || 2*g.prompts < g.claims || now.Before(g.holdUntil) {
		return
	}
	gain := laterGain
	if g.events == 0 {
		gain = startGain
		if g.eager {
			gain = 2
		}
	}
	g.rate = min(g.rate*gain, g.most)
}
