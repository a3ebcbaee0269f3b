package sim

import (
	"math"
	"math/rand/v2"
	"net/http"
)

// lag answers to load late: the rate of requests passes two stages, of tau and half of it, before it is felt.
type lag struct {
	// tau is in seconds; most is the rate that the server bears, per second.
	tau, most float64

	first, second, at float64
	overloaded        float64
}

// lagStep is the longest step of the integration, in seconds.
const lagStep = 0.25

func (p *lag) serve(t float64, r *rand.Rand) answer {
	if span := t - p.at; span > 0 {
		n := int(math.Ceil(span / lagStep))
		h := span / float64(n)
		for range n {
			rise := (p.first - p.second) / (p.tau / 2)
			p.first -= h * p.first / p.tau
			p.second += h * rise
			if p.second > p.most {
				p.overloaded += h
			}
		}
		p.at = t
	}
	p.first += 1 / p.tau
	if over := p.second/p.most - 1; over > 0 && r.Float64() < min(0.9, 4*over) {
		return answer{latency: 0.05, status: http.StatusServiceUnavailable}
	}
	u := p.second / (1.1 * p.most)
	return page(lognormal(r, 0.08, 0.25) / (1 - min(0.96, u*u)))
}

func (p *lag) overload() float64 { return p.overloaded }

// resets aborts half of the requests while the recent rate is over what it bears; no latency warns of it.
type resets struct {
	// tau is over how many seconds the rate is felt; most is the rate that is borne, per second.
	tau, most float64

	rate, at   float64
	overloaded float64
}

func (p *resets) serve(t float64, r *rand.Rand) answer {
	span := t - p.at
	p.rate *= math.Exp(-span / p.tau)
	p.at = t
	if p.rate > p.most {
		p.overloaded += span
	}
	p.rate += 1 / p.tau
	if p.rate > p.most && r.Float64() < 0.5 {
		return answer{latency: 0.01}
	}
	return page(lognormal(r, 0.08, 0.3))
}

func (p *resets) overload() float64 { return p.overloaded }
