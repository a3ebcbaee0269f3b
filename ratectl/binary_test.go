package ratectl

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBinary(t *testing.T) {
	c := newTalk(t, standard)
	c.well(100)
	c.say(Limited, 429, time.Millisecond, "Retry-After", "60", "RateLimit-Policy", `"p";q=1;w=2`)
	c.well(40)
	c.say(ClientError, 403, time.Millisecond)
	c.say(Reset, 0, 0)
	c.s.SetCrawlDelay(c.cfg, 3*time.Second)
	b, err := c.s.AppendBinary([]byte("before"))
	if err != nil || len(b) != len("before")+stateBytes || stateBytes > 200 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	var got State
	if err := got.UnmarshalBinary(b[len("before"):]); err != nil {
		t.Fatal(err)
	}
	// updated and failed belong to the samples that a restart drops.
	if diff := cmp.Diff(c.s, got, cmp.AllowUnexported(State{}), cmpopts.IgnoreFields(State{}, "updated", "failed")); diff != "" {
		t.Error(diff)
	}
}

func TestBinaryDamaged(t *testing.T) {
	good, _ := (&State{}).AppendBinary(nil)
	for name, b := range map[string][]byte{
		"empty": nil, "short": good[:len(good)-1], "long": append(good[:len(good):len(good)], 0),
		"newer": append([]byte{stateVersion + 1}, good[1:]...),
	} {
		var s State
		if err := s.UnmarshalBinary(b); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzState: bytes of the right length, however damaged, give a State that keeps the promises.
func FuzzState(f *testing.F) {
	c := newTalk(&testing.T{}, standard)
	c.well(100)
	c.say(Limited, 429, time.Millisecond, "Retry-After", "60")
	b, _ := c.s.AppendBinary(nil)
	f.Add(b)
	f.Add(make([]byte, stateBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if len(b) > 0 {
			b[0] = stateVersion
		}
		if s.UnmarshalBinary(b) != nil {
			return
		}
		s.Loaded(standard, noon)
		var w Window
		at := noon
		if nb := s.NotBefore(); nb.After(at.Add(day)) {
			t.Fatalf("loaded: not before %v", nb)
		}
		for i := range 100 {
			o := Outcome{Start: at, End: at.Add(time.Second), TTFB: time.Second, Kind: []Kind{Success, Success, Success, Limited, Reset, ClientError}[i%6], Status: 403}
			d := s.Observe(standard, &w, o)
			if d.Interval < standard.Floor || d.Next.Before(o.Start.Add(d.Interval)) || d.Next.Before(o.End) {
				t.Fatalf("%+v", d)
			}
			at = d.Next
			if at.Sub(noon) > maxSpan/2 {
				at = noon
			}
		}
	})
}
