package sim

import (
	"math"
	"testing"
	"time"

	"amble/ratectl"
)

func controllerOf(name string) Controller {
	for _, k := range Controllers() {
		if k.Name == name {
			return k
		}
	}
	panic(name)
}

func plantOf(name string) Plant {
	for _, p := range Plants() {
		if p.Name == name {
			return p
		}
	}
	panic(name)
}

// says is one answer, and the interval that a controller must then have in force, in seconds.
type says struct {
	a    answer
	want float64
}

func follow(t *testing.T, c controller, rows []says) {
	t.Helper()
	var start time.Duration
	for i, row := range rows {
		end := start + duration(row.a.latency)
		d := c.observe(outcome{start: start, end: end, answer: row.a})
		if math.Abs(d.interval.Seconds()-row.want) > 1e-6 {
			t.Fatalf("answer %d, %+v: interval %v, want %g s", i, row.a, d.interval, row.want)
		}
		start = max(d.next, end)
	}
}

func repeat(n int, a answer, want func(i int) float64) (rows []says) {
	for i := range n {
		rows = append(rows, says{a, want(i)})
	}
	return rows
}

func TestLiteral(t *testing.T) {
	refused := answer{latency: 0.01, status: 429}
	// Additive under the threshold of 4 s; ten answers give a baseline of .1 s.
	rows := repeat(10, page(0.1), func(i int) float64 { return max(0.5, 1-0.05*float64(i+1)) })
	rows = append(rows, says{page(0.31), 0.75}, says{page(0.3), 0.7}, says{answer{latency: 0.1, status: 500}, 1.05},
		says{refused, 2.1}, says{page(0.1), 2.05}, // the threshold is 2.1 now
		says{answer{latency: 0.01}, 2.0}) // a reset is a success
	follow(t, newLiteral(), rows)
	// Five refusals reach 30 s and stay: the ceiling. From the threshold of 30 s it comes back by .05.
	follow(t, newLiteral(), []says{{refused, 2}, {refused, 4}, {refused, 8}, {refused, 16}, {refused, 30}, {refused, 30}, {page(0.1), 29.95}})
}

func TestProse(t *testing.T) {
	same := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	rows := repeat(9, page(0.1), same(1))
	rows = append(rows, says{page(0.1), 0.95})
	rows = append(rows, repeat(9, page(0.31), same(0.95))...)
	rows = append(rows, says{page(0.31), 1.425}) // three times the smallest
	rows = append(rows, says{answer{latency: 0.01, status: 503, retryAfter: 100}, 2.85})
	rows = append(rows, repeat(9, page(0.1), same(2.85))...)
	rows = append(rows, says{page(0.1), 2.565}) // over the threshold of 1.425: by a tenth
	rows = append(rows, says{answer{latency: 0.01}, 3.8475})
	follow(t, newProse(), rows)
	// Four of ten slow answers are a slow tail.
	rows = repeat(9, page(0.1), same(1))
	rows = append(rows, says{page(0.1), 0.95})
	rows = append(rows, repeat(6, page(0.1), same(0.95))...)
	rows = append(rows, repeat(3, page(1), same(0.95))...)
	follow(t, newProse(), append(rows, says{page(1), 1.425}))
	d := newProse().observe(outcome{start: 0, end: time.Second, answer: answer{latency: 1, status: 429, retryAfter: 30}})
	if d.next != 31*time.Second {
		t.Errorf("Retry-After: %v", d.next)
	}
}

func TestPeers(t *testing.T) {
	follow(t, fixed{}, []says{{page(0.1), 1}, {answer{latency: 0.1, status: 429, retryAfter: 30}, 1}})
	follow(t, nutch{}, []says{{page(0.1), 5.1}, {page(2), 7}})
	follow(t, heritrix{}, []says{{page(0.1), 3.1}, {page(2), 12}, {page(8), 38}})
	follow(t, &scrapy{delay: 5, r: stream(1)}, []says{{page(1), 3}, {answer{latency: 0.1, status: 429}, 3}, {page(0.2), 1.6},
		{answer{latency: 4, status: 500}, 4}, {page(0.2), 2.1}, {page(0.1), 1.1}, {page(0.1), 0.6}, {page(0.1), 0.5}})
	r := &scrapy{delay: 1, r: stream(1)}
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		gap := r.observe(outcome{answer: page(1)}).next
		least, most = min(least, gap), max(most, gap)
	}
	near(t, "least", least.Seconds(), 0.5, 0.01)
	near(t, "most", most.Seconds(), 1.5, 0.01)
	// The bucket is full, so the next request starts at the end; two 429 pause for 5 and 10 s and 1/50 s for the token.
	follow(t, newZeno(), []says{{page(0.1), 0.1}, {answer{latency: 0.1, status: 429}, 5.12}, {answer{latency: 0.1, status: 403}, 10.12},
		{page(0.1), 0.1}})
}

// Amble is told what a server would have said, in its own words.
func TestAmbleReadsHeaders(t *testing.T) {
	c := newAmble()
	d := c.observe(outcome{start: 0, end: time.Second, answer: answer{latency: 1, status: 429, retryAfter: 40}})
	if d.next != 41*time.Second || d.cause != string(ratectl.CauseRetryAfter) {
		t.Errorf("Retry-After: %+v", d)
	}
	policy := plantOf("b5").fresh().serve(0, stream(1))
	d = newAmble().observe(outcome{start: 0, end: duration(policy.latency), answer: policy})
	if d.interval < 1250*time.Millisecond || d.interval > 1300*time.Millisecond || d.cause != string(ratectl.CauseRateLimit) {
		t.Errorf("RateLimit-Policy: %+v", d)
	}
	for a, want := range map[*answer]ratectl.Kind{
		{latency: 10}: ratectl.HeadTimeout, {latency: 0.01}: ratectl.Reset, {status: 429}: ratectl.Limited, {status: 503}: ratectl.Unavailable,
		{status: 500}: ratectl.ServerError, {status: 403}: ratectl.ClientError, {status: 200}: ratectl.Success,
	} {
		if got := kindOf(*a); got != want {
			t.Errorf("%+v: %v, want %v", *a, got, want)
		}
	}
}

// The floor and Retry-After are never broken, on no plant.
func TestAmbleKeepsItsPromises(t *testing.T) {
	for _, p := range Plants() {
		p.oracle = &oracle{find: func() ideal { return ideal{rate: 1, fast: 1} }}
		r := Job{p, controllerOf(Amble), 7}.Run(nil)
		if r.FloorViolations != 0 || r.RetryAfterViolations != 0 || r.Requests < 500 {
			t.Errorf("%s: %d under the floor, %d in Retry-After, of %d", p.Name, r.FloorViolations, r.RetryAfterViolations, r.Requests)
		}
		if r.Objections > 10 {
			t.Errorf("%s: %.1f objections in 1,000", p.Name, r.Objections)
		}
	}
}
