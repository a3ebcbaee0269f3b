package sim

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestFamilies(t *testing.T) {
	for _, f := range Families() {
		few, many := f.Plants(3, 5), f.Plants(40, 5)
		for i := range few {
			if few[i].Name != many[i].Name || few[i].About != many[i].About {
				t.Errorf("%s: plant %d depends on how many are drawn", f.Name, i)
			}
		}
		if other := f.Plants(3, 6); other[0].About == few[0].About {
			t.Errorf("%s: the seed has no effect", f.Name)
		}
		for _, p := range many {
			p = cheap(p, 1)
			p.Span = 10 * time.Minute
			r := Job{p, controllerOf(Amble), 1}.Run(nil)
			if r.FloorViolations != 0 || r.RetryAfterViolations != 0 || r.Requests == 0 {
				t.Errorf("%s (%s): %+v", p.Name, p.About, r)
			}
		}
	}
}

func TestFamilyOracles(t *testing.T) {
	for _, p := range Families()[0].Plants(40, 1) {
		b := p.fresh().(*bucket)
		if got := p.oracle.get().rate; got != min(b.rate, 2) || b.rate < 0.1 || b.rate > 1.5 || b.size < 1 || b.size > 40 || b.retryAfter > 90 {
			t.Errorf("%s: %+v, %g a second", p.Name, *b, got)
		}
	}
	// Nothing is harmed by a healthy host's floor.
	p := Families()[4].Plants(1, 1)[0]
	if v := p.oracle.get(); v.rate <= 0.1 || v.rate > 2 {
		t.Errorf("%+v", v)
	}
}

func TestSpreading(t *testing.T) {
	var runs []Result
	for i := range 101 {
		runs = append(runs, Result{Throughput: float64(i), Objections: float64(100 - i), Overload: 50, Background: 60, FloorViolations: 1})
	}
	s := Spreading(runs)
	if s.Throughput10.Value != 10 || s.Throughput50.Value != 50 || s.Throughput90.Value != 90 || s.Objections90.Value != 90 ||
		s.ObjectionsMost.Value != 100 || s.Overload90.Value != 0 || s.FloorViolations != 101 {
		t.Errorf("%+v", s)
	}
	// The standard error of the 10th percentile of 101 uniform values over 100 is about 3.
	if q := s.Throughput10; q.Low < 2 || q.Low > 8 || q.High < 12 || q.High > 20 {
		t.Errorf("%+v", q)
	}
	if q := Spreading(nil); q.Throughput10.Value != 0 {
		t.Errorf("%+v", q)
	}
}

// What is kept over a restart keeps the host from being offended anew.
func TestRestart(t *testing.T) {
	kept, cold, err := Restart(cheap(plantOf("b6"), 0.83), 1)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Start != "kept" || cold.Start != "cold" || kept.PerSecond < 2*cold.PerSecond || cold.Objected <= kept.Objected {
		t.Errorf("kept %+v\ncold %+v", kept, cold)
	}
	for _, r := range []Result{kept, cold} {
		if r.FloorViolations != 0 || r.RetryAfterViolations != 0 {
			t.Errorf("%+v", r)
		}
	}
	// The half hour ends before d's speed changes.
	if kept, _, err = Restart(cheap(plantOf("d"), 1.47), 1); err != nil || kept.Settle < 0 || kept.PerSecond < 1.5 {
		t.Errorf("%+v %v", kept, err)
	}
}

func TestLink(t *testing.T) {
	l := &link{work: 80, halved: true}
	near(t, "wait", l.wait(0), 2, 1e-9)
	near(t, "wait", l.wait(time.Second), 1, 1e-9)
	l = &link{work: 80, halved: true, at: halvedFrom - time.Second}
	near(t, "wait", l.wait(halvedFrom), 2, 1e-9) // 40 pages left, at 20 a second
	near(t, "wait", l.wait(halvedFrom+time.Second), 1, 1e-9)
	l.work, l.at = 100, halvedTo-time.Second
	near(t, "wait", l.wait(halvedTo+time.Second), 1, 1e-9)
}

func TestShared(t *testing.T) {
	free := Shared{Hosts: 50, Controller: controllerOf("prose"), Seed: 1}.Run()
	capped := Shared{Hosts: 50, Rate: 34, Controller: controllerOf("prose"), Seed: 1}.Run()
	amble := Shared{Hosts: 50, Rate: 34, Halved: true, Controller: controllerOf(Amble), Seed: 1}
	ours := amble.Run()
	if free.Throughput < 98 || free.QueueP50 < 0.5 {
		t.Errorf("without a limit there is no standing queue: %+v", free)
	}
	near(t, "a static limit", capped.Throughput, 85, 0.5)
	if capped.QueueP95 > 0.35 {
		t.Errorf("%+v", capped)
	}
	if ours.Throughput < 75 || ours.QueueP95 > 0.35 || ours.Timeouts > 2 || ours.FloorViolations != 0 || ours.Recovery <= 0 {
		t.Errorf("%+v", ours)
	}
	if again := amble.Run(); again != ours {
		t.Errorf("first %+v\nagain %+v", ours, again)
	}
}

func TestPlot(t *testing.T) {
	var steps []Step
	j := Job{cheap(plantOf("j"), 1), controllerOf(Amble), 1}
	j.Plant.Span = 30 * time.Minute
	r := j.Run(func(s Step) { steps = append(steps, s) })
	var b bytes.Buffer
	if err := Plot(&b, "j <resets>", "about & more", steps, j.Plant.Span); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&b)
	paths, text := map[string]string{}, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			a := map[string]string{}
			for _, at := range v.Attr {
				a[at.Name.Local] = at.Value
				if at.Name.Local == "href" || at.Name.Local == "src" {
					t.Errorf("it needs %s", at.Value)
				}
			}
			if v.Name.Local == "path" {
				paths[a["class"]] = a["d"]
			}
		case xml.CharData:
			text += string(v)
		}
	}
	if n := strings.Count(paths["objection"], "M"); n != r.Objected || n == 0 {
		t.Errorf("%d objections drawn, there were %d", n, r.Objected)
	}
	if len(paths["interval"]) < 100 || len(paths["latency"]) < 100 || strings.Contains(paths["interval"]+paths["latency"], "NaN") {
		t.Errorf("%v", paths)
	}
	for _, want := range []string{"j <resets>", "about & more", "interval in force, s", "30 min", "prefers-color-scheme:dark"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	b.Reset()
	if err := Plot(&b, "", "", nil, time.Hour); err != nil || b.Len() == 0 {
		t.Errorf("nothing to draw: %v", err)
	}
}
