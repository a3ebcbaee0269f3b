package sim

import (
	"math"
	"math/rand/v2"
	"net/http"
)

// bucket is a token bucket: rate tokens a second, at most size of them, full at first; 429 when there is none.
type bucket struct {
	steady
	rate, size float64
	// retryAfter is in seconds, 0 for none.
	retryAfter int
	// punish is what a refused request costs, in tokens; the bucket goes no lower than mostDebt.
	punish float64
	// policy is sent with every response, when not nil.
	policy http.Header

	spent, at float64 // size - tokens, and when that was so
}

// mostDebt is how many tokens refused requests can cost at most.
const mostDebt = 5

func (p *bucket) serve(t float64, r *rand.Rand) answer {
	p.spent = max(0, p.spent-(t-p.at)*p.rate)
	p.at = t
	if p.size-p.spent < 1 {
		p.spent = min(p.spent+p.punish, p.size+mostDebt)
		return answer{latency: lognormal(r, 0.01, 0.3), status: http.StatusTooManyRequests, retryAfter: p.retryAfter, header: p.policy}
	}
	p.spent++
	a := page(lognormal(r, 0.08, 0.3))
	a.header = p.policy
	return a
}

// windows lets so many requests through in each minute; a 429 says when the next minute begins.
type windows struct {
	steady
	most   int
	minute float64
	used   int
}

func (p *windows) serve(t float64, r *rand.Rand) answer {
	if m := math.Floor(t / 60); m != p.minute {
		p.minute, p.used = m, 0
	}
	if p.used >= p.most {
		return answer{latency: 0.01, status: http.StatusTooManyRequests, retryAfter: int(math.Ceil(60*(p.minute+1) - t))}
	}
	p.used++
	return page(lognormal(r, 0.08, 0.3))
}

// blocker answers 403 for 300 s to whoever asks more than most times in 60 s, and for at least 150 s after each request
// meanwhile.
type blocker struct {
	steady
	most  int
	until float64
	times []float64 // starts within the last 60 s
}

func (p *blocker) serve(t float64, r *rand.Rand) answer {
	refusal := answer{latency: 0.02, status: http.StatusForbidden}
	if t < p.until {
		p.until = max(p.until, t+150)
		return refusal
	}
	p.times = append(p.times, t)
	for p.times[0] <= t-60 {
		p.times = p.times[1:]
	}
	if len(p.times) > p.most {
		p.until = t + 300
		return refusal
	}
	return page(lognormal(r, 0.08, 0.3))
}
