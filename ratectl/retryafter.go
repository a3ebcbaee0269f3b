package ratectl

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// maxSpan bounds every duration that comes from outside, so that no sum with a present time can overflow.
const maxSpan = 10 * 365 * 24 * time.Hour

// RetryAfter reads the field (RFC 9110 section 10.2.3): seconds or one of the three date forms, a date against the
// response's own Date field, else against now. Several lines: the longest. ok is false for absent, negative and malformed values;
// more than 24 h is returned as it is, and what is beyond ten years counts as ten years. A date that has passed is (0, true).
func RetryAfter(h http.Header, now time.Time) (d time.Duration, ok bool) {
	for _, line := range h["Retry-After"] {
		if v, good := retryAfter(strings.Trim(line, " \t"), h, now); good {
			d, ok = max(d, v), true
		}
	}
	return d, ok
}

func retryAfter(v string, h http.Header, now time.Time) (time.Duration, bool) {
	if v == "" {
		return 0, false
	}
	if n, ok := digits(v); ok {
		return seconds(n), true
	}
	at, ok := httpDate(v, now)
	if !ok {
		return 0, false
	}
	// The server's clock is compared with itself: its offset from ours drops out.
	if own := h["Date"]; len(own) > 0 {
		if t, ok := httpDate(strings.Trim(own[0], " \t"), now); ok {
			now = t
		}
	}
	return min(max(at.Sub(now), 0), maxSpan), true
}

// httpDate reads an HTTP-date in one of its three forms (RFC 9110 section 5.6.7), always in UTC.
func httpDate(v string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse(time.ANSIC, v); err == nil {
		return t, true
	}
	if !strings.HasSuffix(v, " GMT") {
		return time.Time{}, false
	}
	if t, err := time.Parse(http.TimeFormat, v); err == nil {
		return t, true
	}
	t, err := time.Parse("Monday, 02-Jan-06 15:04:05 GMT", v)
	if err != nil {
		return time.Time{}, false
	}
	// Two digits of a year: never more than 50 years ahead, as the section demands, whatever century the parser chose.
	switch {
	case t.Before(now.AddDate(-50, 0, 0)):
		t = t.AddDate(100, 0, 0)
	case t.After(now.AddDate(50, 0, 0)):
		t = t.AddDate(-100, 0, 0)
	}
	return t, true
}

// digits reads 1*DIGIT; what does not fit is as large as can be.
func digits(v string) (n int64, ok bool) {
	for i := range len(v) {
		c := v[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return n, v != ""
}

// seconds is n seconds, at most maxSpan.
func seconds(n int64) time.Duration {
	if n > int64(maxSpan/time.Second) {
		return maxSpan
	}
	return time.Duration(max(n, 0)) * time.Second
}
