package ratectl

import (
	"net/http"
	"testing"
	"time"
)

// talk is a conversation with a host, one request after the other.
type talk struct {
	t   *testing.T
	cfg Config
	s   State
	w   Window
	at  time.Time // next start
}

func newTalk(t *testing.T, cfg Config) *talk { return &talk{t: t, cfg: cfg, at: noon} }

func (c *talk) say(kind Kind, status int, ttfb time.Duration, fields ...string) Decision {
	o := Outcome{Start: c.at, End: c.at.Add(ttfb), TTFB: ttfb, Kind: kind, Status: status}
	for i := 0; i+1 < len(fields); i += 2 {
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Add(fields[i], fields[i+1])
	}
	return c.observe(o)
}

func (c *talk) observe(o Outcome) Decision {
	d := c.s.Observe(c.cfg, &c.w, o)
	if d.Next.Before(o.End) || d.Next.Before(o.Start.Add(d.Interval)) || d.Next.Before(d.NotBefore) {
		c.t.Errorf("next %v is before the end %v, the start + %v or the not-before %v", d.Next, o.End, d.Interval, d.NotBefore)
	}
	c.at = d.Next
	return d
}

// well is n healthy answers.
func (c *talk) well(n int) (d Decision) {
	for range n {
		d = c.say(Success, 200, 50*time.Millisecond)
	}
	return d
}

func (c *talk) want(d Decision, interval time.Duration, cause Cause, objection bool) {
	c.t.Helper()
	if d.Interval != interval || d.Cause != cause || d.Objection != objection {
		c.t.Errorf("interval %v, cause %s, objection %v; want %v, %s, %v", d.Interval, d.Cause, d.Objection, interval, cause, objection)
	}
}

func TestStart(t *testing.T) {
	var s State
	for _, tt := range []struct {
		cfg   Config
		want  time.Duration
		cause Cause
	}{
		{standard, time.Second, CauseStart},
		{Config{Floor: 5 * time.Second, Ceiling: 30 * time.Second}, 5 * time.Second, CauseFloor},
		{Config{Floor: 200 * time.Millisecond, Ceiling: 500 * time.Millisecond}, 500 * time.Millisecond, CauseStart},
		{Config{}, 0, CauseFloor},
	} {
		if iv, cause := s.Interval(tt.cfg); iv != tt.want || cause != tt.cause {
			t.Errorf("%+v: %v, %s; want %v, %s", tt.cfg, iv, cause, tt.want, tt.cause)
		}
	}
	if !s.NotBefore().IsZero() {
		t.Errorf("not before %v", s.NotBefore())
	}
}

// 429 (RFC 6585 section 4) and 503 (RFC 9110 section 15.6.4): doubled each time, never beyond the ceiling.
func TestObjections(t *testing.T) {
	for _, kind := range []Kind{Limited, Unavailable} {
		c := newTalk(t, standard)
		for _, want := range []time.Duration{2, 4, 8, 16, 30, 30} {
			c.want(c.say(kind, 429, 2*time.Millisecond), want*time.Second, CauseLimited, true)
		}
	}
}

// TestFastErrorsAreNotHealth: an error that comes in 2 ms never shortens the interval.
func TestFastErrorsAreNotHealth(t *testing.T) {
	for _, tt := range []struct {
		kind   Kind
		status int
	}{{Limited, 429}, {Unavailable, 503}, {ServerError, 500}, {ServerError, 502}, {ClientError, 404}, {ClientError, 403}, {ClientError, 401},
		{Reset, 0}, {ConnectTimeout, 0}, {HeadTimeout, 0}, {NoHost, 0}} {
		c := newTalk(t, standard)
		last := c.well(3).Interval
		for range 300 {
			d := c.say(tt.kind, tt.status, 2*time.Millisecond)
			if d.Interval < last {
				t.Errorf("kind %d status %d: from %v to %v", tt.kind, tt.status, last, d.Interval)
			}
			last = d.Interval
		}
	}
}

// TestCrawlDelay: never clipped, whatever the ceiling; backing off goes on above it, and it leaves no trace when it goes.
func TestCrawlDelay(t *testing.T) {
	c := newTalk(t, standard)
	c.s.SetCrawlDelay(c.cfg, 400*time.Second)
	if iv, cause := c.s.Interval(c.cfg); iv != 400*time.Second || cause != CauseCrawlDelay {
		t.Errorf("before the first request: %v, %s", iv, cause)
	}
	c.want(c.well(100), 400*time.Second, CauseCrawlDelay, false)
	c.want(c.say(Limited, 429, time.Millisecond), 400*time.Second, CauseCrawlDelay, true)
	c.s.SetCrawlDelay(c.cfg, 10*time.Second)
	if iv, _ := c.s.Interval(c.cfg); iv != 30*time.Second {
		t.Errorf("after the objection, under a shorter delay: %v, want the ceiling", iv)
	}
	c = newTalk(t, standard)
	c.s.SetCrawlDelay(c.cfg, 10*time.Second)
	c.want(c.say(Limited, 429, time.Millisecond), 20*time.Second, CauseLimited, true)
	c.s.SetCrawlDelay(c.cfg, -1)
	c.s.SetCrawlDelay(c.cfg, 0)
	if iv, _ := c.s.Interval(c.cfg); iv != 20*time.Second {
		t.Errorf("what was objected to stays: %v", iv)
	}
	c = newTalk(t, standard)
	c.s.SetCrawlDelay(c.cfg, 200*time.Millisecond)
	c.want(c.well(200), 500*time.Millisecond, CauseFloor, false)
}

// TestSlowAnswers: the host objects to the pace that it got, and a slow answer makes that longer than the interval.
func TestSlowAnswers(t *testing.T) {
	c := newTalk(t, standard)
	for range 6 {
		c.say(Success, 200, 3*time.Second)
	}
	c.want(c.say(Unavailable, 503, time.Second), 6*time.Second, CauseLimited, true)
}

// Failures (specification, 'The signals': "the strongest negative signal"): one raises, two within a minute are an objection.
func TestFailures(t *testing.T) {
	c := newTalk(t, standard)
	c.well(4)
	c.want(c.say(Reset, 0, 0), 1500*time.Millisecond, CauseFailures, false)
	c.want(c.say(ConnectTimeout, 0, 0), 3*time.Second, CauseFailures, true)

	c = newTalk(t, standard)
	c.well(4)
	c.want(c.say(HeadTimeout, 0, 0), 1250*time.Millisecond, CauseFailures, false)
	c.say(HeadTimeout, 0, 0)
	c.say(HeadTimeout, 0, 0)
	if d := c.say(HeadTimeout, 0, 0); !d.Objection {
		t.Errorf("the fourth slow page within a minute is no objection: %+v", d)
	}

	c = newTalk(t, standard)
	c.say(Reset, 0, 0)
	c.at = c.at.Add(2 * time.Minute)
	if d := c.say(Reset, 0, 0); d.Objection {
		t.Errorf("two resets two minutes apart: %+v", d)
	}

	// A gateway's 502 and 504 speak of its origin; the fourth is within a minute of the first.
	c = newTalk(t, standard)
	c.say(ServerError, 502, 0)
	if d := c.say(ServerError, 502, 0); !d.Objection || d.Cause != CauseFailures {
		t.Errorf("two 502: %+v", d)
	}

	// A name that does not resolve says nothing about the host's pace.
	c = newTalk(t, standard)
	c.want(c.say(NoHost, 0, 0), time.Second, CauseStart, false)
}

// A 500 is not a sign of load; a share of over a quarter in the long run slows, once a minute, to 4 s at most.
func TestServerErrors(t *testing.T) {
	c := newTalk(t, standard)
	c.well(4)
	for range 20 {
		c.want(c.say(ServerError, 500, time.Millisecond), time.Second, CauseStart, false)
	}
	var d Decision
	for range 400 {
		d = c.say(ServerError, 500, time.Millisecond)
	}
	c.want(d, 4*time.Second, CauseFailures, false)
}

// A run of 403 after successes is a block: ten minutes, doubled; a 403 alone, or from the first request on, is not.
func TestBlock(t *testing.T) {
	c := newTalk(t, standard)
	for range 20 {
		if d := c.say(ClientError, 403, time.Millisecond); d.Objection {
			t.Fatalf("a host that has never answered otherwise: %+v", d)
		}
	}

	c = newTalk(t, standard)
	c.well(20)
	if d := c.say(ClientError, 403, time.Millisecond); d.Objection {
		t.Errorf("one 403: %+v", d)
	}
	before := c.s.inForce(c.cfg)
	for _, pause := range []time.Duration{10, 20, 40, 80, 120, 120} {
		d := c.say(ClientError, 403, time.Millisecond)
		if !d.Objection || d.Cause != CauseBlocked || d.NotBefore.Sub(c.at) != 0 || d.Interval < 2*before ||
			d.Next.Sub(d.NotBefore) != 0 || c.s.notBefore-c.s.asked != int64(pause*time.Minute) {
			t.Errorf("want a pause of %d min: %+v", pause, d)
		}
	}

	c = newTalk(t, standard)
	c.well(20)
	if d := c.say(ClientError, 403, time.Millisecond, "Cf-Mitigated", "challenge"); !d.Objection || d.Cause != CauseBlocked {
		t.Errorf("a challenge page: %+v", d)
	}

	// Where every third page is forbidden, two in a row are chance.
	c = newTalk(t, standard)
	for range 100 {
		c.well(2)
		if d := c.say(ClientError, 403, time.Millisecond); d.Objection {
			t.Fatalf("forbidden pages among others: %+v", d)
		}
	}
	c.say(ClientError, 403, time.Millisecond)
	if d := c.say(ClientError, 403, time.Millisecond); d.Objection {
		t.Errorf("three in a row where a third is forbidden: %+v", d)
	}
}

// TestShared: what a shared resource causes is not the host's; what the server says holds all the same.
func TestShared(t *testing.T) {
	c := newTalk(t, standard)
	c.well(50)
	before := c.s.inForce(c.cfg)
	shared := func(kind Kind, ttfb time.Duration) Decision {
		return c.observe(Outcome{Start: c.at, End: c.at.Add(ttfb), TTFB: ttfb, Kind: kind, Shared: true})
	}
	for range 40 {
		for _, d := range []Decision{shared(Reset, 0), shared(HeadTimeout, 0), shared(Success, 4*time.Second)} {
			c.want(d, before, CauseShared, false)
		}
	}
	d := shared(Success, 4*time.Second)
	c.want(d, before, CauseShared, false)
	if d := shared(Limited, time.Millisecond); !d.Objection || d.Interval < 2*before {
		t.Errorf("a 429 in a shared moment: %+v", d)
	}
}

// TestLatency: a page that is slow now and then moves nothing; a low quantile that rises does, and for a rise that
// slowing down does not change, the baseline follows (specification, 'What the controller cannot know').
func TestLatency(t *testing.T) {
	c := newTalk(t, standard)
	c.well(200)
	base := c.s.Baseline()
	if base < 45*time.Millisecond || base > 55*time.Millisecond {
		t.Errorf("baseline %v, want about 50 ms", base)
	}
	c.want(c.well(1), 500*time.Millisecond, CauseFloor, false)
	for i := range 200 {
		d := c.say(Success, 200, 50*time.Millisecond+time.Duration(i%20/19)*2*time.Second)
		if d.Interval != c.cfg.Floor {
			t.Fatalf("one slow page of twenty: %+v", d)
		}
	}
	slowed := false
	var cut time.Time
	last := c.cfg.Floor
	for range 400 {
		at := c.at
		d := c.say(Success, 200, 300*time.Millisecond)
		slowed = slowed || d.Cause == CauseLatency
		if d.Interval > last {
			if at.Sub(cut) < leastCool {
				t.Errorf("two cuts within %v", at.Sub(cut))
			}
			cut = at
		}
		last = d.Interval
		if d.Interval > inferredCeiling {
			t.Errorf("inference alone went to %v", d.Interval)
		}
	}
	if !slowed {
		t.Error("six times the baseline has slowed nothing")
	}
	if b := c.s.Baseline(); b < 250*time.Millisecond {
		t.Errorf("slowing down changed nothing, and the baseline is still %v", b)
	}
	if d := c.well(200); d.Interval > 600*time.Millisecond {
		t.Errorf("long after: %v", d.Interval)
	}
}

// TestTail: seven of ten answers come from a cache; that the other three have become three times as slow is seen
// although the low quantile has not moved.
func TestTail(t *testing.T) {
	c := newTalk(t, standard)
	mixed := func(n int, slow time.Duration) (seen Cause) {
		for i := range n {
			ttfb := 10 * time.Millisecond
			if i%10 < 3 {
				ttfb = slow
			}
			if d := c.say(Success, 200, ttfb); d.Cause == CauseTail {
				seen = d.Cause
			}
		}
		return seen
	}
	if mixed(400, 300*time.Millisecond) != "" {
		t.Error("two steady populations are no sign of load")
	}
	if mixed(150, 900*time.Millisecond) != CauseTail {
		t.Error("the slower population was not seen")
	}
}

// TestOwn: floor 0. Inference is off, the server still rules, and the pace comes back.
func TestOwn(t *testing.T) {
	own := Config{Floor: 0, Ceiling: 30 * time.Second}
	c := newTalk(t, own)
	c.want(c.well(50), 0, CauseFloor, false)
	for range 30 {
		c.want(c.say(Reset, 0, 0), 0, CauseFloor, false)
		c.want(c.say(HeadTimeout, 0, 0), 0, CauseFloor, false)
		c.want(c.say(Success, 200, 2*time.Second), 0, CauseFloor, false)
		c.want(c.say(ClientError, 403, 0), 0, CauseFloor, false)
	}
	c = newTalk(t, own)
	c.say(Success, 200, 5*time.Millisecond)
	if d := c.say(Limited, 429, time.Millisecond); d.Interval != 2*leastBase || !d.Objection {
		t.Errorf("the first 429: %+v", d)
	}
	d := c.say(Limited, 429, time.Millisecond, "Retry-After", "3")
	if d.Next.Sub(d.NotBefore) != 0 || d.Cause != CauseRetryAfter || d.Interval != 4*leastBase {
		t.Errorf("Retry-After: %+v", d)
	}
	began := c.at
	for c.at.Sub(began) < time.Hour && c.s.inForce(own) > 0 {
		c.say(Success, 200, 5*time.Millisecond)
	}
	if iv := c.s.inForce(own); iv != 0 {
		t.Errorf("an hour after the last objection the interval is %v", iv)
	}
	c.s.SetCrawlDelay(own, time.Second)
	c.want(c.well(1), time.Second, CauseCrawlDelay, false)
}

// TestPrice: the interval or what an answer takes, whichever is longer; it changes in steps, and Observe says when.
func TestPrice(t *testing.T) {
	c := newTalk(t, standard)
	if p := c.s.Price(standard); p != time.Second {
		t.Errorf("a host never met: %v", p)
	}
	changes := 0
	price := c.s.Price(standard)
	for range 100 {
		d := c.say(Success, 200, 5*time.Second)
		if now := c.s.Price(standard); d.Changed != (now != price) {
			t.Errorf("Changed = %v from %v to %v", d.Changed, price, now)
		} else if price = now; d.Changed {
			changes++
		}
	}
	if price != 5*time.Second || changes != 1 {
		t.Errorf("price %v after %d changes, want 5 s after 1", price, changes)
	}
	var own State
	if p := own.Price(Config{}); p <= 0 {
		t.Errorf("a price of %v cannot be divided by", p)
	}
}

// TestLoaded: what is put away is aged when it comes back.
func TestLoaded(t *testing.T) {
	c := newTalk(t, standard)
	c.well(30)
	c.say(Limited, 429, time.Millisecond, "Retry-After", "3600")
	end := noon.Add(time.Duration(c.s.met - noon.UnixNano()))
	kept := func(now time.Time) State {
		s := c.s
		s.Loaded(standard, now)
		return s
	}
	if s := kept(end.Add(time.Minute)); !s.NotBefore().Equal(end.Add(time.Hour)) {
		t.Errorf("a minute later: not before %v, want %v", s.NotBefore(), end.Add(time.Hour))
	}
	if s := kept(end.Add(2 * time.Hour)); !s.NotBefore().IsZero() {
		t.Errorf("after it: %v", s.NotBefore())
	}
	// The clock was set back a year: the pause keeps its length.
	back := end.AddDate(-1, 0, 0)
	if s := kept(back); !s.NotBefore().Equal(back.Add(time.Hour)) {
		t.Errorf("a clock set back: not before %v, want %v", s.NotBefore(), back.Add(time.Hour))
	}
	fresh, old := kept(end), kept(end.AddDate(0, 0, 2))
	if old.dwell >= fresh.dwell || old.threshold >= fresh.threshold || old.base == 0 {
		t.Errorf("two days have not aged it: %+v", old)
	}
	if s := kept(end.AddDate(0, 0, 8)); s.base != 0 {
		t.Error("a baseline of a week ago is kept")
	}
	if iv, _ := fresh.Interval(standard); iv < fresh.safe {
		t.Errorf("goes on at %v, faster than the safe %v", iv, fresh.safe)
	}

	// More than a day: parked now, tried again a day after it was received.
	d := c.say(Unavailable, 503, time.Millisecond, "Retry-After", "604800")
	end = noon.Add(time.Duration(c.s.met - noon.UnixNano()))
	if !d.Park || d.NotBefore.Sub(end) != 7*24*time.Hour {
		t.Errorf("a week: %+v", d)
	}
	if s := kept(end.Add(time.Hour)); !s.NotBefore().Equal(end.Add(day)) {
		t.Errorf("loaded: not before %v", s.NotBefore())
	}
}

// TestLoadedAtFloorZero: an interval that inference found does not hold once the host is the operator's own; what the
// server objected to does.
func TestLoadedAtFloorZero(t *testing.T) {
	own := Config{Floor: 0, Ceiling: 30 * time.Second}
	for _, c := range []struct {
		status int
		kind   Kind
		zero   bool
	}{{200, Success, true}, {429, Limited, false}} {
		var s State
		at := time.Unix(1_700_000_000, 0)
		s.Observe(standard, nil, Outcome{Start: at, End: at.Add(50 * time.Millisecond), TTFB: 40 * time.Millisecond, Kind: c.kind, Status: c.status})
		s.Loaded(own, at.Add(time.Minute))
		if iv, _ := s.Interval(own); (iv == 0) != c.zero {
			t.Errorf("after a %d: interval %v at floor 0", c.status, iv)
		}
	}
}
