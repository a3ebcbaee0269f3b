package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// The peers' controllers, reduced to what decides the pace of one host with one request at a time. None but prose reads
// Retry-After.

// fixed waits from start to start.
type fixed struct{}

func (fixed) observe(o outcome) decision {
	return decision{next: o.start + time.Second, interval: time.Second}
}

// nutch waits after the end (fetcher.server.delay).
type nutch struct{}

func (nutch) observe(o outcome) decision { return after(o, 5*time.Second) }

// heritrix waits after the end, in proportion to the duration (delayFactor 5, minDelayMs 3000, maxDelayMs 30000).
type heritrix struct{}

func (heritrix) observe(o outcome) decision {
	return after(o, min(max(5*(o.end-o.start), 3*time.Second), 30*time.Second))
}

func after(o outcome, pause time.Duration) decision {
	return decision{next: o.end + pause, interval: o.end + pause - o.start}
}

// scrapy is AutoThrottle: the delay follows the latency, and only a 200 may lower it. What is waited is the delay times a
// random factor from .5 to 1.5 (RANDOMIZE_DOWNLOAD_DELAY).
type scrapy struct {
	delay float64 // seconds
	r     *rand.Rand
}

func (c *scrapy) observe(o outcome) decision {
	d := min(max(o.latency, (c.delay+o.latency)/2, floor.Seconds()), 60)
	if o.status == 200 || d > c.delay {
		c.delay = d
	}
	return decision{next: o.start + duration(c.delay*uniform(c.r, 0.5, 1.5)), interval: duration(c.delay)}
}

// zeno is a token bucket per host that a 429 or 403 empties for a while, and a 5xx slows.
type zeno struct {
	rate, tokens float64
	at           time.Duration // when tokens was right
	failures     int
}

const (
	zenoRate = 50.0
	zenoSize = 150.0
)

func newZeno() *zeno { return &zeno{rate: zenoRate, tokens: zenoSize} }

func (c *zeno) observe(o outcome) decision {
	c.refill(o.end)
	from := o.end
	switch {
	case o.status == 429, o.status == 403:
		c.failures++
		from += duration(min(30, 5*math.Pow(2, float64(c.failures-1))))
		c.tokens, c.at = 0, from
	case o.status >= 500:
		c.failures++
		c.rate = max(0.5, c.rate*math.Pow(0.5, float64(c.failures)))
	case o.status == 200:
		c.rate += 0.1 * (zenoRate - c.rate)
		c.failures = max(0, c.failures-1)
	}
	next := from
	if c.tokens < 1 {
		next += duration((1 - c.tokens) / c.rate)
	}
	c.refill(next)
	c.tokens--
	return decision{next: next, interval: next - o.start}
}

func (c *zeno) refill(now time.Duration) {
	if now > c.at {
		c.tokens = min(zenoSize, c.tokens+(now-c.at).Seconds()*c.rate)
		c.at = now
	}
}

// literal is the code sample of the specification, line by line. The baseline that it is handed is not defined there: here
// it is the 20th percentile of the last 100 first-byte times, refreshed with every tenth.
type literal struct {
	interval, threshold, baseline float64
	recent                        []float64
	n                             int
}

func newLiteral() *literal { return &literal{interval: firstInterval.Seconds(), threshold: 4} }

func (c *literal) observe(o outcome) decision {
	most, least := ceiling.Seconds(), floor.Seconds()
	switch {
	case o.status == 429 || o.status == 503:
		c.interval = min(most, 2*c.interval)
		c.threshold = c.interval
	case o.status >= 500 || c.baseline > 0 && o.latency > 3*c.baseline:
		c.interval = min(most, 1.5*c.interval)
	case c.interval > c.threshold:
		c.interval = max(least, 0.9*c.interval)
	default:
		c.interval = max(least, c.interval-0.05)
	}
	if o.status == 0 {
		return decision{next: o.start + duration(c.interval), interval: duration(c.interval)}
	}
	if len(c.recent) < 100 {
		c.recent = append(c.recent, o.latency)
	} else {
		c.recent[c.n%100] = o.latency
	}
	if c.n++; c.n%10 == 0 {
		c.baseline = quantile(slices.Clone(c.recent), 0.20)
	}
	return decision{next: o.start + duration(c.interval), interval: duration(c.interval)}
}

// prose is the text of the specification with the figures of its code: windows of ten answers; a low quantile against the
// smallest of forty windows, and the share of slow answers beside it; Retry-After is honoured, and the threshold
// is the interval that was objected to.
type prose struct {
	interval, threshold float64
	held                time.Duration // no start before
	window              []float64
	low, high           []float64 // 20th and 80th percentiles of the last windows
}

const (
	proseWindow  = 10
	proseHistory = 40
	proseRatio   = 3
	proseShare   = 0.3
)

func newProse() *prose { return &prose{interval: firstInterval.Seconds(), threshold: 4} }

func (c *prose) observe(o outcome) decision {
	most := ceiling.Seconds()
	switch {
	case o.status == 429 || o.status == 503:
		c.threshold = c.interval
		c.interval = min(most, 2*c.interval)
		c.held = max(c.held, o.end+time.Duration(o.retryAfter)*time.Second)
		c.window = c.window[:0]
	case o.status == 0:
		c.interval = min(most, 1.5*c.interval)
		c.window = c.window[:0]
	case o.status == 200:
		if c.window = append(c.window, o.latency); len(c.window) == proseWindow {
			c.judge()
			c.window = c.window[:0]
		}
	}
	return decision{next: max(o.start+duration(c.interval), c.held), interval: duration(c.interval)}
}

func (c *prose) judge() {
	c.low = lastOf(append(c.low, quantile(slices.Clone(c.window), 0.2)))
	c.high = lastOf(append(c.high, quantile(slices.Clone(c.window), 0.8)))
	base := slices.Min(c.low)
	slow := proseRatio * max(base, quantile(slices.Clone(c.high), 0.2))
	n := 0
	for _, v := range c.window {
		if v > slow {
			n++
		}
	}
	switch {
	case c.low[len(c.low)-1] > proseRatio*base || float64(n) > proseShare*proseWindow:
		c.interval = min(ceiling.Seconds(), 1.5*c.interval)
	case c.interval > c.threshold:
		c.interval = max(floor.Seconds(), 0.9*c.interval)
	default:
		c.interval = max(floor.Seconds(), c.interval-0.05)
	}
}

// lastOf keeps the history's length.
func lastOf(x []float64) []float64 {
	if len(x) > proseHistory {
		x = slices.Delete(x, 0, len(x)-proseHistory)
	}
	return x
}
