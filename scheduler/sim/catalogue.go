package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Plant is a kind of host that can be simulated.
type Plant struct {
	Name string
	// About says in a few words what the host does.
	About string
	// Span is how long a run lasts.
	Span time.Duration

	fresh  func() plant
	oracle *oracle
	// step is set for the plant whose speed changes (d).
	step *step
}

// Steps tells whether the plant's speed changes during a run.
func (p Plant) Steps() bool { return p.step != nil }

// step tells when a plant's speed falls and when it is back.
type step struct{ down, up time.Duration }

const (
	usualSpan = 2 * time.Hour
	longSpan  = 4 * time.Hour
)

// Plants gives the named plants, in order. Each call makes plants of its own, whose oracle is found once when it is needed.
func Plants() []Plant {
	one := func(name, about string, fresh func() plant) Plant {
		return Plant{Name: name, About: about, Span: usualSpan, fresh: fresh, oracle: search(fresh)}
	}
	long := func(p Plant) Plant {
		p.Span = longSpan
		return p
	}
	plants := []Plant{
		one("a", "fast and healthy", func() plant { return &healthy{median: 0.06, sigma: 0.3} }),
		one("b1", "429 over 0.8/s, 10 at once", func() plant { return &bucket{rate: 0.8, size: 10} }),
		one("b2", "as b1, with Retry-After 30", func() plant { return &bucket{rate: 0.8, size: 10, retryAfter: 30} }),
		long(one("b3", "429 over 0.2/s, 20 at once, Retry-After 120", func() plant { return &bucket{rate: 0.2, size: 20, retryAfter: 120} })),
		one("b4", "as b1, refused requests cost too", func() plant { return &bucket{rate: 0.8, size: 10, punish: 0.5} }),
		one("b5", "as b1, advertised by RateLimit-Policy", func() plant {
			return &bucket{rate: 0.8, size: 10, policy: http.Header{"Ratelimit-Policy": {`"default";q=4;w=5`}}}
		}),
		long(one("b6", "more than 50 in 60 s: 403 for 300 s", func() plant { return &blocker{most: 50} })),
		one("b7", "40 in each minute, then 429 with Retry-After", func() plant { return &windows{most: 40} }),
		one("c", "queue with other users", func() plant { return &queue{arrivals: 50, each: 0.015, own: 0.2, shed: 0.8} }),
		stepping(),
		one("e", "cache before a queue", func() plant {
			return &queue{arrivals: 82, each: 0.01, own: 0.3, shed: 1.5, hits: 0.7}
		}),
		one("f", "healthy, one page in ten very slow", func() plant {
			return &healthy{median: 0.08, sigma: 0.3, tail: 0.1, tailFrom: 1, tailAlpha: 1.2, tailMost: 9}
		}),
		one("f2", "healthy, a slow section every quarter of an hour", func() plant { return &healthy{median: 0.08, sigma: 0.3, slow: 6} }),
		one("g", "answers to load 20 s late", func() plant { return &lag{tau: 20, most: 1.2} }),
		one("h", "healthy, 1 % errors 500", func() plant {
			return &healthy{median: 0.08, sigma: 0.3, broken: 0.01, brokenMedian: 0.03}
		}),
		one("j", "resets over 1.0/s", func() plant { return &resets{tau: 8, most: 1.0} }),
		one("k", "resets over 1.81/s", func() plant { return &resets{tau: 16, most: 1.81} }),
	}
	return plants
}

// stepping is plant d: a queue that is slower for 40 minutes. Its oracle is that of each phase, weighted by its length.
func stepping() Plant {
	at := func(slow, from, to float64) func() plant {
		return func() plant {
			return &queue{arrivals: 60, each: 0.01, own: 0.1, shed: 0.9, slow: slow, slowFrom: from, slowTo: to}
		}
	}
	s := &step{down: 2400 * time.Second, up: 4800 * time.Second}
	p := Plant{Name: "d", About: "queue, slower for 40 minutes", Span: usualSpan, fresh: at(0.7, s.down.Seconds(), s.up.Seconds()), step: s}
	fast, slow := search(at(0, 0, 0)), search(at(0.7, 0, 1e9))
	share := (s.up - s.down).Seconds() / p.Span.Seconds()
	p.oracle = &oracle{find: func() ideal {
		f, s := fast.get(), slow.get()
		return ideal{rate: (1-share)*f.rate + share*s.rate, fast: f.rate, background: (1-share)*f.background + share*s.background}
	}}
	return p
}

// Choose picks from a list by names with commas between; "all" and "" pick everything. what is said of a name that is unknown.
func Choose[T any](all []T, name func(T) string, names, what string) ([]T, error) {
	if names == "" || names == "all" {
		return all, nil
	}
	var chosen []T
	for n := range strings.SplitSeq(names, ",") {
		n = strings.TrimSpace(n)
		i := slices.IndexFunc(all, func(v T) bool { return name(v) == n })
		if i < 0 {
			var known []string
			for _, v := range all {
				known = append(known, name(v))
			}
			return nil, fmt.Errorf("no %s is called %q; there are %s, and all", what, n, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
