package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"amble/configs"
	"amble/ratectl"
	"amble/scheduler"
)

const (
	firstLine  = 5 * time.Second  // a plain line comes so soon,
	plainLines = 30 * time.Second // and then so often
	rewriting  = 500 * time.Millisecond
)

// showProgress writes a line that is rewritten on a terminal, and a plain one now and then elsewhere. It returns when
// ended is closed.
func showProgress(ended <-chan struct{}, s *screen, crawl *scheduler.Crawl, cfg configs.Config) {
	began := time.Now()
	next := firstLine
	if s.live {
		next = rewriting
	}
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-ended:
			s.rewrite("")
			return
		case now := <-timer.C:
			fields := progressFields(crawl.Live(), cfg, now.Sub(began), now)
			if s.live {
				s.show(fields)
				timer.Reset(rewriting)
				continue
			}
			s.printf("%s\n", fit(fields, math.MaxInt))
			timer.Reset(plainLines)
		}
	}
}

// progressFields say what goes on, the most important first: how much is done, how fast, what is left, for whom the
// crawl waits and why, and the rest.
func progressFields(l scheduler.Live, cfg configs.Config, elapsed time.Duration, now time.Time) []field {
	fields := []field{{plural(l.Pages, "page")}, {fmt.Sprintf("%.1f/s", l.PagesPerSecond)}, {count(l.Queued) + " queued", roughly(l.Queued) + " queued"}}
	switch {
	case l.Paused != "":
		fields = append(fields, field{"PAUSED: " + printable(l.Paused), "PAUSED"})
	case l.Ready == 0 && l.NextHost != "":
		// What is known may be a second old, and the host's time come since.
		wait, why := "waits", causeWords(l.NextCause)
		if d := l.NextStart.Sub(now); d > 0 {
			wait += " " + span(d)
		}
		forms := field{wait + " for " + l.NextHost, wait}
		if why != "" {
			forms = field{forms[0] + " (" + why + ")", wait + " (" + why + ")", wait}
		}
		fields = append(fields, forms)
	}
	if l.Failed > 0 {
		fields = append(fields, field{count(l.Failed) + " failed"})
	}
	if limits := describeLimits(cfg); limits != "" {
		fields = append(fields, field{"limit " + limits})
	}
	fields = append(fields, field{size(l.Bytes)}, field{clock(elapsed)})
	if l.InFlight > 0 {
		fields = append(fields, field{fmt.Sprintf("%d in flight", l.InFlight)})
	}
	fields = append(fields, field{fmt.Sprintf("hosts: %d ready, %d waiting", l.Ready, l.Waiting)})
	if len(l.WaitingFor) > 0 && l.Paused == "" {
		if w := l.WaitingFor[0]; l.Ready > 0 || w.Host != l.NextHost {
			longest := fmt.Sprintf("longest %s for %s", span(w.Until.Sub(now)), w.Host)
			if why := causeWords(w.Cause); why != "" {
				longest += " (" + why + ")"
			}
			fields = append(fields, field{longest})
		}
	}
	return fields
}

// causeWords says why a host waits, for people: "" where that is its usual pace.
func causeWords(cause string) string {
	if words, ok := causes[ratectl.Cause(cause)]; ok {
		return words
	}
	return cause
}

var causes = map[ratectl.Cause]string{
	ratectl.CauseStart: "", ratectl.CauseFloor: "", ratectl.CauseProbe: "", ratectl.CauseRecover: "", ratectl.CauseSteady: "",
	ratectl.CauseRetryAfter: "Retry-After", ratectl.CauseRateLimit: "RateLimit", ratectl.CauseLimited: "asked to slow down",
	ratectl.CauseBlocked: "blocks the crawler", ratectl.CauseLatency: "slow answers", ratectl.CauseTail: "some slow answers",
	ratectl.CauseFailures: "cannot connect", ratectl.CauseShared: "shared limit", ratectl.CauseOverride: "pace set by hand",
}

// moment is a time of day for people, with its zone.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// plural is a number and what it counts: "1 host", "2,000 hosts".
func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// clock is an elapsed time as 1:02:03 or 02:03.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// span is a duration as people say it: 0.4s, 28s, 3m10s, 5h2m.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// count is a number with its thousands apart.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// roughly is a number in at most five characters, below 10^15.
func roughly(n int64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G", "T"} {
		if n < 10_000 {
			break
		}
		n, unit = n/1000, u
	}
	return fmt.Sprint(n) + unit
}

// size is a number of bytes in the unit people read.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// tally lists counts by name, the largest first: "12 scope, 5 robots".
func tally(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return int(max(-1, min(1, counts[b]-counts[a])))
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, n := range names {
		if counts[n] > 0 {
			parts = append(parts, count(counts[n])+" "+n)
		}
	}
	return strings.Join(parts, ", ")
}
