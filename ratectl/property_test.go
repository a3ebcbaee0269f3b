package ratectl

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawConfig gives ordinary, odd and own configurations.
func drawConfig(t *rapid.T) Config {
	return Config{
		Floor:   rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, 5 * time.Second, time.Minute}).Draw(t, "floor"),
		Ceiling: rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second}).Draw(t, "ceiling"),
	}
}

var drawKind = rapid.SampledFrom([]Kind{Success, Success, Success, Success, Success, ClientError, ServerError, Limited,
	Unavailable, Reset, ConnectTimeout, HeadTimeout, NoHost})

var statuses = map[Kind][]int{Success: {200, 301, 304}, ClientError: {403, 403, 404}, ServerError: {500, 502, 504}, Limited: {429}, Unavailable: {503}}

func drawHeader(t *rapid.T) http.Header {
	h := http.Header{}
	switch rapid.IntRange(0, 19).Draw(t, "header") {
	case 0:
		h.Set("Retry-After", strconv.Itoa(rapid.IntRange(-1, 200_000).Draw(t, "seconds")))
	case 1:
		h.Set("Retry-After", rapid.SampledFrom([]string{"", "1.5", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT"}).Draw(t, "value"))
	case 2:
		h.Set("RateLimit", fmt.Sprintf(`"p";r=%d;t=%d`, rapid.IntRange(0, 100).Draw(t, "r"), rapid.IntRange(0, 100_000).Draw(t, "t")))
	case 3:
		h.Set("RateLimit-Policy", fmt.Sprintf(`"p";q=%d;w=%d`, rapid.IntRange(0, 100).Draw(t, "q"), rapid.IntRange(0, 1000).Draw(t, "w")))
	}
	return h
}

func drawOutcome(t *rapid.T, start time.Time) Outcome {
	kind := drawKind.Draw(t, "kind")
	o := Outcome{Start: start, Kind: kind, Header: drawHeader(t), Shared: rapid.IntRange(0, 9).Draw(t, "shared") == 0}
	if s := statuses[kind]; s != nil {
		o.Status = rapid.SampledFrom(s).Draw(t, "status")
	}
	took := time.Duration(rapid.Int64Range(0, int64(12*time.Second)).Draw(t, "took"))
	if rapid.Bool().Draw(t, "quick") {
		took /= 100
	}
	o.End, o.TTFB = start.Add(took), took
	return o
}

// TestAnySequence: over arbitrary outcomes, pauses, clock jumps and restarts the promises hold.
func TestAnySequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		var s State
		var w *Window
		if rapid.Bool().Draw(t, "window") {
			w = new(Window)
		}
		at := noon
		var until, delayed time.Time // what the server asked for, kept by a plain model
		var delay time.Duration
		for range rapid.IntRange(1, 120).Draw(t, "n") {
			switch rapid.IntRange(0, 29).Draw(t, "event") {
			case 0: // a clock that jumps
				at = at.Add(time.Duration(rapid.Int64Range(-int64(72*time.Hour), int64(72*time.Hour)).Draw(t, "jump")))
				until = time.Time{}
			case 1:
				b, err := s.AppendBinary(nil)
				if err != nil || len(b) > 200 {
					t.Fatalf("%d bytes, %v", len(b), err)
				}
				var again State
				if err := again.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				}
				before := s.inForce(cfg)
				s = again
				if s.inForce(cfg) != before {
					t.Fatalf("restart: %v became %v", before, s.inForce(cfg))
				}
				at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Minute, 30 * time.Hour}).Draw(t, "away"))
				s.Loaded(cfg, at)
				iv, _ := s.Interval(cfg)
				at = at.Add(iv)
				if nb := s.NotBefore(); nb.After(at) {
					at = nb
				}
				if until.After(at) && until.Sub(delayed) <= day {
					t.Fatalf("the restart has forgotten a not-before: %v, want %v", at, until)
				}
				if w != nil {
					*w = Window{}
				}
			case 2:
				delay = rapid.SampledFrom([]time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 400 * time.Second}).Draw(t, "crawl-delay")
				s.SetCrawlDelay(cfg, delay)
			}
			o := drawOutcome(t, at)
			d := s.Observe(cfg, w, o)
			if ra, ok := RetryAfter(o.Header, o.End); ok && o.End.Add(ra).After(until) {
				until, delayed = o.End.Add(ra), o.End
			}

			floor := max(cfg.Floor, delay)
			ceiling := max(cfg.Ceiling, floor, s.quota)
			if cfg.Ceiling <= 0 {
				ceiling = max(defaultCeiling, floor, s.quota)
			}
			switch {
			case d.Interval < floor:
				t.Fatalf("interval %v is under the floor %v", d.Interval, floor)
			case d.Interval < s.quota:
				t.Fatalf("interval %v is under the rate limit's %v", d.Interval, s.quota)
			case d.Interval > ceiling:
				t.Fatalf("interval %v is over the effective ceiling %v", d.Interval, ceiling)
			case d.Next.Before(o.Start.Add(d.Interval)), d.Next.Before(o.End), d.Next.Before(d.NotBefore), d.Next.Before(until):
				t.Fatalf("next %v, start %v + %v, end %v, not before %v and %v", d.Next, o.Start, d.Interval, o.End, d.NotBefore, until)
			case (o.Kind == Limited || o.Kind == Unavailable) != d.Objection && (o.Kind == Success || o.Kind == Limited || o.Kind == Unavailable):
				t.Fatalf("kind %d: objection %v", o.Kind, d.Objection)
			case d.Cause == "":
				t.Fatal("no cause")
			}
			if iv, _ := s.Interval(cfg); iv != d.Interval || s.Price(cfg) < iv || s.Price(cfg) <= 0 {
				t.Fatalf("interval %v, decided %v, price %v", iv, d.Interval, s.Price(cfg))
			}
			at = d.Next
			// A pause of a century is not what this is about.
			if at.Sub(noon) > 400*day {
				at, until = noon, time.Time{}
			}
		}
	})
}

// TestMonotoneInSeverity: whatever the history, the worse outcome is never followed by the shorter interval.
func TestMonotoneInSeverity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		var s State
		var w Window
		at := noon
		for range rapid.IntRange(0, 150).Draw(t, "n") {
			d := s.Observe(cfg, &w, drawOutcome(t, at))
			at = d.Next
			if at.Sub(noon) > 400*day {
				at = noon
			}
		}
		took := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "took"))
		next := func(kind Kind, status int, h http.Header) time.Duration {
			s, w := s, w
			d := s.Observe(cfg, &w, Outcome{Start: at, End: at.Add(took), TTFB: took, Kind: kind, Status: status, Header: h})
			return d.Next.Sub(at)
		}
		ladder := []struct {
			name string
			next time.Duration
		}{
			{"reset", next(Reset, 0, nil)},
			{"503", next(Unavailable, 503, nil)},
			{"429", next(Limited, 429, nil)},
			{"429 with Retry-After 40", next(Limited, 429, http.Header{"Retry-After": {"40"}})},
			{"429 with Retry-After 90000", next(Limited, 429, http.Header{"Retry-After": {"90000"}})},
		}
		for i, r := range ladder[1:] {
			if r.next < ladder[i].next {
				t.Fatalf("%s waits %v, %s %v", r.name, r.next, ladder[i].name, ladder[i].next)
			}
		}
		if a, b := next(HeadTimeout, 0, nil), next(Reset, 0, nil); b < a {
			t.Fatalf("a reset waits %v, a slow page %v", b, a)
		}
		for _, mild := range []struct {
			kind   Kind
			status int
		}{{Success, 200}, {ClientError, 404}, {ServerError, 500}, {NoHost, 0}} {
			if a, b := next(mild.kind, mild.status, nil), next(Unavailable, 503, nil); b < a {
				t.Fatalf("a 503 waits %v, kind %d %v", b, mild.kind, a)
			}
		}
	})
}
