package ratectl

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// answer is what a plant gives for one request.
type answer struct {
	latency    float64 // seconds to the first byte, or to the failure
	kind       Kind
	status     int
	retryAfter int // seconds, 0 none
	header     http.Header
}

// plant is a simulated host. t is the start of a request in seconds.
type plant interface {
	serve(t float64, r *rand.Rand) answer
	// overload is for how many seconds the plant was overloaded so far.
	overload() float64
}

func lognormal(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

func ok(latency float64) answer { return answer{latency: latency, kind: Success, status: 200} }

// healthy bears whatever comes.
type healthy struct{ median, sigma float64 }

func (p *healthy) serve(_ float64, r *rand.Rand) answer { return ok(lognormal(r, p.median, p.sigma)) }
func (p *healthy) overload() float64                    { return 0 }

// bucket is a limiter: rate tokens a second, at most size of them; 429 when there is none.
type bucket struct {
	rate, size float64
	retryAfter int
	punish     float64 // what a refused request costs
	advertise  http.Header
	tokens, at float64
	begun      bool
}

func (p *bucket) serve(t float64, r *rand.Rand) answer {
	if !p.begun {
		p.tokens, p.begun = p.size, true
	}
	p.tokens = min(p.size, p.tokens+(t-p.at)*p.rate)
	p.at = t
	if p.tokens < 1 {
		p.tokens = max(p.tokens-p.punish, -5)
		return answer{latency: lognormal(r, 0.01, 0.3), kind: Limited, status: 429, retryAfter: p.retryAfter, header: p.advertise}
	}
	p.tokens--
	a := ok(lognormal(r, 0.08, 0.3))
	a.header = p.advertise
	return a
}
func (p *bucket) overload() float64 { return 0 }

// queue serves one request after the other, its other users' among them (M/G/1 with a bound at which it sheds).
type queue struct {
	arrivals, each    float64 // background requests a second, and the mean work of one
	own, shed         float64
	hits              float64                 // share of own requests that a cache answers
	speed             func(t float64) float64 // 1 when nil
	work, at, next    float64
	overloaded, since float64
}

func (p *queue) pace(t float64) float64 {
	if p.speed == nil {
		return 1
	}
	return p.speed(t)
}

// drain lets time pass in which nothing arrives.
func (p *queue) drain(to float64) {
	v := p.pace(p.at)
	bound := 0.67 * p.shed * v
	if p.work > bound {
		p.overloaded += min(to-p.at, (p.work-bound)/v)
	}
	p.work = max(0, p.work-(to-p.at)*v)
	p.at = to
}

func (p *queue) serve(t float64, r *rand.Rand) answer {
	for p.next <= t {
		p.drain(max(p.next, p.at))
		if p.work/p.pace(p.at) < p.shed {
			p.work += r.ExpFloat64() * p.each
		}
		p.next += r.ExpFloat64() / p.arrivals
	}
	p.drain(t)
	if p.hits > 0 && r.Float64() < p.hits {
		return ok(lognormal(r, 0.01, 0.3))
	}
	if v := p.pace(t); p.work/v > p.shed {
		if r.Float64() < 0.7 {
			return answer{latency: 0.02 + 0.1*r.Float64(), kind: Unavailable, status: 503}
		}
		return answer{latency: 10, kind: HeadTimeout}
	}
	p.work += p.own * (0.6 + 0.8*r.Float64())
	return ok(0.03 + p.work/p.pace(t))
}
func (p *queue) overload() float64 { return p.overloaded }

// outcome counts what a run gave.
type tally struct {
	requests, good, objections int
	floorBroken, earlyStarts   int
	rate, overloadPerHour      float64
	state                      State
	settled                    float64 // first instant at the floor
	times                      []float64
	objected                   []float64
	ivs                        []float64
}

func (c tally) per1000() float64 { return 1000 * float64(c.objections) / float64(max(c.requests, 1)) }

// drive runs the controller against a plant for some seconds, one request in flight.
func drive(cfg Config, s State, p plant, seconds float64, seed uint64) tally {
	r := rand.New(rand.NewPCG(seed, 1))
	epoch := time.Unix(1_800_000_000, 0)
	at := func(t float64) time.Time { return epoch.Add(time.Duration(t * float64(time.Second))) }
	var c tally
	var w Window
	t, last, free := 0.0, math.Inf(-1), math.Inf(-1)
	for t < seconds {
		if t-last < cfg.Floor.Seconds()-1e-6 {
			c.floorBroken++
		}
		if t < free-1e-6 {
			c.earlyStarts++
		}
		a := p.serve(t, r)
		if a.kind == Success && a.latency > 10 {
			a = answer{latency: 10, kind: HeadTimeout}
		}
		o := Outcome{Start: at(t), End: at(t + a.latency), Kind: a.kind, Status: a.status, Header: a.header}
		if a.retryAfter > 0 {
			o.Header = http.Header{"Retry-After": {strconv.Itoa(a.retryAfter)}}
			free = t + a.latency + float64(a.retryAfter)
		}
		if a.status != 0 {
			o.TTFB = o.End.Sub(o.Start)
		}
		d := s.Observe(cfg, &w, o)
		c.requests++
		c.times = append(c.times, t)
		c.ivs = append(c.ivs, d.Interval.Seconds())
		if a.kind == Success {
			c.good++
		} else if a.kind != ServerError {
			c.objections++
			c.objected = append(c.objected, t)
		}
		if c.settled == 0 && d.Interval <= cfg.Floor {
			c.settled = t
		}
		last, t = t, d.Next.Sub(epoch).Seconds()
	}
	c.rate = float64(c.good) / seconds
	c.overloadPerHour = p.overload() / seconds * 3600
	c.state = s
	return c
}

var standard = Config{Floor: 500 * time.Millisecond, Ceiling: 30 * time.Second}

func TestScratchBasic(t *testing.T) {
	c := drive(standard, State{}, &healthy{0.06, 0.3}, 7200, 1)
	t.Logf("a rate %.3f obj %.2f settled %.0f", c.rate, c.per1000(), c.settled)
}
