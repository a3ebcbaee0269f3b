package ratectl

import (
	"math"
	"time"
)

const (
	// margin is how far above the interval of an objection the next one is held (measured: 4 % re-offends, 15 % idles).
	margin      = 1.08
	blockMargin = 1.5

	leastDwell   = 60 * time.Second // after any objection
	limiterDwell = 30 * time.Minute // longest, after a 429
	spacingDwell = 5 * time.Minute  // shortest, with an estimate of the limiter's spacing
	loadDwell    = 2 * time.Minute  // longest, after signs of load
	blockDwell   = 30 * time.Minute // shortest, after a block
	longestDwell = 6 * time.Hour

	// episode is how many successes it takes until an objection is a new one rather than the same one going on.
	episode = 3
	// spacingSample is how many successes between two objections give an estimate of the limiter's spacing, and
	// spacingGap how far apart they may be, the pause not counted.
	spacingSample = 10
	spacingGap    = 300 * time.Second

	// inferredCeiling is as far as inference goes by itself.
	inferredCeiling = 4 * time.Second

	// failureSpan is the time in which failures add up, failureLimit the weight that is an objection.
	failureSpan  = 60 * time.Second
	failureLimit = 2

	blockPause   = 10 * time.Minute // first, doubled with each block
	longestPause = 2 * time.Hour

	brokenRate  = 0.01 // smoothing of the share of 500s
	brokenShare = 0.25
	brokenSpan  = 60 * time.Second
	deniedRate  = 0.02 // smoothing of the share of 403s
)

// Observe takes one outcome in and decides the pace. It allocates nothing, unless the response carries RateLimit
// fields, which a library parses, or a date that is malformed.
//
// Authoritative signals come first and whole: Retry-After, 429, 503, rate limit fields. Inference follows, and only moves
// the interval between the bounds that they leave. The present is o.End.
func (s *State) Observe(cfg Config, w *Window, o Outcome) Decision {
	if o.End.Before(o.Start) {
		o.End = o.Start
	}
	now := nanos(o.End)
	s.begin(cfg, now)
	s.repair(now)
	w.repair(now)
	price := s.Price(cfg)
	s.expire(now)

	var d Decision
	var asked time.Duration
	if len(o.Header) > 0 {
		asked, d.Park = s.instructions(o, now)
	}
	s.spent(o.End.Sub(o.Start), o.Kind == Success)
	s.met = now
	inferring := cfg.Floor > 0
	switch o.Kind {
	case Limited:
		d.Objection = true
		s.object(cfg, w, now, memLimiter, causeLimited, asked)
	case Unavailable:
		d.Objection = true
		s.object(cfg, w, now, memLoad, causeLimited, asked)
	case Reset, ConnectTimeout:
		d.Objection = inferring && s.fail(cfg, w, o.Shared, now, 1)
	case HeadTimeout:
		d.Objection = inferring && s.fail(cfg, w, o.Shared, now, 0.5)
	case ServerError:
		d.Objection = inferring && s.serverError(cfg, w, o, now)
	case ClientError:
		d.Objection = inferring && s.clientError(cfg, w, o, now)
	case Success:
		s.success(cfg, w, o, now)
	}

	d.Interval, d.Cause = s.Interval(cfg)
	if o.Shared && !d.Objection && d.Interval > s.limits(cfg).lo {
		d.Cause = CauseShared // what this outcome would have said was not heard
	}
	d.Next = o.Start.Add(d.Interval)
	if o.End.After(d.Next) {
		d.Next = o.End
	}
	if s.notBefore > now {
		d.NotBefore = o.End.Add(time.Duration(s.notBefore - now))
		if d.NotBefore.After(d.Next) {
			d.Next, d.Cause = d.NotBefore, s.waitCause.word()
		}
	}
	d.Changed = s.Price(cfg) != price
	return d
}

// instructions obeys the head: Retry-After with any status, hence also with 3xx, where it is the least wait before the
// redirected request (RFC 9110 section 10.2.3), and the rate limit fields. It gives the pause asked for and whether
// that is too long to wait for.
func (s *State) instructions(o Outcome, now int64) (asked time.Duration, park bool) {
	asked, told := RetryAfter(o.Header, o.End)
	s.hold(now, asked, causeRetryAfter)
	q := rateLimit(o.Header, o.End)
	if !told {
		// Where both are given, Retry-After takes precedence (draft-ietf-httpapi-ratelimit-headers-11 section 7).
		s.hold(now, q.wait, causeRateLimit)
		asked = q.wait
	}
	if q.pace > 0 {
		s.quota, s.quotaUntil = q.pace, now+int64(q.life)
	}
	return asked, asked > day
}

// object backs off for a 429 (RFC 6585 section 4), a 503 (RFC 9110 section 15.6.4), a block, or failures: the interval doubles, the threshold remembers where, and the dwell keeps the memory.
func (s *State) object(cfg Config, w *Window, now int64, kind memory, why cause, asked time.Duration) {
	l := s.limits(cfg)
	// What the host objects to is the pace that it got, which a slow answer holds below the one in force.
	at := max(s.inForce(cfg), min(s.well, l.hi), leastBase)
	if s.objected == 0 || s.accepted >= episode {
		s.remember(now, kind, at)
	} else {
		s.safe = min(scale(s.safe, 1.15), l.hi)
		s.memory = max(s.memory, kind)
	}
	s.settle(min(max(2*at, s.safe, l.lo), l.hi), now)
	s.cause = why
	s.objected, s.rested, s.accepted = now, asked, 0
	s.failures, s.forbidden = 0, 0
	s.samples, s.updated = 0, now
	w.clear()
}

// remember takes in a new objection, at an interval.
func (s *State) remember(now int64, kind memory, at time.Duration) {
	s.blocksFade(now)
	if kind == memLimiter {
		if est, ok := s.estimate(now, at); ok {
			at, s.spacing = est, est
		}
	}
	s.threshold = at
	room := margin
	if kind == memBlock {
		room = blockMargin
	}
	if !s.probing || s.safe <= at {
		s.safe = max(s.safe, scale(at, room))
	}
	s.dwell = max(2*s.dwell, leastDwell)
	if kind == memLimiter && s.spacing > 0 && s.spacing < at*3/2 {
		s.safe = max(s.safe, scale(s.spacing, margin))
		s.dwell = max(s.dwell, spacingDwell)
	}
	switch kind {
	case memLimiter, memFailure:
		s.dwell = min(s.dwell, limiterDwell)
	case memLoad:
		s.dwell = min(s.dwell, loadDwell)
	case memBlock:
		s.dwell = min(max(s.dwell, blockDwell), longestDwell)
	}
	s.memory = kind
}

// estimate gives a limiter's mean spacing: its bucket was empty at the last objection and is empty now, so what it let
// through in between is what it fills by. The geometric mean of the spacing with and without the pause is used, since
// a bucket may or may not fill during it.
func (s *State) estimate(now int64, at time.Duration) (time.Duration, bool) {
	gap := time.Duration(now - s.objected)
	if s.objected == 0 || s.accepted < spacingSample || gap >= spacingGap+s.rested {
		return 0, false
	}
	n := float64(s.accepted)
	mean := math.Sqrt(float64(gap) / n * float64(max(gap-s.rested, 0)) / n)
	return max(at, min(4*at, time.Duration(mean))), true
}

// fail takes in a failure of a weight: a reset, an abort or a refused connection is 1, an answer that does not begin is
// half, since it may be the page. Two within the span are an objection, and so is one reset while a shorter interval is tried.
// It is the strongest of the inferred signals (specification, 'The signals'), and vetoed while it is a shared resource's.
func (s *State) fail(cfg Config, w *Window, shared bool, now int64, weight float32) bool {
	if shared {
		return false
	}
	if time.Duration(now-s.failed) > max(failureSpan, 4*s.inForce(cfg)) {
		s.failures = 0
	}
	s.failures += weight
	s.failed = now
	if s.failures >= failureLimit || s.probing && weight >= 1 {
		s.object(cfg, w, now, memFailure, causeFailures, 0)
		return true
	}
	factor := 1.25
	if weight >= 1 {
		factor = 1.5
		s.safe = min(scale(s.safe, 1.03), s.limits(cfg).hi)
	}
	s.raise(cfg, factor, inferredCeiling, now, causeFailures)
	return false
}

// raise slows down by inference, at most to a bound of inference's own.
func (s *State) raise(cfg Config, factor float64, bound time.Duration, now int64, why cause) {
	l, iv := s.limits(cfg), s.inForce(cfg)
	next := min(max(iv, min(scale(iv, factor), bound)), l.hi)
	if next > iv {
		s.settle(next, now)
		s.cause = why
	}
}

// serverError takes a 5xx other than 503 in. 502 and 504 (RFC 9110 sections 15.6.3 and 15.6.5) are a gateway's word that
// the origin failed. A 500 may as well be the page's or ours: only its long-run share counts.
func (s *State) serverError(cfg Config, w *Window, o Outcome, now int64) bool {
	switch o.Status {
	case 502:
		return s.fail(cfg, w, o.Shared, now, 1)
	case 504:
		return s.fail(cfg, w, o.Shared, now, 0.5)
	}
	s.broken += brokenRate * (1 - s.broken)
	if s.broken > brokenShare && time.Duration(now-s.flagged) >= brokenSpan {
		s.flagged = now
		s.raise(cfg, 1.5, inferredCeiling, now, causeFailures)
	}
	return false
}

// clientError takes a 4xx other than 429 in: never a sample of health, since errors are fast. A run of 403 after
// successes, or a challenge page, is a block.
func (s *State) clientError(cfg Config, w *Window, o Outcome, now int64) bool {
	if o.Status != 403 {
		return false
	}
	if s.forbidden < math.MaxUint8 {
		s.forbidden++
	}
	challenge := len(o.Header["Cf-Mitigated"]) > 0
	if s.well == 0 || !challenge && s.forbidden < s.blockRun() {
		return false
	}
	run := s.forbidden
	s.object(cfg, w, now, memBlock, causeBlocked, 0)
	s.forbidden = run
	s.hold(now, min(blockPause<<min(s.blocks, 8), longestPause), causeBlocked)
	if s.blocks < math.MaxUint8 {
		s.blocks++
	}
	return true
}

// blockRun is how many 403s in a row are a block: two on a host that has none, more where forbidden pages stand among
// the others, so that chance gives such a run in fewer than one of a thousand cases.
func (s *State) blockRun() uint8 {
	if s.denied < 0.03 {
		return 2
	}
	return uint8(min(max(math.Ceil(math.Log(0.001)/math.Log(float64(s.denied))), 2), 12))
}

func (s *State) blocksFade(now int64) {
	if time.Duration(now-s.objected) > day {
		s.blocks = 0
	}
}

// success takes an answer in: the only sample of health, and only of the first-byte time.
func (s *State) success(cfg Config, w *Window, o Outcome, now int64) {
	if s.accepted < math.MaxUint32 {
		s.accepted++
	}
	for ; s.forbidden > 0; s.forbidden-- {
		s.denied += deniedRate * (1 - s.denied)
	}
	s.denied -= deniedRate * s.denied
	s.broken -= brokenRate * s.broken
	if o.Shared {
		return
	}
	if s.samples < math.MaxUint8 {
		s.samples++
	}
	if cfg.Floor > 0 {
		w.add(o.TTFB)
	}
	if s.hurry(now) {
		return
	}
	if s.samples >= leastDamping && time.Duration(now-s.updated) >= leastPeriod && s.samples >= s.damping() {
		s.look(cfg, w, now)
		s.samples, s.updated = 0, now
	}
}

// hurry comes back from far above what is known to be good: with each answer, since at such a pace the
// damping's eight answers would take minutes. An objection doubles the interval faster than this shortens it.
func (s *State) hurry(now int64) bool {
	if s.interval <= 2*s.safe || s.accepted < episode {
		return false
	}
	s.set(max(2*s.safe, scale(s.interval, 0.7)), now)
	s.cause = causeRecover
	return true
}
