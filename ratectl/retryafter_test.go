package ratectl

import (
	"net/http"
	"testing"
	"time"
)

// noon is the present in the tables.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	const rfc850, asctime = "Monday, 02-Jan-06 15:04:05 GMT", "Mon Jan _2 15:04:05 2006"
	in10 := noon.Add(10 * time.Second)
	tests := []struct {
		name  string
		lines []string
		date  string
		want  time.Duration
		ok    bool
	}{
		{"seconds", []string{"7"}, "", 7 * time.Second, true},
		{"blanks around", []string{" \t7 "}, "", 7 * time.Second, true},
		{"zero", []string{"0"}, "", 0, true},
		{"a past date", []string{"Sun, 06 Nov 1994 08:49:37 GMT"}, "", 0, true},
		{"IMF-fixdate", []string{in10.Format(http.TimeFormat)}, "", 10 * time.Second, true},
		{"RFC 850", []string{in10.Format(rfc850)}, "", 10 * time.Second, true},
		{"asctime", []string{in10.Format(asctime)}, "", 10 * time.Second, true},
		{"asctime, one digit of a day", []string{"Wed Dec  2 12:00:00 2026"}, "", 24 * time.Hour, true},
		{"negative", []string{"-5"}, "", 0, false},
		{"beyond every integer", []string{"99999999999999999999"}, "", maxSpan, true},
		{"fraction", []string{"1.5"}, "", 0, false},
		{"empty", []string{""}, "", 0, false},
		{"blank", []string{"  "}, "", 0, false},
		{"absent", nil, "", 0, false},
		{"two lines", []string{"5", "20"}, "", 20 * time.Second, true},
		{"two lines, the longest first", []string{"20", "5"}, "", 20 * time.Second, true},
		{"two lines, one malformed", []string{"soon", "5"}, "", 5 * time.Second, true},
		{"a sign", []string{"+5"}, "", 0, false},
		{"another zone", []string{"Tue, 01 Dec 2026 12:00:10 CET"}, "", 0, false},
		{"more than a day, as it is", []string{"172800"}, "", 48 * time.Hour, true},
		// The response's own Date is what a date is measured against: here the server is an hour ahead.
		{"own Date", []string{noon.Add(time.Hour + 10*time.Second).Format(http.TimeFormat)}, noon.Add(time.Hour).Format(http.TimeFormat), 10 * time.Second, true},
		{"own Date in another form", []string{noon.Add(time.Hour + 10*time.Second).Format(rfc850)}, noon.Add(time.Hour).Format(asctime), 10 * time.Second, true},
		{"own Date malformed", []string{in10.Format(http.TimeFormat)}, "yesterday", 10 * time.Second, true},
		// RFC 9110 section 5.6.7: two digits of a year are at most 50 years ahead. 2070 is 44 years ahead of 2026; 1977 is past.
		{"RFC 850, the next century's half", []string{"Monday, 01-Dec-70 12:00:00 GMT"}, "", maxSpan, true},
		{"RFC 850, long past", []string{"Thursday, 01-Dec-77 12:00:00 GMT"}, "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for _, l := range tt.lines {
				h.Add("Retry-After", l)
			}
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			d, ok := RetryAfter(h, noon)
			if d != tt.want || ok != tt.ok {
				t.Errorf("RetryAfter(%q) = %v, %v; want %v, %v", tt.lines, d, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestRetryAfterSilence is what the host sees for each value: how long it hears nothing. Without a value that counts, it is the
// default back-off, twice the interval.
func TestRetryAfterSilence(t *testing.T) {
	const response = 20 * time.Millisecond
	end := noon.Add(response)
	backOff := 2*startInterval - response // from the response's end
	tests := []struct {
		name   string
		kind   Kind
		status int
		lines  []string
		want   time.Duration
		cause  Cause
	}{
		{"429 seconds", Limited, 429, []string{"7"}, 7 * time.Second, CauseRetryAfter},
		{"503 seconds", Unavailable, 503, []string{"7"}, 7 * time.Second, CauseRetryAfter},
		{"past date", Unavailable, 503, []string{"Sun, 06 Nov 1994 08:49:37 GMT"}, backOff, CauseLimited},
		{"negative", Limited, 429, []string{"-5"}, backOff, CauseLimited},
		{"overflow", Limited, 429, []string{"99999999999999999999"}, maxSpan, CauseRetryAfter},
		{"fraction", Limited, 429, []string{"1.5"}, backOff, CauseLimited},
		{"empty", Unavailable, 503, []string{""}, backOff, CauseLimited},
		{"two lines", Limited, 429, []string{"5", "20"}, 20 * time.Second, CauseRetryAfter},
		{"301", Success, 301, []string{"12"}, 12 * time.Second, CauseRetryAfter},
		{"302", Success, 302, []string{"12"}, 12 * time.Second, CauseRetryAfter},
		{"longer than the ceiling", Limited, 429, []string{"120"}, 120 * time.Second, CauseRetryAfter},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s State
			d := s.Observe(standard, nil, Outcome{Start: noon, End: end, Kind: tt.kind, Status: tt.status,
				Header: http.Header{"Retry-After": tt.lines}})
			if got := d.Next.Sub(end); got != tt.want || d.Cause != tt.cause {
				t.Errorf("silent for %v because of %s, want %v because of %s", got, d.Cause, tt.want, tt.cause)
			}
			if d.Park != (tt.want > 24*time.Hour) {
				t.Errorf("Park = %v", d.Park)
			}
			if tt.cause == CauseRetryAfter && (!d.NotBefore.Equal(d.Next) || !s.NotBefore().Equal(d.Next)) {
				t.Errorf("not before %v and %v, next %v", d.NotBefore, s.NotBefore(), d.Next)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"7", "", "-5", "1.5", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(v, "Tue, 01 Dec 2026 12:00:00 GMT", int64(0))
	}
	f.Fuzz(func(t *testing.T, v, date string, unix int64) {
		now := time.Unix(unix, 0)
		d, ok := RetryAfter(http.Header{"Retry-After": {v}, "Date": {date}}, now)
		if d < 0 || d > maxSpan || !ok && d != 0 {
			t.Errorf("%q at %v: %v, %v", v, now, d, ok)
		}
		both, _ := RetryAfter(http.Header{"Retry-After": {v, "9"}, "Date": {date}}, now)
		if both != max(d, 9*time.Second) {
			t.Errorf("with a second line of 9: %v, want the longer of it and %v", both, d)
		}
	})
}
