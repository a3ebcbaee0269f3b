package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"amble/scheduler"
)

const (
	firstLine  = 5 * time.Second  // a plain line comes so soon,
	plainLines = 30 * time.Second // and then so often
	rewriting  = 500 * time.Millisecond
)

// showProgress writes a line that is rewritten on a terminal, and a plain one now and then elsewhere. It returns when
// ended is closed.
func showProgress(ended <-chan struct{}, s *screen, crawl *scheduler.Crawl) {
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
			line := progressLine(crawl.Live(), now.Sub(began), now)
			if s.live {
				s.rewrite(line)
				timer.Reset(rewriting)
				continue
			}
			s.printf("%s\n", line)
			timer.Reset(plainLines)
		}
	}
}

// progressLine says what goes on: how much is done, how fast, what is left, and for whom the crawl waits and why.
func progressLine(l scheduler.Live, elapsed time.Duration, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s pages %.1f/s %s queued", clock(elapsed), count(l.Pages), l.PagesPerSecond, count(l.Queued))
	if l.Failed > 0 {
		fmt.Fprintf(&b, " %s failed", count(l.Failed))
	}
	if l.InFlight > 0 {
		fmt.Fprintf(&b, " %d in flight", l.InFlight)
	}
	fmt.Fprintf(&b, " %d ready %d waiting", l.Ready, l.Waiting)
	if l.Paused != "" {
		fmt.Fprintf(&b, "; PAUSED: %s", printable(l.Paused))
		return b.String()
	}
	if l.Ready == 0 && l.NextHost != "" {
		fmt.Fprintf(&b, ": %s %s %s", l.NextHost, span(l.NextStart.Sub(now)), l.NextCause)
	}
	if len(l.WaitingFor) > 0 {
		if w := l.WaitingFor[0]; l.Ready > 0 || w.Host != l.NextHost {
			fmt.Fprintf(&b, "; longest %s %s %s", w.Host, span(w.Until.Sub(now)), w.Cause)
		}
	}
	return b.String()
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
