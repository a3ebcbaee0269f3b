package sim

import (
	"math"
	"sync"
)

const (
	oracleSpan  = 40_000.0 // seconds
	oracleSeed  = 99
	oracleSteps = 14 // of the bisection
	oracleLeast = 0.5
	oracleMost  = 20.0
	// oracleObjections per request, and oracleOverload in seconds per hour above what the background causes alone,
	// are what counts as polite.
	oracleObjections = 0.001
	oracleOverload   = 72.0
	// backgroundInterval shows what the plant does when it is hardly asked.
	backgroundInterval = 60.0
)

// ideal is what the right fixed pace gives.
type ideal struct {
	// rate is in pages (200) per second.
	rate float64
	// fast is the rate of the fast phase where there are two, else rate.
	fast float64
	// background is the overload that is there without us, in seconds per hour.
	background float64
}

// oracle is found once, when it is first asked for; it is safe for use by several goroutines.
type oracle struct {
	once sync.Once
	find func() ideal
	v    ideal
}

func (o *oracle) get() ideal {
	o.once.Do(func() { o.v = o.find() })
	return o.v
}

// search is the oracle by bisection.
func search(fresh func() plant) *oracle {
	return &oracle{find: func() ideal { return bisect(fresh, oracleSpan) }}
}

// bisect finds the smallest fixed interval from oracleLeast to oracleMost seconds that is polite over a span of seconds.
func bisect(fresh func() plant, span float64) ideal {
	quiet := open(fresh(), backgroundInterval, span, math.Inf(1))
	background := quiet.overload * 3600 / span
	bound := (background + oracleOverload) * span / 3600
	polite := func(interval float64) (float64, bool) {
		o := open(fresh(), interval, span, bound)
		return o.rate, !o.stopped && float64(o.objections) <= oracleObjections*float64(o.requests) && o.overload <= bound
	}
	rate, good := polite(oracleLeast)
	if good {
		return ideal{rate, rate, background}
	}
	lo, hi := oracleLeast, oracleMost
	rate = open(fresh(), hi, span, math.Inf(1)).rate
	for range oracleSteps {
		mid := math.Sqrt(lo * hi)
		if v, good := polite(mid); good {
			rate, hi = v, mid
		} else {
			lo = mid
		}
	}
	return ideal{rate, rate, background}
}

// fixedRate is the oracle of a plant that bears whatever comes: what the floor itself gives.
func fixedRate(fresh func() plant) *oracle {
	return &oracle{find: func() ideal {
		o := open(fresh(), oracleLeast, oracleSpan, math.Inf(1))
		return ideal{rate: o.rate, fast: o.rate}
	}}
}

type openRun struct {
	requests, objections int
	rate, overload       float64
	stopped              bool
}

// open asks at a fixed interval, without listening. It stops early when what it found can only be impolite: the
// overload is over bound seconds, or there are more objections than the whole run may have.
func open(p plant, interval, span, bound float64) (o openRun) {
	r := stream(oracleSeed)
	most := math.Inf(1)
	if !math.IsInf(bound, 1) {
		most = oracleObjections * (span/interval + 1)
	}
	pages := 0
	for t := 0.0; t < span; {
		a := settled(p.serve(t, r))
		o.requests++
		if a.status == 200 {
			pages++
		}
		if objects(a) {
			o.objections++
		}
		if float64(o.objections) > most || p.overload() > bound {
			o.stopped = true
			return o
		}
		t += max(interval, a.latency)
	}
	o.rate, o.overload = float64(pages)/span, p.overload()
	return o
}

// settled makes a timeout of an answer that takes too long.
func settled(a answer) answer {
	if a.latency > requestTimeout {
		return timeout()
	}
	return a
}

// objects tells whether an answer is an objection: 429, 503, a block (403), a reset or a timeout.
func objects(a answer) bool {
	switch a.status {
	case 0, 403, 429, 503:
		return true
	}
	return false
}
