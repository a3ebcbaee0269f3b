package ratectl

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestGovernorOff(t *testing.T) {
	g := NewGovernor(0, true)
	for range 5 {
		if at := g.Claim(noon); !at.Equal(noon) {
			t.Errorf("claim at %v", at)
		}
	}
	if !g.Free(noon).Equal(noon) || g.Rate() != 0 || g.Observe(noon, 1, Reset, 0, 0) {
		t.Error("a governor that is off says something")
	}
}

func TestGovernorConfigured(t *testing.T) {
	g := NewGovernor(4, false)
	for i := range 9 {
		want := noon.Add(time.Duration(i) * 250 * time.Millisecond)
		if free := g.Free(noon); !free.Equal(want) {
			t.Errorf("slot %d is free at %v, want %v", i, free, want)
		}
		if at := g.Claim(noon); !at.Equal(want) {
			t.Errorf("slot %d at %v, want %v", i, at, want)
		}
	}
	// Slots that nobody took are gone: no burst.
	later := noon.Add(time.Hour)
	if a, b := g.Claim(later), g.Claim(later); !a.Equal(later) || !b.Equal(later.Add(250*time.Millisecond)) {
		t.Errorf("after a pause: %v and %v", a, b)
	}
	if g.Rate() != 4 {
		t.Errorf("rate %v", g.Rate())
	}
}

// wanted lets a governor's slots be wanted without end for a time, and gives its end.
func wanted(g *Governor, from time.Time, d time.Duration) time.Time {
	now := from
	for range 2_000_000 {
		if now.Sub(from) >= d {
			break
		}
		now = g.Free(now)
		g.Claim(now)
	}
	return now
}

func TestGovernorSearch(t *testing.T) {
	g := NewGovernor(0, false)
	if g.Rate() != startRate {
		t.Fatalf("starts at %v", g.Rate())
	}
	// Wanted now and then: nothing to search for.
	now := noon
	for range 200 {
		now = g.Claim(now).Add(time.Second)
	}
	if g.Rate() != startRate {
		t.Errorf("grown to %v although no slot was waited for", g.Rate())
	}
	wanted(g, now, 100*tick)
	if r := g.Rate(); r < startRate*math.Pow(startGain, 90) || r > startRate*math.Pow(startGain, 101) {
		t.Errorf("after 100 ticks in demand: %v", r)
	}

	g = NewGovernor(0, false)
	g.SetEager(true)
	wanted(g, noon, 6*tick+tick/2)
	if r := g.Rate(); r < 16*startRate || r > 64*startRate {
		t.Errorf("eager, after six ticks: %v", r)
	}

	g = NewGovernor(3, false)
	g.SetEager(true)
	wanted(g, noon, 20*tick)
	if g.Rate() != 3 {
		t.Errorf("a configured rate became %v", g.Rate())
	}
}

// report is a tick in which hosts 0 to n-1 answer with an excess, the first of them as slow as said.
func report(g *Governor, now time.Time, n, slow int, excess time.Duration) (time.Time, bool) {
	const base = 100 * time.Millisecond
	shared := false
	for i := range n {
		ttfb := base
		if i < slow {
			ttfb += excess
		}
		g.Observe(now, uint64(i), Success, ttfb, base)
	}
	now = now.Add(tick)
	shared = g.Observe(now, 0, Success, base, base)
	return now, shared
}

func TestGovernorAttribution(t *testing.T) {
	tests := []struct {
		name    string
		n, slow int
		excess  time.Duration
		after   int // ticks until it is shared, 0 never
	}{
		{"most, somewhat", 20, 15, 200 * time.Millisecond, 2},
		{"most, strongly", 20, 15, 2 * time.Second, 1},
		{"half", 20, 10, 2 * time.Second, 0},
		{"one host alone", 20, 1, 8 * time.Second, 0},
		{"too few hosts", 9, 9, 2 * time.Second, 0},
		{"most, but little", 20, 20, 100 * time.Millisecond, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGovernor(20, false)
			now, got := noon, 0
			for i := 1; i <= 5 && got == 0; i++ {
				var shared bool
				if now, shared = report(g, now, tt.n, tt.slow, tt.excess); shared {
					got = i
				}
			}
			if got != tt.after {
				t.Errorf("shared after %d ticks, want %d", got, tt.after)
			}
			if (g.Rate() < 20) != (tt.after > 0) {
				t.Errorf("rate %v", g.Rate())
			}
		})
	}
}

// TestGovernorRecovers: cut while shared, held afterwards, then raised slowly while slots are wanted, up to what is configured.
func TestGovernorRecovers(t *testing.T) {
	g := NewGovernor(20, false)
	now := noon
	for range 20 {
		now, _ = report(g, now, 20, 20, 200*time.Millisecond)
	}
	low := g.Rate()
	if low > 20*0.7 {
		t.Errorf("after 50 s of contention: %v", low)
	}
	now = wanted(g, now, firstHold-tick)
	if g.Shared() || g.Rate() > low {
		t.Errorf("within the hold: %v from %v, shared %v", g.Rate(), low, g.Shared())
	}
	now = wanted(g, now, time.Minute)
	if r := g.Rate(); r <= low || r > low*1.4 {
		t.Errorf("a minute after the hold: %v from %v", r, low)
	}
	wanted(g, now, time.Hour)
	if g.Rate() != 20 {
		t.Errorf("an hour later: %v", g.Rate())
	}
}

// TestGovernorForgets: however many shared events there were, long ago, a link that was short for ten minutes is used again
// within 350 s.
func TestGovernorForgets(t *testing.T) {
	for _, events := range []int{0, 5, 40} {
		g := NewGovernor(20, false)
		now := noon
		for range events {
			for range 3 {
				now, _ = report(g, now, 20, 20, 200*time.Millisecond)
			}
			now = wanted(g, now, time.Hour)
		}
		for range 240 {
			if now, _ = report(g, now, 20, 20, 200*time.Millisecond); g.Rate() <= 10 {
				break
			}
		}
		from := now
		for g.Rate() < 16 && now.Sub(from) < time.Hour {
			now = wanted(g, now, tick)
		}
		if took := now.Sub(from); g.Rate() > 16.5 || took < firstHold || took > 350*time.Second {
			t.Errorf("after %d events: %v to come from 10 to %v a second", events, took, g.Rate())
		}
	}
}

func TestGovernorClockSetBack(t *testing.T) {
	g := NewGovernor(2, false)
	g.Claim(noon)
	back := noon.Add(-time.Hour)
	if at := g.Claim(back); at.Sub(back) > time.Second {
		t.Errorf("a clock set back by an hour makes the next slot wait for %v", at.Sub(back))
	}
}

// TestGovernorSlots: no two claims share a slot, none is in the past, and the spacing holds.
func TestGovernorSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 2000).Draw(t, "rate")
		g := NewGovernor(rate, false)
		now, last := noon, time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")) / 10)
			free := g.Free(now)
			at := g.Claim(now)
			if !at.Equal(free) || at.Before(now) {
				t.Fatalf("claimed %v, free was %v, now %v", at, free, now)
			}
			if gap := at.Sub(last); !last.IsZero() && gap < time.Duration(float64(time.Second)/rate) {
				t.Fatalf("%v between two slots at %v a second", gap, rate)
			}
			last = at
		}
	})
}

// uplink is a link of some pages a second that all hosts share.
type uplink struct{ rate, work, at float64 }

func (l *uplink) serve(t float64, r *rand.Rand) (wait float64) {
	l.work = max(0, l.work-(t-l.at)*l.rate)
	l.at = t
	wait = l.work / l.rate
	l.work += r.ExpFloat64()
	return wait + 1/l.rate
}

type linkHost struct {
	s      State
	w      Window
	median float64
	at     time.Time // next start, or the end of what is in flight
	flight *Outcome
}

type linkHeap []*linkHost

func (h linkHeap) Len() int           { return len(h) }
func (h linkHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h linkHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *linkHeap) Push(x any)        { *h = append(*h, x.(*linkHost)) }
func (h *linkHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// share runs hosts over one link and gives the share of it that was used after 600 s, the 95th percentile of the
// wait for it, and timeouts per 1,000.
func share(g *Governor, hosts int, seconds float64, rate func(t float64) float64, seed uint64) (goodput, p95, timeouts float64) {
	r := rand.New(rand.NewPCG(seed, 2))
	var flying, ready linkHeap
	for range hosts {
		heap.Push(&ready, &linkHost{median: 0.04 + 0.16*r.Float64(), at: noon.Add(time.Duration(r.Float64() * 2e9))})
	}
	link := uplink{rate: 40}
	var starts, late, all int
	var waits []float64
	clock := noon
	for {
		var now time.Time
		start := false
		if len(ready) > 0 {
			now, start = ready[0].at, true
			if clock.After(now) {
				now = clock // it has waited for its slot
			}
			if len(flying) > 0 && flying[0].at.Before(now) {
				now, start = flying[0].at, false
			} else if free := g.Free(now); free.After(now) {
				now = free
				if len(flying) > 0 && flying[0].at.Before(now) {
					now, start = flying[0].at, false
				}
			}
		} else {
			now = flying[0].at
		}
		clock = now
		t := now.Sub(noon).Seconds()
		if t > seconds {
			break
		}
		if start {
			h := heap.Pop(&ready).(*linkHost)
			g.Claim(now)
			link.rate = rate(t)
			wait := link.serve(t, r)
			o := &Outcome{Start: now, Kind: Success, Status: 200}
			total := lognormal(r, h.median, 0.3) + wait
			all++
			if t > 600 {
				starts++
				waits = append(waits, wait)
			}
			if total > 10 {
				total, o.Kind, o.Status = 10, HeadTimeout, 0
				late++
			}
			o.End = now.Add(time.Duration(total * 1e9))
			if o.Kind == Success {
				o.TTFB = o.End.Sub(o.Start)
			}
			h.flight, h.at = o, o.End
			heap.Push(&flying, h)
			continue
		}
		h := heap.Pop(&flying).(*linkHost)
		o := h.flight
		o.Shared = g.Observe(now, uint64(h.median*1e12), o.Kind, o.TTFB, h.s.Baseline())
		h.at = h.s.Observe(standard, &h.w, *o).Next
		heap.Push(&ready, h)
	}
	slices.Sort(waits)
	return float64(starts) / (seconds - 600) / 40, waits[len(waits)*95/100], 1000 * float64(late) / float64(all)
}

// TestSharedUplink: 400 hosts that want 800 pages a second over a link of 40, which is halved for ten minutes. Without a governor the
// link stands full and requests time out; with one, of a known or of an unknown capacity, hardly any does.
func TestSharedUplink(t *testing.T) {
	halved := func(t float64) float64 {
		if t >= 1800 && t < 2400 {
			return 20
		}
		return 40
	}
	for _, tt := range []struct {
		name                 string
		g                    *Governor
		goodput, p95, timely float64
	}{
		{"configured 34", NewGovernor(34, false), 0.5, 0.5, 2},
		{"unknown capacity", NewGovernor(0, false), 0.5, 0.5, 2},
	} {
		goodput, p95, timeouts := share(tt.g, 400, 3600, halved, 1)
		t.Logf("%s: %.0f %% of the full link used, wait p95 %.2f s, %.1f timeouts per 1,000", tt.name, 100*goodput, p95, timeouts)
		if goodput < tt.goodput || p95 > tt.p95 || timeouts > tt.timely {
			t.Errorf("%s: want at least %.2f, at most %.2f s and %.0f", tt.name, tt.goodput, tt.p95, tt.timely)
		}
	}
	if _, _, timeouts := share(NewGovernor(0, true), 400, 1200, halved, 1); timeouts < 20 {
		t.Errorf("without a governor only %.1f timeouts per 1,000: the link is not short, and the test shows nothing", timeouts)
	}
}
