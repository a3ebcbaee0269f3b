package ratectl

import (
	"math"
	"time"
)

const (
	// floorRatio is the rise of the low quantile over the baseline that is a sign of load, if noise does not explain it.
	floorRatio    = 1.6
	logFloorRatio = 0.4700036292
	// cleanRatio is up to where the low quantile is as it always was.
	cleanRatio = 1.3
	// floorRise is the least rise worth a reaction.
	floorRise = 20 * time.Millisecond
	// tailRatio over the baseline's high quantile makes an answer count as one of the tail.
	tailRatio = 2.0
	// quantileError is the standard error of the logarithm of a 20th percentile, in units of noise over the root of n.
	quantileError = 1.43

	leastDamping, mostDamping = 8, 40
	// leastPeriod and leastCool keep the loop slower than a host that answers to a change within 10 to 30 s.
	leastPeriod = 5 * time.Second
	leastCool   = 15 * time.Second

	// tailDeviations over the usual share make a tail a sign of load.
	tailDeviations = 2.6
	// fasterRatio of the history's median, fasterRun times in a row, is a host that has become faster.
	fasterRatio = 0.75
	fasterRun   = 3

	// firstTail is the share of the tail before it has been measured. It errs on the high side: a window that trips teaches
	// nothing, so a host whose own tail is taken for load would never be known better. leastTail is what is assumed
	// at least once the tail has been put to the test.
	firstTail, leastTail = 0.1, 0.02
	// leastWeight is what a quiet window counts for in the usual share of the tail; the first ones count more.
	leastWeight = 0.05

	// floorCut and tailCut are what the interval grows by on a sign of load.
	floorCut, tailCut = 1.5, 1.4

	// upwards is how much of a rise the baseline takes over with each quiet window.
	upwards = 0.2

	// loadRest is as far as the dwell falls again after signs of load.
	loadRest = time.Minute

	recoverFactor = 0.85
	probeStep     = 0.08
	boldStep      = 0.15
	leastStep     = 10 * time.Millisecond

	windowSize  = 64
	historySize = 30
)

// Window holds the samples of an active host. The zero Window is ready.
type Window struct {
	ttfb [windowSize]float32 // seconds; a ring
	n    uint32              // samples taken since the last look

	low, high [historySize]float32 // quantiles of the windows that were quiet; rings
	quiet     uint32               // how many there were

	cool   int64 // no second cut before this instant
	cuts   uint8 // cuts since the last quiet window
	idle   uint8 // how many of them changed nothing
	faster uint8 // windows in a row that were faster than the history
	byTail bool  // the last cut was for the tail
	excess float32
	before time.Duration // interval before the cuts
}

func (w *Window) add(ttfb time.Duration) {
	if w == nil {
		return
	}
	w.ttfb[w.n%windowSize] = float32(min(max(ttfb, 0), day).Seconds())
	w.n++
}

// clear drops the samples: they were taken at another pace.
func (w *Window) clear() {
	if w != nil {
		w.n, w.cuts, w.idle = 0, 0, 0
	}
}

// repair undoes a clock that was set back.
func (w *Window) repair(now int64) {
	if w != nil {
		w.cool = min(w.cool, now+int64(mostDamping*inferredCeiling))
	}
}

// verdict is what a window says.
type verdict struct {
	low, high    float32 // 20th and 85th percentile of the first-byte time, seconds
	share        float32 // of the tail
	n            int
	floor, tail  bool // signs of load
	clean, known bool // near the baseline; there was something to judge
}

// look judges the window and moves the interval by at most one step.
func (s *State) look(cfg Config, w *Window, now int64) {
	own := cfg.Floor <= 0
	v := verdict{clean: own}
	if w != nil && w.n > 0 && !own {
		v = s.judge(w)
		w.n = 0
	}
	if v.floor || v.tail {
		if now >= w.cool {
			s.cut(cfg, w, v, now)
		}
		return
	}
	if v.known {
		s.learn(w, v)
	}
	s.advance(cfg, v, now, own || v.known)
}

// judge compares the window with the baseline: the low quantile, which a slow page does not move and which rises when
// the host queues; and the share of answers in the tail, which shows that one of two populations is getting
// slower while the low quantile sees only the other (specification, 'Why the loop needs damping').
func (s *State) judge(w *Window) verdict {
	var buf [windowSize]float32
	v := verdict{n: int(min(w.n, windowSize)), known: true}
	x := buf[:v.n]
	copy(x, w.ttfb[:v.n])
	order(x)
	v.low, v.high = quantile(x, 0.20), quantile(x, 0.85)
	if v.low > 0 {
		sigma := float32(min(logRatio(quantile(x, 0.5), v.low)/0.84, 3))
		if s.noise == 0 {
			s.noise = sigma
		} else {
			s.noise += 0.2 * (sigma - s.noise)
		}
	}
	if s.base == 0 || s.high == 0 {
		v.clean = true
		return v
	}
	root := math.Sqrt(float64(v.n))
	bar := max(logFloorRatio, 2.7*quantileError*float64(s.noise)/root)
	v.floor = v.low > 0 && logRatio(v.low, s.base) > bar && v.low-s.base > float32(floorRise.Seconds())
	v.share = above(x, tailRatio*s.high)
	usual := float64(s.tail)
	deviation := math.Sqrt(usual * (1 - usual) / float64(v.n))
	v.tail = float64(v.share) > usual+tailDeviations*deviation+1/float64(v.n)
	v.clean = v.low < cleanRatio*s.base && float64(v.share) <= usual+deviation
	return v
}

// cut slows down for a sign of load. If two cuts in a row have not taken a quarter off the excess, it is not ours, and
// what is now becomes the baseline: the specification's 'What the controller cannot know', put to the test.
func (s *State) cut(cfg Config, w *Window, v verdict, now int64) {
	excess := v.share - s.tail
	if v.floor {
		excess = v.low - s.base
	}
	byTail := !v.floor
	switch {
	case w.cuts == 0:
		w.idle, w.before = 0, s.inForce(cfg)
	case byTail == w.byTail && excess > 0.75*w.excess:
		w.idle++
	default:
		w.idle = 0
	}
	if w.idle >= 2 {
		s.base, s.high, s.tail = v.low, max(v.high, 1.5*v.low), max(leastTail, above(w.ttfb[:v.n], tailRatio*max(v.high, 1.5*v.low)))
		w.remember(s.base, s.high, true)
		w.cuts, w.idle = 0, 0
		s.safe = min(s.safe, scale(w.before, margin))
		s.dwell = max(s.dwell, leastDwell)
		return
	}
	l, iv := s.limits(cfg), s.inForce(cfg)
	if s.probing {
		s.dwell = min(max(s.dwell*3/2, 30*time.Second), max(loadDwell, s.dwell))
	} else {
		s.safe = max(s.safe, min(inferredCeiling, scale(iv, 1.1)))
	}
	factor, why := floorCut, causeLatency
	if byTail {
		factor, why = tailCut, causeTail
	}
	if s.memory == memNone {
		s.memory = memLoad
	}
	bound := min(max(inferredCeiling, 2*s.threshold), l.hi)
	s.settle(max(iv, min(max(scale(iv, factor), s.safe), bound)), now)
	s.cause = why
	w.cuts++
	w.byTail, w.excess = byTail, excess
	w.cool = now + int64(max(leastCool, time.Duration(s.damping())*s.inForce(cfg)))
}

// learn takes a quiet window into the baseline: a low quantile of the windows' low quantiles, so that a
// baseline learned under load is left behind as soon as a quarter of the windows are faster.
func (s *State) learn(w *Window, v verdict) {
	w.cuts, w.idle = 0, 0
	if w.quiet == 0 && s.base > 0 {
		w.remember(s.base, s.high, true)
	}
	if s.base > 0 && v.low < fasterRatio*w.quantile(&w.low, 0.5) {
		w.faster++
		if w.faster >= fasterRun && s.memory == memLoad {
			s.dwell = min(s.dwell, startDwell)
			s.threshold = scale(s.threshold, 0.7)
		}
	} else {
		w.faster = 0
	}
	if s.base > 0 {
		s.tail += max(leastWeight, 1/float32(w.quiet+1)) * (v.share - s.tail)
	} else {
		s.tail = firstTail
	}
	w.remember(v.low, v.high, false)
	s.base = creep(s.base, w.quantile(&w.low, 0.25))
	s.high = creep(s.high, max(w.quantile(&w.high, 0.30), 1.5*s.base))
}

// creep follows down at once and up slowly: a load that grows in small steps must not become the baseline step by step.
// A host that stays slower is found out by cut, which takes the new baseline over whole.
func creep(from, to float32) float32 {
	if from == 0 || to < from {
		return to
	}
	return from + upwards*(to-from)
}

// remember adds a quiet window to the history, or begins it anew.
func (w *Window) remember(low, high float32, anew bool) {
	times := uint32(1)
	if anew {
		// A few copies, so that the next window alone does not move the baseline.
		w.quiet, times = 0, 4
	}
	for range times {
		w.low[w.quiet%historySize], w.high[w.quiet%historySize] = low, high
		w.quiet++
	}
}

func (w *Window) quantile(ring *[historySize]float32, q float64) float32 {
	buf := *ring
	x := buf[:min(w.quiet, historySize)]
	order(x)
	return quantile(x, q)
}

// advance moves towards a shorter interval: quickly back to what is known to be good; below that one small step, held
// for the dwell, and only then counted as good.
func (s *State) advance(cfg Config, v verdict, now int64, trusted bool) {
	l, iv := s.limits(cfg), s.inForce(cfg)
	switch {
	case s.interval > s.safe && iv > l.lo:
		s.set(max(s.safe, scale(s.interval, recoverFactor)), now)
		s.cause = causeRecover
		if s.interval == s.safe {
			s.cause = causeSteady
		}
	case time.Duration(now-s.since) < s.dwell:
		if !s.probing && s.cause != causeStart {
			s.cause = causeSteady
		}
	default:
		if s.probing {
			s.confirm(v, iv)
		}
		if iv > l.lo && trusted {
			s.probe(v, l, iv, now)
		}
	}
}

// confirm counts the trial interval as good.
func (s *State) confirm(v verdict, iv time.Duration) {
	s.probing = false
	s.safe = s.interval
	s.cause = causeSteady
	if s.spacing > iv && s.dwell >= spacingDwell {
		s.spacing = 0
	}
	switch {
	case s.memory == memLoad && v.clean:
		s.dwell = max(s.dwell/2, min(s.dwell, loadRest))
	case (s.memory == memLimiter || s.memory == memFailure) && iv < scale(s.threshold, 0.7):
		s.dwell = max(s.dwell/2, min(s.dwell, leastDwell))
	}
}

// probe tries the next shorter interval.
func (s *State) probe(v verdict, l limits, iv time.Duration, now int64) {
	step := probeStep
	if iv > 2*max(s.threshold, l.lo) && (s.memory == memNone || s.memory == memLoad) && v.clean {
		step = boldStep
	}
	s.set(max(iv-max(scale(iv, step), leastStep), l.lo), now)
	s.probing, s.cause = true, causeProbe
}

// damping is k: how many answers it takes to tell a rise of floorRatio from the noise of this host's latencies, at
// three standard errors of the low quantile.
func (s *State) damping() uint8 {
	x := 3 * quantileError * float64(s.noise) / logFloorRatio
	return uint8(min(max(math.Round(x*x), leastDamping), mostDamping))
}

// order sorts in place; the slices are short and nearly always the same length.
func order(x []float32) {
	for i := 1; i < len(x); i++ {
		v := x[i]
		j := i
		for ; j > 0 && x[j-1] > v; j-- {
			x[j] = x[j-1]
		}
		x[j] = v
	}
}

// quantile of sorted values, interpolated.
func quantile(x []float32, q float64) float32 {
	if len(x) == 0 {
		return 0
	}
	p := q * float64(len(x)-1)
	i := int(p)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + float32(p-float64(i))*(x[i+1]-x[i])
}

// above is the share of the values over a bound.
func above(x []float32, bound float32) float32 {
	if len(x) == 0 {
		return 0
	}
	n := 0
	for _, v := range x {
		if v > bound {
			n++
		}
	}
	return float32(n) / float32(len(x))
}
