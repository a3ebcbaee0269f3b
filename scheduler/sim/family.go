package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Family is a kind of plant whose parameters are drawn at random.
type Family struct {
	Name, About string
	draw        func(r *rand.Rand) Plant
}

// Families gives the random families, in order.
func Families() []Family {
	return []Family{
		{"limiter", "token buckets, .1 to 1.5/s, 1 to 40 at once, half with Retry-After", drawLimiter},
		{"queue", "queues with other users, .2 to .8 loaded", drawQueue},
		{"lagged", "servers that answer to load 5 to 30 s late", drawLagged},
		{"resets", "servers that reset connections over .3 to 2.0/s", drawResets},
		{"healthy", "servers that bear everything, noisy or with heavy tails", drawHealthy},
	}
}

// Plants draws n plants. The first of them are the same for each larger n.
func (f Family) Plants(n int, seed uint64) []Plant {
	plants := make([]Plant, n)
	h := uint64(0)
	for _, c := range f.Name {
		h = 31*h + uint64(c)
	}
	r := rand.New(rand.NewPCG(seed, h))
	for i := range plants {
		plants[i] = f.draw(r)
		plants[i].Name = fmt.Sprintf("%s-%03d", f.Name, i+1)
		if plants[i].Span == 0 {
			plants[i].Span = usualSpan
		}
	}
	return plants
}

func drawLimiter(r *rand.Rand) Plant {
	p := bucket{rate: 0.1 * math.Pow(15, r.Float64()), size: float64(1 + r.IntN(40))}
	if r.Float64() < 0.5 {
		p.retryAfter = 1 + r.IntN(90)
	}
	if r.Float64() < 0.3 {
		p.punish = 0.5
	}
	rate := min(p.rate, 1/floor.Seconds())
	return Plant{
		About: fmt.Sprintf("429 over %.3f/s, %.0f at once, Retry-After %d, a refusal costs %.1f", p.rate, p.size, p.retryAfter, p.punish),
		Span:  3 * time.Hour,
		fresh: func() plant { c := p; return &c },
		// The bucket's rate is known; no search is needed.
		oracle: &oracle{find: func() ideal { return ideal{rate: rate, fast: rate} }},
	}
}

func drawQueue(r *rand.Rand) Plant {
	load, each := uniform(r, 0.2, 0.8), uniform(r, 0.005, 0.025)
	p := queue{arrivals: load / each, each: each, own: (1 - load) / uniform(r, 0.3, 2.8)}
	p.shed = max(0.8, 4*p.own)
	return searched(fmt.Sprintf("queue, other users' load %.2f of %.4f s, own work %.3f s, sheds at %.2f s", load, each, p.own, p.shed),
		func() plant { c := p; return &c })
}

func drawLagged(r *rand.Rand) Plant {
	p := lag{tau: uniform(r, 5, 30), most: uniform(r, 0.3, 2)}
	return searched(fmt.Sprintf("bears %.2f/s, %.0f s late", p.most, p.tau), func() plant { c := p; return &c })
}

func drawResets(r *rand.Rand) Plant {
	p := resets{tau: uniform(r, 5, 30), most: uniform(r, 0.3, 2)}
	return searched(fmt.Sprintf("resets over %.2f/s, felt over %.0f s", p.most, p.tau), func() plant { c := p; return &c })
}

func drawHealthy(r *rand.Rand) Plant {
	p := healthy{median: uniform(r, 0.02, 0.62), sigma: uniform(r, 0.1, 1), tail: uniform(r, 0, 0.2), tailAlpha: 1.3, tailMost: 8,
		broken: uniform(r, 0, 0.03), brokenMedian: 0.03}
	p.tailFrom = 5 * p.median
	fresh := func() plant { c := p; return &c }
	return Plant{
		About: fmt.Sprintf("healthy, median %.3f s, sigma %.2f, tail %.0f %%, errors 500 %.1f %%", p.median, p.sigma, 100*p.tail, 100*p.broken),
		fresh: fresh, oracle: fixedRate(fresh),
	}
}

func searched(about string, fresh func() plant) Plant {
	return Plant{About: about, fresh: fresh, oracle: search(fresh)}
}

// Quantile is a quantile of a measure over the plants of a family, with the 95 % interval of a bootstrap.
type Quantile struct{ Value, Low, High float64 }

// Spread is how a controller fared over the plants of a family.
type Spread struct {
	// Throughput10, 50 and 90 are percentiles in percent; Objections in 1,000 requests.
	Throughput10, Throughput50, Throughput90   Quantile
	Objections50, Objections90, ObjectionsMost Quantile
	// Overload90 is in seconds an hour, above what the other users cause.
	Overload90           Quantile
	FloorViolations      int
	RetryAfterViolations int
}

// bootstraps is how often the plants are drawn again.
const bootstraps = 2000

// Spreading sums up runs, one for each plant.
func Spreading(runs []Result) (s Spread) {
	n := len(runs)
	throughput, objections, overload := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, r := range runs {
		throughput[i], objections[i], overload[i] = r.Throughput, r.Objections, max(0, r.Overload-r.Background)
		s.FloorViolations += r.FloorViolations
		s.RetryAfterViolations += r.RetryAfterViolations
	}
	s.Throughput10, s.Throughput50, s.Throughput90 = bootstrap(throughput, 0.1), bootstrap(throughput, 0.5), bootstrap(throughput, 0.9)
	s.Objections50, s.Objections90, s.ObjectionsMost = bootstrap(objections, 0.5), bootstrap(objections, 0.9), bootstrap(objections, 1)
	s.Overload90 = bootstrap(overload, 0.9)
	return s
}

func bootstrap(values []float64, q float64) Quantile {
	if len(values) == 0 {
		return Quantile{}
	}
	r := stream(uint64(len(values)))
	drawn, again := make([]float64, bootstraps), make([]float64, len(values))
	for i := range drawn {
		for j := range again {
			again[j] = values[r.IntN(len(values))]
		}
		drawn[i] = quantile(again, q)
	}
	copy(again, values)
	return Quantile{quantile(again, q), quantile(drawn, 0.025), quantile(drawn, 0.975)}
}
