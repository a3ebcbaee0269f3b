package sim

import (
	"math/rand/v2"
	"net/http"
)

// healthy bears whatever comes. Its latency is lognormal; some pages take longer for reasons of their own.
type healthy struct {
	steady
	median, sigma float64
	// tail is the share of the pages that take longer, by tailFrom times a Pareto variable of tailAlpha, at most tailMost seconds.
	tail, tailFrom, tailAlpha, tailMost float64
	// broken is the share of the pages that are a 500, after brokenMedian.
	broken, brokenMedian float64
	// slow multiplies the latency in every second quarter of an hour; 0 and 1 for never.
	slow float64
}

func (p *healthy) serve(t float64, r *rand.Rand) answer {
	if p.broken > 0 && r.Float64() < p.broken {
		return answer{latency: lognormal(r, p.brokenMedian, 0.3), status: http.StatusInternalServerError}
	}
	latency := lognormal(r, p.median, p.sigma)
	if p.slow > 1 && int(t/900)%2 == 1 {
		latency *= p.slow
	}
	if p.tail > 0 && r.Float64() < p.tail {
		latency += min(p.tailMost, p.tailFrom*pareto(r, p.tailAlpha))
	}
	return page(latency)
}
