package sim

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// cheap gives a plant an oracle that needs no search.
func cheap(p Plant, rate float64) Plant {
	p.oracle = &oracle{find: func() ideal { return ideal{rate: rate, fast: rate} }}
	return p
}

// script is a plant with given answers; the last one is repeated.
type script struct {
	steady
	answers []answer
	starts  []float64
}

func (p *script) serve(t float64, _ *rand.Rand) answer {
	i := min(len(p.starts), len(p.answers)-1)
	p.starts = append(p.starts, t)
	return p.answers[i]
}

func TestLoop(t *testing.T) {
	// A slow answer holds the next start back, a longer interval does not shift it.
	p := &script{answers: []answer{page(0.1), page(2.5), page(0.1), {latency: 12, status: 200}, page(0.1)}}
	var steps []Step
	drive(p, fixed{}, stream(1), time.Hour, 16*time.Second, func(s Step, _ float64) { steps = append(steps, s) })
	if want := []float64{0, 1, 3.5, 4.5, 14.5, 15.5}; !slices.Equal(p.starts, want) {
		t.Errorf("starts %v, want %v", p.starts, want)
	}
	if s := steps[3]; s.Outcome() != "timeout" || !s.Objection || s.End != 14500*time.Millisecond {
		t.Errorf("a latency of 12 s: %+v", s)
	}
	if s := steps[1]; s.Outcome() != "200" || s.Next != 3500*time.Millisecond || s.Interval != time.Second {
		t.Errorf("%+v", s)
	}
}

// Every figure of a Result, on a run short enough to count by hand.
func TestMeter(t *testing.T) {
	p := Plant{Name: "x", Span: 100 * time.Second}
	m := newMeter(p, ideal{rate: 0.1, background: 3}, p.Span)
	second := time.Second
	for _, s := range []Step{
		{At: 0, End: second, Status: 200, Interval: 2 * second},
		{At: 400 * time.Millisecond, End: second, Status: 429, Objection: true, RetryAfter: 10 * second, Interval: 4 * second}, // under the floor
		{At: 10 * second, End: 11 * second, Status: 200, Interval: second},                                                     // inside Retry-After
		{At: 11 * second, End: 12 * second, Status: 200, Interval: 500 * time.Millisecond},
		{At: 12 * second, End: 13 * second, Status: 200, Interval: second},
		{At: 50 * second, End: 51 * second, Status: 200, Interval: second},
		{At: 60 * second, End: 61 * second, Status: 500, Interval: 3 * second},
	} {
		m.add(s, 2)
	}
	got := m.result()
	want := Result{Throughput: 50, Objections: 142.857, Overload: 72, FloorViolations: 1, RetryAfterViolations: 1, Settle: 51, CV: 0.5,
		Requests: 7, PerSecond: 0.05, Oracle: 0.1, Objected: 1, Background: 3, AtFloor: 12}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestMeterOfAStep(t *testing.T) {
	p := plantOf("d")
	m := newMeter(p, ideal{rate: 1, fast: 1}, p.Span)
	at := func(s float64) time.Duration { return duration(s) }
	for _, s := range []float64{2390, 2410, 2500, 2621, 4700} {
		m.add(Step{At: at(s), End: at(s), Status: 503, Objection: true, Interval: time.Second}, 0)
	}
	for s := 4800; s < 4900; s++ {
		m.add(Step{At: at(float64(s)), End: at(float64(s)), Status: 200, Interval: time.Second}, 0)
	}
	if r := m.result(); r.SettleDown != 100 || r.Settle != 47 { // 2,621 is more than two minutes after 2,500; 48 pages in a minute
		t.Errorf("down %g, up %g", r.SettleDown, r.Settle)
	}
}

func TestRunsAreReproducible(t *testing.T) {
	var jobs []Job
	for _, name := range []string{"b7", "c", "g", "j"} {
		for _, k := range Controllers() {
			for seed := range uint64(2) {
				p := cheap(plantOf(name), 1)
				p.Span = 20 * time.Minute
				jobs = append(jobs, Job{p, k, seed})
			}
		}
	}
	do := func() []string {
		lines, err := All(context.Background(), len(jobs), func(i int) string {
			b, err := json.Marshal(jobs[i].Run(nil))
			if err != nil {
				t.Error(err)
			}
			return string(b)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	first := do()
	for i, line := range do() {
		if line != first[i] {
			t.Errorf("first  %s\nagain  %s", first[i], line)
		}
	}
	// Another seed is another run: resets on j are random.
	i := len(first) - 2*len(Controllers())
	if strings.Replace(first[i], `"seed":0`, `"seed":1`, 1) == first[i+1] {
		t.Error("the seed has no effect")
	}
}

func TestAll(t *testing.T) {
	last := 0
	got, err := All(context.Background(), 100, func(i int) int { return i * i }, func(done int) {
		if done != last+1 {
			t.Errorf("%d after %d", done, last)
		}
		last = done
	})
	if err != nil || last != 100 {
		t.Fatal(err, last)
	}
	for i, v := range got {
		if v != i*i {
			t.Errorf("%d at %d", v, i)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err = All(ctx, 1000, func(i int) int { cancel(); return 0 }, func(done int) { last = done }); !errors.Is(err, context.Canceled) || last > 64 {
		t.Errorf("%v after %d", err, last)
	}
	if got, err := All(context.Background(), 0, func(int) int { return 0 }, nil); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
}

func TestChoose(t *testing.T) {
	name := func(p Plant) string { return p.Name }
	if got, err := Choose(Plants(), name, "b1, g", "plant"); err != nil || len(got) != 2 || got[0].Name != "b1" || got[1].Name != "g" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := Choose(Plants(), name, "all", "plant"); err != nil || len(got) != 17 {
		t.Errorf("%d %v", len(got), err)
	}
	if _, err := Choose(Plants(), name, "b8", "plant"); err == nil || !strings.Contains(err.Error(), `no plant is called "b8"; there are a, b1,`) {
		t.Error(err)
	}
}

func TestVerdict(t *testing.T) {
	good := Result{Plant: "b1", Throughput: 95, Objections: 1, CV: 0.08}
	for _, tt := range []struct {
		change func(*Result)
		want   string
	}{
		{func(*Result) {}, "met"},
		{func(r *Result) { r.Throughput, r.Objections = 96.5, 0.7 }, "stretch"},
		{func(r *Result) { r.Throughput, r.Objections = 93.5, 1.3 }, "throughput 93.5 < 94, objections 1.3 > 1.2"},
		{func(r *Result) { r.FloorViolations = 1 }, "floor violations 1 > 0"},
		{func(r *Result) { r.Plant = "limiter-001" }, ""},
	} {
		r := good
		tt.change(&r)
		if got := Verdict(r); got != tt.want {
			t.Errorf("%+v: %q, want %q", r, got, tt.want)
		}
	}
	m := Mean([]Result{{Plant: "b1", Throughput: 90, Objected: 3, FloorViolations: 1}, {Plant: "b1", Throughput: 100, Objected: 4, FloorViolations: 1}})
	if m.Throughput != 95 || m.Objected != 4 || m.FloorViolations != 2 || m.Plant != "b1" {
		t.Errorf("%+v", m)
	}
}
