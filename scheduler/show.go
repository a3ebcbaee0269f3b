package scheduler

import (
	"os"
	"time"
)

// rateSpan is what the shown rate is taken over.
const rateSpan = 10

// show takes the picture that Live gives out.
func (c *Crawl) show(now time.Time) {
	core := c.core
	l := Live{Status: core.count.status(), InFlight: core.inflight, Paused: core.paused}
	l.State, l.Job, l.PID = "running", c.dir, os.Getpid()
	l.Started, l.Updated = Moment{c.started}, Moment{now}
	l.fillFrom(core.f)
	for _, h := range core.heap {
		w := Wait{Host: h.key, Cause: string(h.cause), Until: h.next}
		if !h.next.After(now) {
			l.Ready++
			continue
		}
		l.Waiting++
		if l.NextHost == "" || h.next.Before(l.NextStart.Time) {
			l.NextHost, l.NextStart, l.NextCause = h.key, Moment{h.next}, w.Cause
		}
		l.WaitingFor = longest(l.WaitingFor, w)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.Archive = c.live.Archive
	if l.Archive.Segment == "" {
		l.Archive = archiveEnds(c.ends)
	}
	l.rates = append(c.live.rates, pagesAt{now, l.Pages})
	if n := len(l.rates); n > rateSpan {
		l.rates = l.rates[n-rateSpan:]
	}
	if d := now.Sub(l.rates[0].at).Seconds(); d > 0 {
		l.PagesPerSecond = float64(l.Pages-l.rates[0].pages) / d
	}
	c.live = l
}

type pagesAt struct {
	at    time.Time
	pages int64
}

// longest keeps the three hosts that wait longest, longest first.
func longest(ws []Wait, w Wait) []Wait {
	const most = 3
	i := len(ws)
	for i > 0 && ws[i-1].Until.Before(w.Until) {
		i--
	}
	if i >= most {
		return ws
	}
	ws = append(ws, Wait{})
	copy(ws[i+1:], ws[i:])
	ws[i] = w
	return ws[:min(len(ws), most)]
}
