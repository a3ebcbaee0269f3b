package sim

import (
	"math"
	"math/rand/v2"
	"net/http"
)

// queue is a server with one queue and other users: work in seconds, drained at the server's speed. Who finds more than
// shed seconds of waiting is turned away.
type queue struct {
	// arrivals is the background's requests per second (Poisson); each is the mean of a background request's work.
	arrivals, each float64
	// own is the mean work of a request of ours, in seconds.
	own, shed float64
	// hits is the share of our requests that a cache answers, without work.
	hits float64
	// speed is 1 but for the time from slowFrom to slowTo, when it is slow.
	slow, slowFrom, slowTo float64

	work, at, next float64 // next: the background's next arrival
	begun          bool
	overloaded     float64
}

// fullShare of the bound at which it sheds is where a queue counts as overloaded.
const fullShare = 0.67

func (p *queue) speed(t float64) float64 {
	if p.slow > 0 && t >= p.slowFrom && t < p.slowTo {
		return p.slow
	}
	return 1
}

// drain lets time pass in which nothing arrives.
func (p *queue) drain(to float64) {
	for p.at < to {
		end := to
		if p.slow > 0 {
			for _, change := range [2]float64{p.slowFrom, p.slowTo} {
				if p.at < change && change < end {
					end = change
				}
			}
		}
		v, span := p.speed(p.at), end-p.at
		if excess := p.work/v - fullShare*p.shed; excess > 0 {
			p.overloaded += min(span, excess)
		}
		p.work = max(0, p.work-span*v)
		p.at = end
	}
}

func (p *queue) serve(t float64, r *rand.Rand) answer {
	if !p.begun {
		p.next, p.begun = p.gap(r), true
	}
	for p.next <= t {
		p.drain(p.next)
		if p.work < p.shed*p.speed(p.at) {
			p.work += r.ExpFloat64() * p.each
		}
		p.next += p.gap(r)
	}
	p.drain(t)
	if p.hits > 0 && r.Float64() < p.hits {
		return page(lognormal(r, 0.01, 0.3))
	}
	v := p.speed(t)
	if p.work/v > p.shed {
		if r.Float64() < 0.7 {
			return answer{latency: uniform(r, 0.02, 0.12), status: http.StatusServiceUnavailable}
		}
		return timeout()
	}
	p.work += p.own * uniform(r, 0.6, 1.4)
	return page(0.03 + p.work/v)
}

func (p *queue) gap(r *rand.Rand) float64 {
	if p.arrivals <= 0 {
		return math.Inf(1)
	}
	return r.ExpFloat64() / p.arrivals
}

func (p *queue) overload() float64 { return p.overloaded }
