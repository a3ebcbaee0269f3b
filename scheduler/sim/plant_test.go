package sim

import (
	"math"
	"net/http"
	"testing"
)

// statuses asks a plant at instants and compares.
func statuses(t *testing.T, p plant, rows []struct {
	at   float64
	want int
}) (last answer) {
	t.Helper()
	r := stream(1)
	for i, row := range rows {
		if last = p.serve(row.at, r); last.status != row.want {
			t.Fatalf("request %d at %.3f s: %d, want %d", i, row.at, last.status, row.want)
		}
	}
	return last
}

type request = struct {
	at   float64
	want int
}

func burst(n int, at float64) []request {
	rows := make([]request, n)
	for i := range rows {
		rows[i] = request{at, 200}
	}
	return rows
}

func TestBucket(t *testing.T) {
	// Ten at once, then one token every 1.25 s.
	a := statuses(t, &bucket{rate: 0.8, size: 10, retryAfter: 30}, append(burst(10, 0), []request{
		{0, 429}, {1.2, 429}, {1.25, 200}, {2.49, 429}, {2.5, 200}, {2.6, 429}}...))
	if a.retryAfter != 30 {
		t.Errorf("Retry-After %d", a.retryAfter)
	}
	// A refusal at 0 leaves half a token of debt: 1.5 tokens take 1.875 s.
	statuses(t, &bucket{rate: 0.8, size: 10, punish: 0.5}, append(burst(10, 0), []request{{0, 429}, {1.875, 200}}...))
	// Twenty of them leave five tokens of debt and not ten: 6 tokens take 7.5 s.
	rows := burst(10, 0)
	for range 20 {
		rows = append(rows, request{0, 429})
	}
	statuses(t, &bucket{rate: 0.8, size: 10, punish: 0.5}, append(rows, request{7.5, 200}))
	// It never holds more than its size.
	statuses(t, &bucket{rate: 0.8, size: 10}, append(burst(10, 1000), request{1000, 429}))
}

func TestWindows(t *testing.T) {
	p := &windows{most: 40}
	if a := statuses(t, p, append(burst(40, 3), request{10.5, 429})); a.retryAfter != 50 || a.latency != 0.01 {
		t.Errorf("%+v", a)
	}
	if a := statuses(t, p, []request{{59.99, 429}}); a.retryAfter != 1 {
		t.Errorf("%+v", a)
	}
	statuses(t, p, append(burst(40, 60), request{60, 429}, request{120, 200}))
}

func TestBlocker(t *testing.T) {
	p := &blocker{most: 50}
	for i := range 500 {
		statuses(t, p, []request{{1.2001 * float64(i), 200}}) // 50 in each 60 s
	}
	p = &blocker{most: 50}
	statuses(t, p, append(burst(50, 0), []request{
		{59.9, 403}, // until 359.9
		{359, 403},  // until 509
		{508, 403},  // until 658
		{657.9, 403}, {807.9, 200}}...))
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s: %g, want %g within %g", what, got, want, tolerance)
	}
}

func TestQueue(t *testing.T) {
	r := stream(1)
	// Nobody else: own work of .12 to .28 s, and it is gone a second later.
	p := &queue{own: 0.2, shed: 0.8}
	for i := range 100 {
		a := p.serve(float64(i), r)
		if a.status != 200 || a.latency < 0.15 || a.latency > 0.31 {
			t.Fatalf("%+v", a)
		}
		near(t, "work", p.work, a.latency-0.03, 1e-12)
	}
	near(t, "overload", p.overload(), 0, 0)

	// 1 s of work, of which what is over .67 * .8 = .536 counts.
	p = &queue{shed: 0.8, work: 1}
	p.drain(0.3)
	near(t, "overload", p.overload(), 0.3, 1e-12)
	p.drain(10)
	near(t, "overload", p.overload(), 0.464, 1e-12)

	// At half the speed the same work waits twice as long; from 1 s on it is fast again.
	p = &queue{shed: 0.8, work: 1, slow: 0.5, slowTo: 1}
	p.drain(2)
	near(t, "work", p.work, 0, 0)
	near(t, "overload", p.overload(), 1, 1e-12) // until 1 s there are .5 s of work at speed .5; then .5 s at speed 1

	// Over the bound, 70 % get a 503 and the rest time out; neither adds work.
	refused, timeouts := 0, 0
	for range 10_000 {
		p = &queue{shed: 0.8, work: 0.81, own: 0.2}
		switch a := p.serve(0, r); {
		case a.status == http.StatusServiceUnavailable && a.latency >= 0.02 && a.latency <= 0.12:
			refused++
		case a.status == 0 && a.latency == requestTimeout:
			timeouts++
		default:
			t.Fatalf("%+v", a)
		}
		near(t, "work", p.work, 0.81, 0)
	}
	near(t, "share of 503", float64(refused)/10_000, 0.7, 0.02)
	if refused+timeouts != 10_000 {
		t.Error("answers are missing")
	}

	// A hit of the cache costs nothing, and comes even when the queue is full.
	p = &queue{shed: 0.8, work: 100, own: 0.2, hits: 1}
	if a := p.serve(0, r); a.status != 200 || a.latency > 0.1 || p.work != 100 {
		t.Errorf("%+v, work %g", a, p.work)
	}

	// The background is rho = .75 loaded, in the mean.
	p = &queue{arrivals: 50, each: 0.015, shed: 1e9}
	busy := 0
	for i := range 20_000 {
		p.serve(float64(i), r)
		if p.work > 0 {
			busy++
		}
	}
	near(t, "load", float64(busy)/20_000, 0.75, 0.02)
}

func TestLag(t *testing.T) {
	r := stream(1)
	// The response of two stages in a row, of 20 and 10 s, to one request.
	p := &lag{tau: 20, most: 1.2}
	p.serve(0, r)
	p.serve(10, r)
	near(t, "second stage", p.second, 0.1*(math.Exp(-0.5)-math.Exp(-1)), 0.0005)
	// At a steady rate both stages are at it; over what it bears it is overloaded and refuses.
	p = &lag{tau: 20, most: 1.2}
	objections := 0
	for i := range 4000 {
		if p.serve(0.5*float64(i), r).status == 503 {
			objections++
		}
	}
	near(t, "rate", p.second, 2, 0.03)
	near(t, "refused", float64(objections)/4000, 0.9, 0.03) // min(.9, 4 (2/1.2 - 1))
	if p.overload() < 1950 || p.overload() > 2000 {
		t.Errorf("overloaded for %g of 2,000 s", p.overload())
	}
}

func TestResets(t *testing.T) {
	r := stream(1)
	count := func(interval float64) (failed int, overload float64) {
		p := &resets{tau: 8, most: 1}
		for i := range 4000 {
			if a := p.serve(interval*float64(i), r); a.status == 0 {
				failed++
			}
		}
		return failed, p.overload()
	}
	// With the request itself the rate is (1/8) / (1 - exp(-interval/8)): 1 at 1.068 s.
	if n, over := count(1.07); n > 0 || over > 0 {
		t.Errorf("at 1.07 s: %d resets, overloaded for %g s", n, over)
	}
	if n, over := count(1.06); n < 1900 || n > 2100 || over > 0 {
		t.Errorf("at 1.06 s: %d resets of 4,000, overloaded for %g s", n, over)
	}
	if _, over := count(0.5); over < 1950 {
		t.Errorf("at .5 s: overloaded for %g of 2,000 s", over)
	}
}

func TestHealthy(t *testing.T) {
	r := stream(1)
	p := &healthy{median: 0.08, sigma: 0.3, slow: 6, broken: 0.1, brokenMedian: 0.03, tail: 0.1, tailFrom: 1, tailAlpha: 1.2, tailMost: 9}
	broken, slow := 0, 0
	var quick, slowed []float64
	for range 20_000 {
		a := p.serve(100, r)
		switch {
		case a.status == 500:
			broken++
		case a.latency >= 1:
			slow++
		default:
			quick = append(quick, a.latency)
		}
		if a.latency > 9.5 {
			t.Fatalf("%+v", a)
		}
		if a := p.serve(1000, r); a.status == 200 {
			slowed = append(slowed, a.latency)
		}
	}
	near(t, "share of 500", float64(broken)/20_000, 0.1, 0.01)
	near(t, "share of the tail", float64(slow)/20_000, 0.09, 0.01)
	near(t, "median", quantile(quick, 0.5), 0.08, 0.003)
	if m := quantile(slowed, 0.45); m < 0.4 || m > 0.52 {
		t.Errorf("slow section: %g", m)
	}
}
