package ratectl

import (
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// policyMargin keeps a pace a little under what a policy permits: clocks differ, and windows do not begin with us.
	policyMargin = 1.02
	// policyLife is for how long a policy holds that is not repeated.
	policyLife = time.Hour
	// longestReset is the longest reset that is believed; beyond it the number is not a reset.
	longestReset = 24 * time.Hour
)

// quota is what the rate limit fields of one response ask for.
type quota struct {
	// pace is the shortest interval between two starts, 0 when nothing was said; life is for how long it holds.
	pace, life time.Duration
	// wait is how long nothing is left to use.
	wait time.Duration
}

func (q *quota) demand(pace, life time.Duration) {
	if pace = min(pace, longestReset); pace > q.pace {
		q.pace, q.life = pace, life
	}
}

// left takes in how many requests are left for a time.
func (q *quota) left(n int64, t time.Duration) {
	switch {
	case n < 0 || t <= 0 || t > longestReset:
	case n == 0:
		q.wait = max(q.wait, t)
	default:
		q.demand(time.Duration(float64(t)/(float64(n)+1)), t)
	}
}

// rateLimit reads every known spelling of a rate limit: RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers-11 sections 3 and 4), their form in drafts 03 to 07, and X-RateLimit-*. They
// only ever slow the crawl: a generous quota is not an invitation (section 4.1.1). Of several limits the strictest
// counts. A malformed field is ignored as a whole (section 7).
func rateLimit(h http.Header, now time.Time) (q quota) {
	if v := h["Ratelimit-Policy"]; v != nil {
		q.policies(v)
	}
	if v := h["Ratelimit"]; v != nil {
		q.limits(v)
	}
	q.counters(h["Ratelimit-Limit"], h["Ratelimit-Remaining"], h, "Ratelimit-Reset", now)
	q.counters(h["X-Ratelimit-Limit"], h["X-Ratelimit-Remaining"], h, "X-Ratelimit-Reset", now)
	return q
}

// policies reads a List of quota policies: "name";q=100;w=60 (draft 11 section 3.1), or 100;w=60 (drafts 03 to 07).
func (q *quota) policies(lines []string) {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return
	}
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok || !ofRequests(item.Params) {
			continue
		}
		n, ok := integer(item.Params, "q")
		if !ok {
			n, ok = item.Value.(int64)
		}
		w, timed := integer(item.Params, "w")
		if ok && timed && n > 0 && w > 0 {
			q.demand(time.Duration(policyMargin*float64(seconds(w))/float64(n)), policyLife)
		}
	}
}

// limits reads a List of service limits: "name";r=50;t=30 (draft 11 section 4.1), or the Dictionary
// limit=100, remaining=50, reset=30 of draft 07.
func (q *quota) limits(lines []string) {
	if list, err := httpsfv.UnmarshalList(lines); err == nil {
		found := false
		for _, m := range list {
			item, ok := m.(httpsfv.Item)
			if !ok {
				continue
			}
			r, ok := integer(item.Params, "r")
			t, timed := integer(item.Params, "t")
			if ok && timed {
				found = true
				q.left(r, seconds(t))
			}
		}
		if found {
			return
		}
	}
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return
	}
	r, ok := member(dict, "remaining")
	t, timed := member(dict, "reset")
	if ok && timed {
		q.left(r, seconds(t))
	}
}

// counters reads a triple of limit, remaining and reset. The reset is in seconds, or an instant in seconds or
// milliseconds of Unix time: the three are magnitudes apart. The limit of drafts 03 to 06 may carry policies.
func (q *quota) counters(limit, remaining []string, h http.Header, reset string, now time.Time) {
	if len(limit) > 0 && strings.Contains(limit[0], ";") {
		q.policies(limit)
	}
	if len(remaining) == 0 {
		return
	}
	until := h[reset]
	if len(until) == 0 {
		return
	}
	n, ok := leading(remaining[0])
	at, timed := leading(until[0])
	if !ok || !timed {
		return
	}
	switch {
	case at < 1e8:
		q.left(n, seconds(at))
	case at > 1e12:
		q.left(n, time.UnixMilli(min(at, 1e14)).Sub(now))
	default:
		q.left(n, time.Unix(at, 0).Sub(now))
	}
}

// leading reads the whole number at the beginning of a field that may go on with a list, parameters or a fraction.
func leading(v string) (int64, bool) {
	v = strings.Trim(v, " \t")
	if i := strings.IndexAny(v, ",; ."); i >= 0 {
		v = v[:i]
	}
	return digits(v)
}

func integer(p *httpsfv.Params, key string) (int64, bool) {
	v, ok := p.Get(key)
	if !ok {
		return 0, false
	}
	n, ok := v.(int64)
	return n, ok
}

func member(d *httpsfv.Dictionary, key string) (int64, bool) {
	m, ok := d.Get(key)
	if !ok {
		return 0, false
	}
	item, ok := m.(httpsfv.Item)
	if !ok {
		return 0, false
	}
	n, ok := item.Value.(int64)
	return n, ok
}

// ofRequests tells whether a policy counts requests, which is what the unit is when none is given (draft 11 section 3.1.2).
func ofRequests(p *httpsfv.Params) bool {
	v, ok := p.Get("qu")
	if !ok {
		return true
	}
	s, ok := v.(string)
	return ok && s == "requests"
}
