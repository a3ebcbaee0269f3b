package ratectl

import (
	"math/rand/v2"
	"testing"
	"time"
)

// tailed bears whatever comes, and a share of its pages is slow all the same, though faster than the floor.
type tailed struct {
	healthy
	share float64
}

func (p *tailed) serve(t float64, r *rand.Rand) answer {
	if r.Float64() < p.share {
		return ok(0.3 + 0.15*r.Float64())
	}
	return p.healthy.serve(t, r)
}

// TestHeavyTail: a tail that a host always had is no sign of load, and is known as such from the first windows on. The floor
// allows 2 requests a second.
func TestHeavyTail(t *testing.T) {
	for _, share := range []float64{0.05, 0.10, 0.15, 0.17} {
		rate := 0.0
		for seed := range uint64(20) {
			c := drive(standard, State{}, &tailed{healthy{0.06, 0.5}, share}, 1800, seed)
			rate += c.rate / 20
		}
		if rate < 1.8 {
			t.Errorf("%.0f %% of the pages slow: %.3f requests a second", 100*share, rate)
		}
	}
}

// TestUsualTail: the first windows settle what is usual; later ones move it little.
func TestUsualTail(t *testing.T) {
	var s State
	var w Window
	learn := func(n int, share float32) {
		for range n {
			s.learn(&w, verdict{low: 0.05, high: 0.1, share: share})
		}
	}
	learn(1, 0)
	if s.tail != firstTail {
		t.Errorf("before anything could be measured: %v", s.tail)
	}
	learn(4, 0.25)
	if s.tail < 0.2 || s.tail > 0.25 {
		t.Errorf("after four windows with a quarter in the tail: %v", s.tail)
	}
	learn(100, 0.15)
	if s.tail < 0.14 || s.tail > 0.16 {
		t.Errorf("after a hundred more with .15: %v", s.tail)
	}
	learn(1, 1)
	if s.tail > 0.15+2*leastWeight {
		t.Errorf("one window moved it to %v", s.tail)
	}
}

// TestCacheBeforeQueue: the low quantile sees only the cache, so that it is the tail that must keep the origin from
// being overloaded. Asked at the floor it would be for over 1,000 s in an hour.
func TestCacheBeforeQueue(t *testing.T) {
	var overload, rate float64
	const seeds = 10
	for seed := range uint64(seeds) {
		c := drive(standard, State{}, &queue{arrivals: 82, each: 0.01, own: 0.3, shed: 1.5, hits: 0.7}, 7200, seed)
		overload += c.overloadPerHour / seeds
		rate += c.rate / seeds
	}
	if overload > 130 || rate < 1 {
		t.Errorf("overloaded for %.0f s in an hour at %.2f requests a second", overload, rate)
	}
}

// TestFasterHost: a host that objected under load and then answers faster than ever is believed sooner than one
// that answers as always.
func TestFasterHost(t *testing.T) {
	back := func(ttfb time.Duration) time.Duration {
		c := newTalk(t, standard)
		for range 200 {
			c.say(Success, 200, 100*time.Millisecond)
		}
		for range 3 { // three objections at three intervals
			c.say(Unavailable, 503, time.Millisecond)
			for range 30 {
				c.say(Success, 200, 100*time.Millisecond)
			}
		}
		c.say(Unavailable, 503, time.Millisecond)
		from := c.at
		for range 5000 {
			if d := c.say(Success, 200, ttfb); d.Interval == c.cfg.Floor {
				break
			}
		}
		return c.at.Sub(from)
	}
	same, faster := back(100*time.Millisecond), back(50*time.Millisecond)
	if faster > same/2 || faster > 150*time.Second {
		t.Errorf("back at the floor after %v when it answers as always, %v when it answers twice as fast", same, faster)
	}
}

// TestLoadRest: after signs of load the dwell does not fall back to where it was before them.
func TestLoadRest(t *testing.T) {
	s := State{begun: true, memory: memLoad, interval: time.Second, safe: time.Second, dwell: loadDwell}
	for range 20 {
		s.confirm(verdict{clean: true, known: true}, time.Second)
	}
	if s.dwell != loadRest {
		t.Errorf("dwell %v, want %v", s.dwell, loadRest)
	}
}
