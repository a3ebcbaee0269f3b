package ratectl

import (
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
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

// resets aborts half of the requests while its recent load is over a bound; nothing warns of it.
type resets struct{ tau, bound, load, at, overloaded float64 }

func (p *resets) serve(t float64, r *rand.Rand) answer {
	since := t - p.at
	p.load *= math.Exp(-since / p.tau)
	p.at = t
	over := p.load > p.bound
	if over {
		p.overloaded += since
	}
	p.load += 1 / p.tau
	if over && r.Float64() < 0.5 {
		return answer{latency: 0.01, kind: Reset}
	}
	return ok(lognormal(r, 0.08, 0.3))
}
func (p *resets) overload() float64 { return p.overloaded }

// blocker forbids everything for a time to whoever asks more than 50 times in a minute, and longer to whoever goes on.
type blocker struct {
	times []float64
	until float64
}

func (p *blocker) serve(t float64, r *rand.Rand) answer {
	refusal := answer{latency: 0.02, kind: ClientError, status: 403}
	if t < p.until {
		p.until = max(p.until, t+150)
		return refusal
	}
	p.times = append(p.times, t)
	for p.times[0] < t-60 {
		p.times = p.times[1:]
	}
	if len(p.times) > 50 {
		p.until = t + 300
		return refusal
	}
	return ok(lognormal(r, 0.08, 0.3))
}
func (p *blocker) overload() float64 { return 0 }

// tally counts what a run gave.
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

// epoch is when the runs begin.
var epoch = time.Unix(1_800_000_000, 0)

// drive runs the controller against a plant for some seconds, one request in flight.
func drive(cfg Config, s State, p plant, seconds float64, seed uint64) tally {
	r := rand.New(rand.NewPCG(seed, 1))
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

// TestHealthy: the floor is reached, kept, and never crossed.
func TestHealthy(t *testing.T) {
	for seed := range uint64(3) {
		c := drive(standard, State{}, &healthy{0.06, 0.3}, 7200, seed)
		if c.rate < 1.95 || c.objections > 0 || c.floorBroken > 0 || c.settled > 180 {
			t.Errorf("seed %d: %.3f a second, %d objections, at the floor after %.0f s", seed, c.rate, c.objections, c.settled)
		}
		c = drive(standard, State{}, &healthy{0.4, 0.9}, 7200, seed)
		if c.rate < 1.0 || c.floorBroken > 0 {
			t.Errorf("seed %d, noisy: %.3f a second", seed, c.rate)
		}
	}
}

// TestLimiter: .8 requests a second, ten at once. The limit is found, and hardly ever tried again.
func TestLimiter(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() plant
	}{
		{"plain", func() plant { return &bucket{rate: 0.8, size: 10} }},
		{"Retry-After", func() plant { return &bucket{rate: 0.8, size: 10, retryAfter: 30} }},
		{"refusals cost", func() plant { return &bucket{rate: 0.8, size: 10, punish: 0.5} }},
	} {
		for seed := range uint64(3) {
			c := drive(standard, State{}, tt.make(), 7200, seed)
			if c.rate < 0.85*0.8 || c.per1000() > 2.5 || c.objections == 0 || c.floorBroken+c.earlyStarts > 0 {
				t.Errorf("%s, seed %d: %.3f a second, %.1f objections per 1,000, %d floor violations, %d starts inside Retry-After",
					tt.name, seed, c.rate, c.per1000(), c.floorBroken, c.earlyStarts)
			}
		}
	}
	advertised := &bucket{rate: 0.8, size: 10, advertise: http.Header{"Ratelimit-Policy": {`"p";q=8;w=10`}}}
	if c := drive(standard, State{}, advertised, 7200, 1); c.objections > 0 || c.rate < 0.95*0.8 {
		t.Errorf("a limit that is advertised: %.3f a second, %d objections", c.rate, c.objections)
	}
}

// TestQueue: a host with other users, that answers slower the more it is asked.
func TestQueue(t *testing.T) {
	for seed := range uint64(3) {
		c := drive(standard, State{}, &queue{arrivals: 50, each: 0.015, own: 0.2, shed: 0.8}, 7200, seed)
		// A fixed interval at the floor overloads it for over 2,000 s in an hour.
		if c.rate < 0.6 || c.rate > 1 || c.per1000() > 2 || c.overloadPerHour > 300 {
			t.Errorf("seed %d: %.3f a second, %.1f objections per 1,000, %.0f s overloaded in an hour", seed, c.rate, c.per1000(), c.overloadPerHour)
		}
	}
}

// TestResets: only the memory keeps the host from being pushed over again.
func TestResets(t *testing.T) {
	for seed := range uint64(3) {
		c := drive(standard, State{}, &resets{tau: 8, bound: 1}, 7200, seed)
		if c.rate < 0.8 || c.per1000() > 2.5 {
			t.Errorf("seed %d: %.3f a second, %.1f resets per 1,000", seed, c.rate, c.per1000())
		}
	}
}

// TestBlocker: four hours, in which the block is met a few times and not run into.
func TestBlocker(t *testing.T) {
	for seed := range uint64(3) {
		c := drive(standard, State{}, &blocker{}, 14400, seed)
		if c.objections > 10 || c.rate < 0.4 {
			t.Errorf("seed %d: %.3f a second, %d refused", seed, c.rate, c.objections)
		}
	}
}

// TestRestart: what is persisted keeps the host from being offended anew.
func TestRestart(t *testing.T) {
	for seed := range uint64(3) {
		c := drive(standard, State{}, &bucket{rate: 0.8, size: 10}, 7200, seed)
		b, err := c.state.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var kept State
		if err := kept.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		kept.Loaded(standard, epoch)
		warm := drive(standard, kept, &bucket{rate: 0.8, size: 10}, 1800, seed+50)
		cold := drive(standard, State{}, &bucket{rate: 0.8, size: 10}, 1800, seed+50)
		if warm.per1000() > 1 || cold.objections <= warm.objections || warm.rate < 0.65 {
			t.Errorf("seed %d: kept %.3f a second, %d objections; cold %d", seed, warm.rate, warm.objections, cold.objections)
		}
	}
}

// outage answers 503 for a time.
type outage struct {
	healthy
	from, to float64
}

func (p *outage) serve(t float64, r *rand.Rand) answer {
	if t >= p.from && t < p.to {
		return answer{latency: 0.002, kind: Unavailable, status: 503}
	}
	return p.healthy.serve(t, r)
}

// TestFastLimiter: five requests a second and not one more, errors in 2 ms, no Retry-After, on an own host. After a minute
// the share of 429 is small; after an outage of 30 s the pace comes back in a bounded time.
func TestFastLimiter(t *testing.T) {
	own := Config{Floor: 0, Ceiling: 30 * time.Second}
	for _, size := range []float64{1, 5} {
		c := drive(own, State{}, &bucket{rate: 5, size: size}, 300, 1)
		requests, refused := 0, 0
		for _, at := range c.times {
			if at < 60 {
				continue
			}
			requests++
			if slices.Contains(c.objected, at) {
				refused++
			}
		}
		if requests < 600 || float64(refused) > 0.05*float64(requests) {
			t.Errorf("bucket of %v: %d requests after the first minute, %d refused", size, requests, refused)
		}
	}
	for _, cfg := range []Config{own, standard} {
		c := drive(cfg, State{}, &outage{healthy: healthy{0.05, 0.2}, from: 300, to: 330}, 1500, 1)
		before, after := 0, 0
		for _, at := range c.times {
			switch {
			case at >= 180 && at < 300:
				before++
			case at >= 1380:
				after++
			}
		}
		if float64(after) < 0.8*float64(before) {
			t.Errorf("floor %v: %d requests in two minutes before the outage, %d in two minutes long after", cfg.Floor, before, after)
		}
	}
}
