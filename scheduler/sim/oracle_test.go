package sim

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// polite is what the study of controllers found for each plant, pages a second.
var polite = map[string]float64{
	"a": 2.00, "b1": 0.80, "b2": 0.80, "b3": 0.20, "b4": 0.80, "b5": 0.80, "b6": 0.83, "b7": 0.67, "c": 0.73, "d": 1.47, "e": 1.13,
	"f": 1.36, "f2": 1.89, "g": 1.21, "h": 1.98, "j": 0.94, "k": 1.78,
}

// slow is set under the race detector, which takes ten times as long and has nothing to find in arithmetic.
var slow bool

func TestOracle(t *testing.T) {
	plants := slices.DeleteFunc(Plants(), func(p Plant) bool { return slow && strings.Contains("cde", p.Name) })
	found, err := All(context.Background(), len(plants), func(i int) ideal { return plants[i].oracle.get() }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slow && len(plants) != len(polite) {
		t.Fatalf("%d plants", len(plants))
	}
	for i, p := range plants {
		near(t, p.Name, found[i].rate, polite[p.Name], 0.03*polite[p.Name])
		if found[i].background > 20 {
			t.Errorf("%s: overloaded for %.0f s an hour without us", p.Name, found[i].background)
		}
	}
}

// The early end of an impolite try changes nothing that the search uses.
func TestOpenStopsEarly(t *testing.T) {
	fresh := Plants()[8].fresh // c
	whole := open(fresh(), 0.5, 2000, math.Inf(1))
	short := open(fresh(), 0.5, 2000, 50)
	if whole.stopped || whole.overload <= 50 || !short.stopped || short.requests >= whole.requests {
		t.Errorf("whole: %+v, short: %+v", whole, short)
	}
	quiet := open(fresh(), 10, 2000, 50)
	if quiet.stopped || quiet.requests != 200 || quiet.rate != 0.1 {
		t.Errorf("%+v", quiet)
	}
}

func TestBisectWithoutAPolitePace(t *testing.T) {
	// One in 100 s is borne: even the longest interval is too short.
	best := bisect(func() plant { return &bucket{rate: 0.01, size: 1} }, 4000)
	if best.rate < 0.009 || best.rate > 0.0115 {
		t.Errorf("%+v", best)
	}
}
