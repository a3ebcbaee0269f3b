package web

import (
	"fmt"
	"slices"
	"time"
)

// Breach is a broken politeness promise.
type Breach struct {
	Promise string // floor, crawl-delay, retry-after, robots-first, disallow, in-flight
	Host    string
	Detail  string
}

func (b Breach) String() string { return b.Host + ": " + b.Promise + ": " + b.Detail }

// The promises.
const (
	promiseFloor      = "floor"
	promiseCrawlDelay = "crawl-delay"
	promiseRetryAfter = "retry-after"
	promiseRobots     = "robots-first"
	promiseDisallow   = "disallow"
	promiseInFlight   = "in-flight"
)

// policy is what a host demands, from its own configuration.
type policy struct {
	delay        time.Duration
	robotsEnd    place
	robotsHops   map[string]bool
	forbidden    map[string]bool
	allForbidden bool
}

// Judge checks the log against the promises: between the starts of any two consecutive requests of a host, of whatever
// kind, lies the floor, or the host's Crawl-delay once its robots.txt was served; no request comes before the host's
// robots.txt was answered, none for what it forbids, none inside a Retry-After that was sent, and none while another is
// in flight.
//
// jitter is by how much a request may be logged later than it was made, on a busy machine or a slow path: its successor
// then seems early by so much. It is allowed once, not once a request: over any run of requests of a host the gaps add
// up to what they should, less one jitter.
func (w *Web) Judge(floor, jitter time.Duration) []Breach {
	policies := map[string]policy{}
	for _, s := range w.sites {
		policies[s.host] = policy{
			delay: s.delay, robotsEnd: s.robotsEnd, robotsHops: s.robotsHops,
			forbidden: s.forbidden, allForbidden: s.allForbidden,
		}
	}
	return judge(policies, w.Requests(), w.watch.stalls(), floor, jitter)
}

// judge is Judge over any log, which is in order of Start.
func judge(policies map[string]policy, log []Request, late stalls, floor, jitter time.Duration) []Breach {
	hosts := map[string][]Request{}
	answered := map[place]time.Time{}
	for _, r := range log {
		hosts[r.Host] = append(hosts[r.Host], r)
		p := place{r.Host, r.Target}
		if _, known := answered[p]; !known && !r.End.IsZero() {
			answered[p] = r.End
		}
	}
	var keys []string
	for h := range hosts {
		keys = append(keys, h)
	}
	slices.Sort(keys)
	var found []Breach
	for _, h := range keys {
		p, known := policies[h]
		if !known {
			found = append(found, Breach{promiseDisallow, h, "no such host"})
			continue
		}
		served, ok := answered[p.robotsEnd]
		found = append(found, judgeHost(h, p, hosts[h], served, ok, late, floor, jitter)...)
	}
	return found
}

// judgeHost checks the requests of one host, whose robots.txt was answered at served, if ever.
func judgeHost(
	host string, p policy, rs []Request, served time.Time, ever bool, late stalls, floor, jitter time.Duration,
) []Breach {
	var found []Breach
	breach := func(promise, format string, args ...any) {
		found = append(found, Breach{promise, host, fmt.Sprintf(format, args...)})
	}
	var notBefore, free time.Time
	// due is when the request may come: the latest of the earlier requests' starts plus the gaps since.
	var due time.Time
	var busy *Request // the request that occupies the host until free, or for ever
	for i := range rs {
		r := &rs[i]
		early := r.Start.Add(jitter)
		if !p.robotsHops[r.Target] {
			switch {
			case !ever:
				breach(promiseRobots, "%s although robots.txt was never answered", r.Target)
			case early.Before(served):
				breach(promiseRobots, "%s %v before robots.txt was answered", r.Target, served.Sub(r.Start))
			}
			if p.allForbidden || p.forbidden[r.Target] {
				breach(promiseDisallow, "%s is forbidden", r.Target)
			}
		}
		want, promise := floor, promiseFloor
		if ever && p.delay > floor && r.Start.After(served) {
			want, promise = p.delay, promiseCrawlDelay
		}
		if i > 0 {
			due = due.Add(want)
			if early.Before(due) {
				breach(promise, "%s %v after %s, wanted %v (%v early over the run)",
					r.Target, r.Start.Sub(rs[i-1].Start), rs[i-1].Target, want, due.Sub(r.Start))
				due = r.Start
			}
		}
		if came := late.arrived(r.Start); came.After(due) {
			due = came
		}
		if early.Before(notBefore) {
			breach(promiseRetryAfter, "%s %v too early", r.Target, notBefore.Sub(r.Start))
		}
		if busy != nil && (free.IsZero() || early.Before(free)) {
			breach(promiseInFlight, "%s while %s was in flight", r.Target, busy.Target)
		}
		if r.NotBefore.After(notBefore) {
			notBefore = r.NotBefore
		}
		if busy == nil || r.End.IsZero() || (!free.IsZero() && r.End.After(free)) {
			busy, free = r, r.End
		}
	}
	return found
}
