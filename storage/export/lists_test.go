package export

import (
	"fmt"
	"slices"
	"testing"
)

func TestURLsAndSeeds(t *testing.T) {
	job, ends := newJob(t, shots(), 1e9)
	urls, stats := runString(t, job, Options{Format: "urls", End: &ends})
	want := "http://www.example.com/\nhttp://www.example.com/a,b?q=%221%22\nhttp://www.example.com/gz\nhttp://www.example.com/latin\nhttp://www.example.com/missing\nhttps://sub.example.com:8443/x.png\n"
	if urls != want || stats.Captures != 6 {
		t.Errorf("%d URLs:\n%s", stats.Captures, urls)
	}
	seeds, stats := runString(t, job, Options{Format: "seeds"})
	if seeds != "http://www.example.com/\nhttps://sub.example.com:8443/\n" || stats.Captures != 2 {
		t.Errorf("%d seeds:\n%s", stats.Captures, seeds)
	}
}

func TestSorter(t *testing.T) {
	s := newSorter(200)
	defer s.close()
	var want []string
	for i := range 500 {
		line := fmt.Sprintf("line %d", i*7919%97)
		want = append(want, line)
		if err := s.add(line); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.runs) < 10 {
		t.Errorf("%d runs", len(s.runs))
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	if err := s.each(func(l string) error { got = append(got, l); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
