package ratectl

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestRateLimit(t *testing.T) {
	epoch := strconv.FormatInt(noon.Unix()+60, 10)
	milli := strconv.FormatInt(noon.UnixMilli()+60_000, 10)
	tests := []struct {
		name       string
		fields     [][2]string
		pace, wait float64 // seconds
	}{
		{"nothing", nil, 0, 0},
		// draft-ietf-httpapi-ratelimit-headers-11 section 3.
		{"policy", [][2]string{{"RateLimit-Policy", `"default";q=100;w=10`}}, 0.102, 0},
		{"the strictest of two", [][2]string{{"RateLimit-Policy", `"permin";q=50;w=60,"perhr";q=1000;w=3600`}}, 3.672, 0},
		{"two lines are one list", [][2]string{{"RateLimit-Policy", `"permin";q=50;w=60`}, {"RateLimit-Policy", `"perhr";q=1000;w=3600`}}, 3.672, 0},
		{"a unit that is not requests", [][2]string{{"RateLimit-Policy", `"peruser";q=65535;qu="content-bytes";w=10`}}, 0, 0},
		{"the unit said", [][2]string{{"RateLimit-Policy", `"p";q=10;qu="requests";w=10`}}, 1.02, 0},
		{"no window", [][2]string{{"RateLimit-Policy", `"p";q=10`}}, 0, 0},
		{"no quota", [][2]string{{"RateLimit-Policy", `"p";q=0;w=10`}}, 0, 0},
		{"malformed, ignored whole", [][2]string{{"RateLimit-Policy", `"p";q=1;w=10, "`}}, 0, 0},
		{"partition key", [][2]string{{"RateLimit-Policy", `"peruser";q=100;w=60;pk=:cHsdsRa894==:`}}, 0.612, 0},
		// Section 4.
		{"left", [][2]string{{"RateLimit", `"default";r=59;t=30`}}, 0.5, 0},
		{"none left", [][2]string{{"RateLimit", `"default";r=0;t=10`}}, 0, 10},
		{"no window left", [][2]string{{"RateLimit", `"default";r=999`}}, 0, 0},
		{"a window over a day", [][2]string{{"RateLimit", `"default";r=0;t=100000`}}, 0, 0},
		{"negative", [][2]string{{"RateLimit", `"default";r=-1;t=10`}}, 0, 0},
		{"beyond every integer", [][2]string{{"RateLimit", `"default";r=1;t=99999999999999999999`}}, 0, 0},
		// Older drafts.
		{"draft 07", [][2]string{{"RateLimit", "limit=100, remaining=9, reset=20"}}, 2, 0},
		{"draft 07, none left", [][2]string{{"RateLimit", "limit=100, remaining=0, reset=20"}}, 0, 20},
		{"draft 07 policy", [][2]string{{"RateLimit-Policy", "10;w=1, 50;w=60"}}, 1.224, 0},
		{"draft 03", [][2]string{{"RateLimit-Limit", "100, 100;w=10"}, {"RateLimit-Remaining", "9"}, {"RateLimit-Reset", "50"}}, 5, 0},
		// In the wild.
		{"X-, delta", [][2]string{{"X-RateLimit-Limit", "60"}, {"X-RateLimit-Remaining", "29"}, {"X-RateLimit-Reset", "60"}}, 2, 0},
		{"X-, Unix time", [][2]string{{"X-RateLimit-Remaining", "29"}, {"X-RateLimit-Reset", epoch}}, 2, 0},
		{"X-, milliseconds", [][2]string{{"X-RateLimit-Remaining", "29"}, {"X-RateLimit-Reset", milli}}, 2, 0},
		{"X-, none left", [][2]string{{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", epoch}}, 0, 60},
		{"X-, fraction", [][2]string{{"X-RateLimit-Remaining", "29"}, {"X-RateLimit-Reset", "60.25"}}, 2, 0},
		{"X-, past", [][2]string{{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1000000000"}}, 0, 0},
		{"X-, over a day", [][2]string{{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "90000"}}, 0, 0},
		{"X-, not a number", [][2]string{{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "soon"}}, 0, 0},
		{"X-, a limit alone", [][2]string{{"X-RateLimit-Limit", "60"}}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for _, f := range tt.fields {
				h.Add(f[0], f[1])
			}
			q := rateLimit(h, noon)
			if math.Abs(q.pace.Seconds()-tt.pace) > 1e-6 || math.Abs(q.wait.Seconds()-tt.wait) > 1e-6 {
				t.Errorf("pace %v, wait %v; want %v s, %v s", q.pace, q.wait, tt.pace, tt.wait)
			}
		})
	}
}

// TestRateLimitIsAFloor: the fields slow the host for as long as they hold, and a generous quota changes nothing.
func TestRateLimitIsAFloor(t *testing.T) {
	var s State
	see := func(at time.Time, h http.Header) Decision {
		return s.Observe(standard, nil, Outcome{Start: at, End: at, Kind: Success, Status: 200, Header: h})
	}
	if d := see(noon, http.Header{"Ratelimit-Policy": {`"p";q=1000;w=1`}}); d.Interval != startInterval {
		t.Errorf("a generous policy: %v", d.Interval)
	}
	if d := see(noon, http.Header{"Ratelimit-Policy": {`"p";q=1;w=100`}}); d.Interval != 102*time.Second || d.Cause != CauseRateLimit {
		t.Errorf("a policy slower than the ceiling: %v, %s", d.Interval, d.Cause)
	}
	if d := see(noon.Add(59*time.Minute), nil); d.Interval != 102*time.Second {
		t.Errorf("within the hour: %v", d.Interval)
	}
	if d := see(noon.Add(61*time.Minute), nil); d.Interval > startInterval {
		t.Errorf("after the hour: %v", d.Interval)
	}
	d := see(noon.Add(62*time.Minute), http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"40"}})
	if want := noon.Add(62*time.Minute + 40*time.Second); !d.Next.Equal(want) || d.Cause != CauseRateLimit || d.Objection {
		t.Errorf("nothing left: next %v, %s, objection %v", d.Next, d.Cause, d.Objection)
	}
	// Draft 11 section 7: Retry-After takes precedence over the window.
	d = see(noon.Add(2*time.Hour), http.Header{"Ratelimit": {`"p";r=0;t=600`}, "Retry-After": {"30"}})
	if want := noon.Add(2*time.Hour + 30*time.Second); !d.Next.Equal(want) || d.Cause != CauseRetryAfter {
		t.Errorf("with Retry-After: next %v, %s", d.Next, d.Cause)
	}
}

func FuzzRateLimit(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"burst";q=100;w=60,"daily";q=1000;w=86400`, "9", "60")
	f.Add("limit=100, remaining=50, reset=5", "10;w=1, 50;w=60", "0", "1796126400")
	f.Add(`"a";r=0;t=86401`, `"a";q=1;w=999999999999999`, "-1", "99999999999999999999")
	f.Fuzz(func(t *testing.T, limit, policy, remaining, reset string) {
		q := rateLimit(http.Header{"Ratelimit": {limit}, "Ratelimit-Policy": {policy},
			"X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset}}, noon)
		if q.pace < 0 || q.pace > longestReset || q.wait < 0 || q.wait > longestReset || q.pace > 0 && (q.life <= 0 || q.life > longestReset) {
			t.Errorf("%+v", q)
		}
	})
}
