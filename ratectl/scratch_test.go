package ratectl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
)

type flaky struct{}

func (p *flaky) serve(_ float64, r *rand.Rand) answer {
	if r.Float64() < 0.01 {
		return answer{latency: lognormal(r, 0.03, 0.3), kind: ServerError, status: 500}
	}
	return ok(lognormal(r, 0.08, 0.3))
}
func (p *flaky) overload() float64 { return 0 }

type heavy struct{}

func (p *heavy) serve(_ float64, r *rand.Rand) answer {
	l := lognormal(r, 0.08, 0.3)
	if r.Float64() < 0.1 {
		l += math.Min(9, math.Pow(r.Float64(), -1/1.2))
	}
	return ok(l)
}
func (p *heavy) overload() float64 { return 0 }

type slowsec struct{}

func (p *slowsec) serve(t float64, r *rand.Rand) answer {
	l := lognormal(r, 0.08, 0.3)
	if int(t/900)%2 == 1 {
		l *= 6
	}
	return ok(l)
}
func (p *slowsec) overload() float64 { return 0 }

type b6 struct {
	times []float64
	until float64
}

func (p *b6) serve(t float64, r *rand.Rand) answer {
	if t < p.until {
		p.until = math.Max(p.until, t+150)
		return answer{latency: .02, kind: ClientError, status: 403}
	}
	p.times = append(p.times, t)
	for len(p.times) > 0 && p.times[0] < t-60 {
		p.times = p.times[1:]
	}
	if len(p.times) > 50 {
		p.until = t + 300
		return answer{latency: .02, kind: ClientError, status: 403}
	}
	return ok(lognormal(r, .08, .3))
}
func (p *b6) overload() float64 { return 0 }

type b7 struct {
	win int
	n   int
}

func (p *b7) serve(t float64, r *rand.Rand) answer {
	w := int(t / 60)
	if w != p.win {
		p.win, p.n = w, 0
	}
	p.n++
	if p.n > 40 {
		return answer{latency: .01, kind: Limited, status: 429, retryAfter: int(math.Ceil(float64(w+1)*60 - t - .01))}
	}
	return ok(lognormal(r, .08, .3))
}
func (p *b7) overload() float64 { return 0 }

type lag struct {
	tau, cap, x1, x2, at, over float64
}

func (p *lag) serve(t float64, r *rand.Rand) answer {
	for p.at < t {
		dt := math.Min(.25, t-p.at)
		d1, d2 := -p.x1/p.tau, (p.x1-p.x2)/(p.tau/2)
		p.x1 += d1 * dt
		p.x2 += d2 * dt
		if p.x2 > p.cap {
			p.over += dt
		}
		p.at += dt
	}
	p.x1 += 1 / p.tau
	if p.x2 > p.cap && r.Float64() < math.Min(.9, 4*(p.x2/p.cap-1)) {
		return answer{latency: .05, kind: Unavailable, status: 503}
	}
	u := p.x2 / (1.1 * p.cap)
	return ok(lognormal(r, .08, .25) / (1 - math.Min(.96, u*u)))
}
func (p *lag) overload() float64 { return p.over }

type reset struct{ tau, cap, x, at, over float64 }

func (p *reset) serve(t float64, r *rand.Rand) answer {
	dt := t - p.at
	was := p.x
	_ = was
	p.x *= math.Exp(-dt / p.tau)
	if p.x > p.cap {
		p.over += dt
	}
	p.at = t
	over := p.x > p.cap
	p.x += 1 / p.tau
	if over && r.Float64() < .5 {
		return answer{latency: .01, kind: Reset}
	}
	return ok(lognormal(r, .08, .3))
}
func (p *reset) overload() float64 { return p.over }

func TestScratchAll(t *testing.T) {
	type row struct {
		name   string
		oracle float64
		secs   float64
		mk     func() plant
	}
	policy := http.Header{"Ratelimit-Policy": {`"p";q=8;w=10`}}
	rows := []row{
		{"a", 2.0, 7200, func() plant { return &healthy{.06, .3} }},
		{"h", 1.98, 7200, func() plant { return &flaky{} }},
		{"f", 1.36, 7200, func() plant { return &heavy{} }},
		{"f2", 1.89, 7200, func() plant { return &slowsec{} }},
		{"b1", .8, 7200, func() plant { return &bucket{rate: .8, size: 10} }},
		{"b2", .8, 7200, func() plant { return &bucket{rate: .8, size: 10, retryAfter: 30} }},
		{"b3", .2, 14400, func() plant { return &bucket{rate: .2, size: 20, retryAfter: 120} }},
		{"b4", .8, 7200, func() plant { return &bucket{rate: .8, size: 10, punish: .5} }},
		{"b5", .8, 7200, func() plant { return &bucket{rate: .8, size: 10, advertise: policy} }},
		{"b6", .83, 14400, func() plant { return &b6{} }},
		{"b7", .67, 7200, func() plant { return &b7{} }},
		{"c", .73, 7200, func() plant { return &queue{arrivals: 50, each: .015, own: .2, shed: .8} }},
		{"d", 1.47, 7200, func() plant {
			return &queue{arrivals: 60, each: .01, own: .1, shed: .9, speed: func(t float64) float64 {
				if t >= 2400 && t < 4800 {
					return .7
				}
				return 1
			}}
		}},
		{"e", 1.13, 7200, func() plant { return &queue{arrivals: 82, each: .01, own: .3, shed: 1.5, hits: .7} }},
		{"g", 1.21, 7200, func() plant { return &lag{tau: 20, cap: 1.2} }},
		{"j", .94, 7200, func() plant { return &reset{tau: 8, cap: 1.0} }},
		{"k", 1.78, 7200, func() plant { return &reset{tau: 16, cap: 1.81} }},
	}
	for _, x := range rows {
		var thr, obj, ovl, cv, settle float64
		blocked := 0
		up := 0.0
		const n = 5
		for seed := uint64(1); seed <= n; seed++ {
			c := drive(standard, State{}, x.mk(), x.secs, seed)
			thr += c.rate / x.oracle * 100 / n
			obj += c.per1000() / n
			ovl += c.overloadPerHour / n
			settle += c.settled / n
			h := c.ivs[len(c.ivs)/2:]
			var m, v float64
			for _, i := range h {
				m += i / float64(len(h))
			}
			for _, i := range h {
				v += (i - m) * (i - m) / float64(len(h))
			}
			cv += math.Sqrt(v) / m / n
			if c.floorBroken+c.earlyStarts > 0 {
				t.Error("violations", x.name, c.floorBroken, c.earlyStarts)
			}
			if x.name == "b6" {
				blocked += c.objections
			}
			if x.name == "d" {
				j := 0
				for i, at := range c.times {
					for c.times[j] < at-60 {
						j++
					}
					if at > 4860 && float64(i-j)/60 >= .8*1.98 {
						up += (at - 4800) / n
						break
					}
				}
			}
		}
		fmt.Printf("%-3s thr %5.1f obj %5.2f ovl %5.0f cv %.2f settle %4.0f %d %.0f\n", x.name, thr, obj, ovl, cv, settle, blocked, up)
	}
}
