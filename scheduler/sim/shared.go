package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"amble/ratectl"
)

// Shared is a crawl of many healthy hosts over one link that all of them share.
type Shared struct {
	Hosts int
	// Rate is the global limit in starts a second, 0 for none: then Amble's governor finds the capacity itself, and peers
	// have no limit at all. Amble's governor treats it as an upper bound, for peers it is static.
	Rate float64
	// Halved: the link loses half of its capacity from 1,800 to 2,400 s.
	Halved     bool
	Controller Controller
	Seed       uint64
}

// SharedResult is what such a run gave. Throughput is the goodput: starts a second over the link's capacity, in percent.
type SharedResult struct {
	Result
	Hosts  int     `json:"hosts"`
	Rate   float64 `json:"rate"`
	Halved bool    `json:"halved"`
	// QueueP50 and QueueP95 are quantiles of the wait for the link, in seconds, while goodput is measured.
	QueueP50 float64 `json:"queue_p50_s"`
	QueueP95 float64 `json:"queue_p95_s"`
	// Timeouts per 1,000 requests, over the whole run.
	Timeouts float64 `json:"timeouts_per_1000"`
	// Recovery is how many seconds after the link is whole again a mean over 30 s is back at 80 % of the goodput before it
	// was halved; the rest of the run when it is not, 0 when nothing was halved.
	Recovery float64 `json:"recovery_s"`
}

const (
	linkRate       = 40.0 // pages a second
	sharedSpan     = time.Hour
	sharedFrom     = 600 * time.Second // goodput is measured from here
	halvedFrom     = 1800 * time.Second
	halvedTo       = 2400 * time.Second
	firstContacts  = 2.0 // seconds
	recoveryWindow = 30 * time.Second
	recoveryShare  = 0.8
)

// link is work in pages, drained at its rate.
type link struct {
	work   float64
	at     time.Duration
	halved bool
}

func (l *link) rate(t time.Duration) float64 {
	if l.halved && t >= halvedFrom && t < halvedTo {
		return linkRate / 2
	}
	return linkRate
}

// wait lets time pass, and gives how long a page that comes now waits, in seconds.
func (l *link) wait(t time.Duration) float64 {
	for l.at < t {
		end := t
		for _, change := range [2]time.Duration{halvedFrom, halvedTo} {
			if l.at < change && change < end {
				end = change
			}
		}
		l.work = max(0, l.work-(end-l.at).Seconds()*l.rate(l.at))
		l.at = end
	}
	return l.work / l.rate(t)
}

// slots is the global limit.
type slots interface {
	free(now time.Duration) time.Duration
	claim(now time.Duration)
	// observe tells of an outcome; it answers whether the moment is attributed to what is shared.
	observe(now time.Duration, host int, o outcome, baseline time.Duration) bool
}

// governed is Amble's own.
type governed struct{ *ratectl.Governor }

func (g governed) free(now time.Duration) time.Duration { return g.Free(epoch.Add(now)).Sub(epoch) }
func (g governed) claim(now time.Duration)              { g.Claim(epoch.Add(now)) }
func (g governed) observe(now time.Duration, host int, o outcome, baseline time.Duration) bool {
	v := o.real()
	return g.Observe(epoch.Add(now), uint64(host), v.Kind, v.TTFB, baseline)
}

// static spaces the starts evenly, or not at all.
type static struct{ spacing, next time.Duration }

func (s *static) free(now time.Duration) time.Duration                    { return max(now, s.next) }
func (s *static) claim(now time.Duration)                                 { s.next = max(now, s.next) + s.spacing }
func (s *static) observe(time.Duration, int, outcome, time.Duration) bool { return false }

// member is one host of the crawl.
type member struct {
	median float64
	pace   controller
	// at is when the host may start, or when its response ends.
	at      time.Duration
	last    time.Duration // its last start, when it was asked before
	asked   bool
	pending outcome
	index   int
}

// queueOf orders hosts by time, and by number where the time is the same.
type queueOf []*member

func (q queueOf) Len() int { return len(q) }
func (q queueOf) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].index < q[j].index
}
func (q queueOf) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queueOf) Push(v any)   { *q = append(*q, v.(*member)) }
func (q *queueOf) Pop() any {
	n := len(*q) - 1
	v := (*q)[n]
	*q = (*q)[:n]
	return v
}

// Run does the run.
func (s Shared) Run() SharedResult {
	r := stream(s.Seed)
	limit := s.limit()
	l := &link{halved: s.Halved}
	ready, busy := s.members(r), queueOf{}
	heap.Init(&ready)
	m := sharedMeter{until: sharedSpan, halved: s.Halved}
	if s.Halved {
		m.until = halvedFrom
	}
	for now := time.Duration(0); now < sharedSpan; {
		startable := sharedSpan
		if len(ready) > 0 {
			startable = max(ready[0].at, limit.free(now))
		}
		if len(busy) > 0 && busy[0].at <= startable {
			h := heap.Pop(&busy).(*member)
			now = h.at
			h.end(now, limit)
			heap.Push(&ready, h)
			continue
		}
		if now = startable; now >= sharedSpan || limit.free(now) > now {
			continue // a tick of the governor has just moved the slot
		}
		limit.claim(now)
		h := heap.Pop(&ready).(*member)
		wait := l.wait(now)
		a := settled(page(lognormal(r, h.median, 0.3) + wait + 1/l.rate(now)))
		l.work += r.ExpFloat64()
		m.start(now, wait, a)
		if h.asked && now-h.last < floor {
			m.early++
		}
		h.last, h.asked = now, true
		h.pending = outcome{start: now, end: now + duration(a.latency), answer: a}
		h.at = h.pending.end
		heap.Push(&busy, h)
	}
	return s.result(&m)
}

// end takes a response in.
func (h *member) end(now time.Duration, limit slots) {
	var baseline time.Duration
	if a, ok := h.pace.(*amble); ok {
		baseline = a.state.Baseline()
	}
	h.pending.shared = limit.observe(now, h.index, h.pending, baseline)
	h.at = max(now, h.pace.observe(h.pending).next)
}

func (s Shared) limit() slots {
	switch {
	case s.Controller.Name == Amble:
		return governed{ratectl.NewGovernor(s.Rate, false)}
	case s.Rate > 0:
		return &static{spacing: duration(1 / s.Rate)}
	}
	return &static{}
}

func (s Shared) members(r *rand.Rand) queueOf {
	all := make(queueOf, s.Hosts)
	for i := range all {
		all[i] = &member{index: i, median: uniform(r, 0.04, 0.20), at: duration(uniform(r, 0, firstContacts)), pace: s.Controller.fresh(r)}
	}
	return all
}

// sharedMeter measures a run while it goes on.
type sharedMeter struct {
	until              time.Duration
	halved             bool
	requests, timeouts int
	early              int // starts under the floor
	starts             int // while goodput is measured
	waits              []float64
	recent             []time.Duration
	recovered          time.Duration
}

func (m *sharedMeter) start(now time.Duration, wait float64, a answer) {
	m.requests++
	if a.status == 0 {
		m.timeouts++
	}
	if now >= sharedFrom && now < m.until {
		m.starts++
		m.waits = append(m.waits, wait)
	}
	if !m.halved || m.recovered > 0 || now < halvedTo-recoveryWindow {
		return
	}
	m.recent = append(m.recent, now)
	for m.recent[0] <= now-recoveryWindow {
		m.recent = m.recent[1:]
	}
	before := float64(m.starts) / (m.until - sharedFrom).Seconds()
	if now >= halvedTo && float64(len(m.recent)) >= recoveryShare*before*recoveryWindow.Seconds() {
		m.recovered = now
	}
}

func (s Shared) result(m *sharedMeter) SharedResult {
	v := SharedResult{Hosts: s.Hosts, Rate: s.Rate, Halved: s.Halved}
	span := (m.until - sharedFrom).Seconds()
	v.Plant, v.Controller, v.Seed, v.Start = "shared", s.Controller.Name, s.Seed, "new"
	v.PerSecond, v.Oracle = rounded(float64(m.starts)/span, 4), linkRate
	v.Throughput = rounded(100*float64(m.starts)/span/linkRate, 2)
	v.Requests, v.Objected = m.requests, m.timeouts
	v.Timeouts = rounded(1000*float64(m.timeouts)/float64(max(m.requests, 1)), 3)
	v.Objections, v.FloorViolations = v.Timeouts, m.early
	v.QueueP50, v.QueueP95 = rounded(quantile(m.waits, 0.5), 3), rounded(quantile(m.waits, 0.95), 3)
	if s.Halved {
		v.Recovery = (sharedSpan - halvedTo).Seconds()
		if m.recovered > 0 {
			v.Recovery = rounded((m.recovered - halvedTo).Seconds(), 1)
		}
	}
	return v
}
