package ratectl

import (
	"math"
	"time"
)

const (
	// startInterval is the pace of a host that is met for the first time.
	startInterval = time.Second
	// startDwell is how long an interval is held before the next step while the host has never objected.
	startDwell = 8 * time.Second
	// defaultCeiling holds for a Config without one.
	defaultCeiling = 30 * time.Second
	// leastBase is the shortest interval that backing off starts from: doubling nothing would be nothing.
	leastBase = 25 * time.Millisecond
	// leastPrice keeps the price a divisor.
	leastPrice = time.Microsecond
	// day and baselineLife age a state that was put away.
	day          = 24 * time.Hour
	baselineLife = 7 * day
)

// memory says what kind of objection the host is remembered for; it decides how long the memory lasts.
type memory uint8

const (
	memNone    memory = iota
	memLimiter        // 429: a limit that is there tomorrow
	memLoad           // 503 and latency: passes
	memFailure        // resets and timeouts: no latency warns of them, so only the memory does
	memBlock          // a run of 403: costs most
)

// State is what the controller remembers of a host: at most 200 bytes persisted.
// The zero State is a host never met; Window is pooled and may be nil at any time.
//
// Instants are nanoseconds of Unix time, 0 for never. An instant in the future can only come from a clock that was set
// back, and is brought back to now before it is used.
type State struct {
	// interval is what inference and compliance hold. What is in force is this, between the authoritative floor and
	// the ceiling: an authoritative floor that goes away leaves no trace in it.
	interval time.Duration
	// safe is the longest held interval that was not objected to; recovery goes back to it quickly.
	safe time.Duration
	// threshold is the interval at which the host last objected.
	threshold time.Duration
	// spacing is the estimate of a limiter's mean spacing, 0 when there is none.
	spacing time.Duration
	// dwell is how long an interval is held before the next is tried. It grows with each objection and is the memory
	// that keeps the loop from objecting again and again.
	dwell time.Duration

	crawlDelay time.Duration
	quota      time.Duration // pace from the rate limit fields
	quotaUntil int64

	// notBefore is when the server wants the next request at the earliest, asked when it said so.
	notBefore, asked int64

	objected int64         // the last objection
	rested   time.Duration // the pause that it asked for
	since    int64         // the interval is unchanged since
	updated  int64         // the last look at the window
	failed   int64         // the last failure that was counted
	flagged  int64         // the last time that the share of 500s acted
	met      int64         // the last outcome

	// busy is the mean time from start to response end, well the same over successes only, priced the mean that Price shows.
	busy, well, priced time.Duration

	base, high float32 // baseline: low and high quantile of the first-byte time, seconds; 0 unknown
	tail       float32 // usual share of first-byte times far above high
	noise      float32 // standard deviation of the logarithm of the first-byte time
	broken     float32 // long-run share of 500s
	denied     float32 // long-run share of 403s that stood between successes
	failures   float32 // weight of the recent failures

	accepted  uint32 // successes since the last objection
	samples   uint8  // successes since the last look at the window
	forbidden uint8  // 403s in a row
	blocks    uint8  // blocks within a day
	memory    memory
	cause     cause
	waitCause cause
	begun     bool
	probing   bool // the interval is a trial, below safe
}

// limits are the bounds that hold for a host: lo is the floor, the configured and the authoritative one; hi the
// effective ceiling. Inference is off for an own host.
type limits struct {
	lo, hi time.Duration
	own    bool
}

func (s *State) limits(cfg Config) limits {
	lo := max(cfg.Floor, s.crawlDelay, s.quota, 0)
	hi := cfg.Ceiling
	if hi <= 0 {
		hi = defaultCeiling
	}
	return limits{lo: lo, hi: max(hi, lo), own: cfg.Floor <= 0}
}

// inForce is the interval that holds.
func (s *State) inForce(cfg Config) time.Duration {
	l := s.limits(cfg)
	if !s.begun {
		return start(cfg, l)
	}
	return min(max(s.interval, l.lo), l.hi)
}

func start(cfg Config, l limits) time.Duration {
	if l.own {
		return l.lo
	}
	return min(max(startInterval, l.lo), l.hi)
}

// begin makes a host that is met for the first time.
func (s *State) begin(cfg Config, now int64) {
	if s.begun {
		return
	}
	s.interval = 0
	if cfg.Floor > 0 {
		s.interval = max(startInterval, cfg.Floor)
	}
	s.safe, s.dwell, s.cause = s.interval, startDwell, causeStart
	s.since, s.updated = now, now
	s.begun = true
}

// SetCrawlDelay sets the authoritative floor that robots.txt gave (0: none). A pace key's is the largest of its origins'.
// It is never clipped: the effective ceiling goes up with it.
func (s *State) SetCrawlDelay(_ Config, d time.Duration) {
	s.crawlDelay = min(max(d, 0), maxSpan)
}

// Interval is the interval in force and its cause.
func (s *State) Interval(cfg Config) (time.Duration, Cause) {
	v, l := s.inForce(cfg), s.limits(cfg)
	switch {
	case v > l.lo:
	case s.crawlDelay == l.lo && l.lo > 0 && l.lo > cfg.Floor:
		return v, CauseCrawlDelay
	case s.quota == l.lo && l.lo > 0 && l.lo > cfg.Floor:
		return v, CauseRateLimit
	default:
		return v, CauseFloor
	}
	if !s.begun {
		return v, CauseStart
	}
	return v, s.cause.word()
}

// NotBefore is the moment before which the server wants no request; zero when none. It may have passed.
func (s *State) NotBefore() time.Time {
	if s.notBefore == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.notBefore)
}

// Price is the cost of one slot: max(interval, mean time from start to response end). Everything that plans reads it here.
// The mean is republished only when it has moved by an eighth, so that a price stays until it matters; a price is
// never 0 (one microsecond for an own host that was never asked), so it can be divided by.
func (s *State) Price(cfg Config) time.Duration {
	return max(s.inForce(cfg), s.priced, leastPrice)
}

// Baseline is the host's usual time to the first byte, 0 when it is not known yet: what Governor.Observe wants.
func (s *State) Baseline() time.Duration {
	return time.Duration(float64(s.base) * float64(time.Second))
}

// Loaded ages a State that was persisted, to now: times in the future are clamped, and what was learned fades. The
// crawl goes on at an interval that is known to be good; a trial that was under way is undone. A not-before is kept
// for up to 24 h after it was received, exactly; what the server asked for beyond that is asked again by trying.
func (s *State) Loaded(cfg Config, now time.Time) {
	if !s.begun {
		return
	}
	t := nanos(now)
	s.repair(t)
	idle := time.Duration(t - s.met)
	if s.notBefore > s.asked+int64(day) {
		s.notBefore = s.asked + int64(day)
	}
	s.expire(t)
	for n := idle / day; n > 0 && n < 64; n-- {
		s.dwell = max(s.dwell/2, startDwell)
		s.threshold = scale(s.threshold, 0.7)
	}
	if idle > baselineLife {
		s.base, s.high = 0, 0
	}
	held := max(s.interval, s.safe)
	if cfg.Floor <= 0 && s.memory == memNone {
		held, s.safe = 0, 0 // inference was on when they were found, and is off now
	}
	s.settle(held, t)
	s.failures, s.samples, s.updated = 0, 0, t
}

// expire lets go of what has passed.
func (s *State) expire(now int64) {
	if s.notBefore <= now {
		s.notBefore, s.asked, s.waitCause = 0, 0, causeStart
	}
	if s.quotaUntil <= now {
		s.quota, s.quotaUntil = 0, 0
	}
}

// repair brings instants in the future back to now; a pause keeps its length.
func (s *State) repair(now int64) {
	if s.asked > now {
		s.notBefore -= s.asked - now
		s.asked = now
	}
	s.quotaUntil = min(s.quotaUntil, now+int64(day))
	s.objected = min(s.objected, now)
	s.since = min(s.since, now)
	s.updated = min(s.updated, now)
	s.failed = min(s.failed, now)
	s.flagged = min(s.flagged, now)
	s.met = min(s.met, now)
}

// hold sets a not-before; an earlier one that reaches further stays.
func (s *State) hold(now int64, d time.Duration, why cause) {
	until := now + int64(min(d, maxSpan))
	if d > 0 && until > s.notBefore {
		s.notBefore, s.asked, s.waitCause = until, now, why
	}
}

// settle takes an interval that is not a trial.
func (s *State) settle(interval time.Duration, now int64) {
	s.set(interval, now)
	s.probing = false
}

func (s *State) set(interval time.Duration, now int64) {
	if interval != s.interval {
		s.interval, s.since = interval, now
	}
}

// spent takes in how long an exchange kept the host.
func (s *State) spent(d time.Duration, success bool) {
	d = min(max(d, 0), day)
	s.busy = smooth(s.busy, d)
	if success {
		s.well = smooth(s.well, d)
	}
	if off := s.busy - s.priced; off > s.priced/8 || -off > s.priced/8 {
		s.priced = s.busy
	}
}

// smooth is an exponential mean over about eight values; the first one counts whole.
func smooth(mean, d time.Duration) time.Duration {
	if mean == 0 {
		return d
	}
	return mean + (d-mean)/8
}

// scale multiplies within the bounds of what a duration may be here.
func scale(d time.Duration, f float64) time.Duration {
	return time.Duration(min(float64(d)*f, float64(maxSpan)))
}

// nanos is Unix time, within 1970 to 2116, so that the difference of two always fits.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s <= 0:
		return 1
	case s >= 1<<62/int64(time.Second):
		return 1 << 62
	}
	return t.UnixNano()
}

func logRatio(a, b float32) float64 {
	return math.Log(float64(a) / float64(b))
}
