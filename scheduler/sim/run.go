package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Result is what one run gave. The JSON names are a contract: fields are added, never renamed.
type Result struct {
	Plant      string `json:"plant"`
	Controller string `json:"controller"`
	Seed       uint64 `json:"seed"`
	// Throughput is pages (200) per second over the oracle's, in percent.
	Throughput float64 `json:"throughput_pct"`
	// Objections are 429, 503, blocks, timeouts and resets, per 1,000 requests.
	Objections float64 `json:"objections_per_1000"`
	// Overload is for how many seconds in an hour the plant was overloaded, with what its other users cause.
	Overload float64 `json:"overload_s_per_hour"`
	// FloorViolations counts starts less than 0.5 s after the one before.
	FloorViolations int `json:"floor_violations"`
	// RetryAfterViolations counts starts before the end of a response and its Retry-After.
	RetryAfterViolations int `json:"retry_after_violations"`
	// Settle is after how many seconds the pages of a minute first reach 80 % of the oracle; on d counted from the moment
	// when the host is fast again, against the fast phase's. The rest of the run when they never do.
	Settle float64 `json:"settle_s"`
	// CV is the standard deviation of the interval over its mean, in the second half.
	CV float64 `json:"interval_cv"`

	// Requests is how many there were, PerSecond how many pages a second, Oracle how many would have been right.
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"pages_per_s"`
	Oracle    float64 `json:"oracle_per_s"`
	// Objected is how many objections there were.
	Objected int `json:"objections"`
	// Background is the part of Overload that is there without us.
	Background float64 `json:"background_overload_s_per_hour"`
	// SettleDown is, on d, after how many seconds from the slowdown two minutes without an objection begin; else 0.
	SettleDown float64 `json:"settle_down_s"`
	// AtFloor is after how many seconds the interval first was the floor; the run's length when it never was.
	AtFloor float64 `json:"at_floor_s"`
	// Start says what the controller knew: "new", "cold" or "kept" (the restart study).
	Start string `json:"start"`
}

// Step is one request of a run. Instants count from the run's beginning.
type Step struct {
	At, End time.Duration
	Status  int // 0: none
	// Objection: the answer was one.
	Objection  bool
	RetryAfter time.Duration
	// Interval is in force after the answer, Next is the next start.
	Interval, Next time.Duration
	// Cause is Amble's word for what set the interval or the next start; empty for its peers.
	Cause string
}

// Outcome is what happened in a word: the status, "timeout" or "reset".
func (s Step) Outcome() string {
	switch {
	case s.Status != 0:
		return strconv.Itoa(s.Status)
	case s.End-s.At >= duration(requestTimeout):
		return "timeout"
	}
	return "reset"
}

// Job is a run to do.
type Job struct {
	Plant      Plant
	Controller Controller
	Seed       uint64
}

// Run does the run, and shows each request to see when that is not nil.
func (j Job) Run(see func(Step)) Result {
	r := stream(j.Seed)
	return j.measure(j.Controller.fresh(r), r, 0, j.Plant.Span, see)
}

// measure runs the controller against a new plant for a span; its clock begins at from.
func (j Job) measure(c controller, r *rand.Rand, from, span time.Duration, see func(Step)) Result {
	best := j.Plant.oracle.get()
	m := newMeter(j.Plant, best, span)
	drive(j.Plant.fresh(), c, r, from, span, func(s Step, overload float64) {
		m.add(s, overload)
		if see != nil {
			see(s)
		}
	})
	res := m.result()
	res.Plant, res.Controller, res.Seed, res.Start = j.Plant.Name, j.Controller.Name, j.Seed, "new"
	return res
}

// drive is the loop: one request in flight, the next start is the later of the response's end and what the controller
// says. The plant's time begins at 0, the controller's at from.
func drive(p plant, c controller, r *rand.Rand, from, span time.Duration, see func(Step, float64)) {
	for start := time.Duration(0); start < span; {
		a := settled(p.serve(start.Seconds(), r))
		end := start + max(duration(a.latency), 1)
		d := c.observe(outcome{start: from + start, end: from + end, answer: a})
		s := Step{
			At: start, End: end, Status: a.status, Objection: objects(a), RetryAfter: time.Duration(a.retryAfter) * time.Second,
			Interval: d.interval, Next: max(end, d.next-from), Cause: d.cause,
		}
		see(s, p.overload())
		start = s.Next
	}
}

// meter measures a run while it goes on.
type meter struct {
	plant Plant
	best  ideal
	span  time.Duration
	res   Result
	pages int

	last, held       time.Duration // the last start; no start before
	n, mean, squares float64       // of the intervals in the second half (Welford)
	recent           []time.Duration
	settled, atFloor bool
	quiet            time.Duration // two minutes without an objection begin here
	overload         float64
}

const (
	settleWindow = time.Minute
	settleShare  = 0.8
	quietSpan    = 2 * time.Minute
)

func newMeter(p Plant, best ideal, span time.Duration) *meter {
	m := &meter{plant: p, best: best, span: span, last: -time.Hour}
	m.res.Settle, m.res.AtFloor = span.Seconds(), span.Seconds()
	if p.step != nil {
		m.res.Settle, m.quiet = (span - p.step.up).Seconds(), p.step.down
	}
	return m
}

func (m *meter) add(s Step, overload float64) {
	m.res.Requests++
	m.overload = overload
	if s.At-m.last < floor {
		m.res.FloorViolations++
	}
	if s.At < m.held {
		m.res.RetryAfterViolations++
	}
	m.last = s.At
	if s.RetryAfter > 0 {
		m.held = max(m.held, s.End+s.RetryAfter)
	}
	if s.Objection {
		m.res.Objected++
		if p := m.plant.step; p != nil && s.At >= p.down && s.At < m.quiet+quietSpan && s.At < p.up {
			m.quiet = s.End
		}
	}
	if s.Status == 200 {
		m.pages++
		m.page(s.End)
	}
	if !m.atFloor && s.Interval <= floor {
		m.atFloor, m.res.AtFloor = true, s.End.Seconds()
	}
	if s.At >= m.span/2 {
		x := s.Interval.Seconds()
		m.n++
		d := x - m.mean
		m.mean += d / m.n
		m.squares += d * (x - m.mean)
	}
}

// page takes a page in that ended at an instant.
func (m *meter) page(end time.Duration) {
	if m.settled {
		return
	}
	m.recent = append(m.recent, end)
	for m.recent[0] <= end-settleWindow {
		m.recent = m.recent[1:]
	}
	var from time.Duration
	rate := m.best.rate
	if p := m.plant.step; p != nil {
		from, rate = p.up, m.best.fast
	}
	if end >= from && float64(len(m.recent)) >= settleShare*rate*settleWindow.Seconds() {
		m.settled, m.res.Settle = true, (end - from).Seconds()
	}
}

func (m *meter) result() Result {
	res := m.res
	span := m.span.Seconds()
	rate := float64(m.pages) / span
	res.PerSecond = rounded(rate, 4)
	res.Oracle = rounded(m.best.rate, 4)
	if m.best.rate > 0 {
		res.Throughput = rounded(100*rate/m.best.rate, 2)
	}
	res.Objections = rounded(1000*float64(res.Objected)/float64(max(res.Requests, 1)), 3)
	res.Overload = rounded(m.overload*3600/span, 1)
	res.Background = rounded(m.best.background, 1)
	res.Settle, res.AtFloor = rounded(res.Settle, 1), rounded(res.AtFloor, 1)
	if p := m.plant.step; p != nil {
		res.SettleDown = rounded((m.quiet - p.down).Seconds(), 1)
	}
	if m.mean > 0 {
		res.CV = rounded(math.Sqrt(m.squares/m.n)/m.mean, 3)
	}
	return res
}

// rounded to decimal digits, so that what is printed is what was measured and no more.
func rounded(v float64, digits int) float64 {
	p := math.Pow(10, float64(digits))
	return math.Round(v*p) / p
}
