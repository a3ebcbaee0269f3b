package web

import (
	"slices"
	"sync"
	"time"
)

// What arrives while a machine or process stands still is logged once it runs again: late, and its successor then seems
// early. The web therefore watches its own time, and the judge holds a request that was logged in or right after a
// standstill to have come when that began, at the earliest.
const (
	stallTick = 5 * time.Millisecond // how often the time is looked at
	stallLeft = 2 * time.Millisecond // lateness that timers have anyway
	stallTail = 20 * time.Millisecond
)

// stall is a time in which this process did not get to run; until includes the tail in which it catches up.
type stall struct{ from, until time.Time }

// stalls are in order, and do not overlap.
type stalls []stall

// add takes a standstill in; one that begins while the last is caught up with is part of it.
func (s stalls) add(from, to time.Time) stalls {
	until := to.Add(stallTail)
	if n := len(s); n > 0 && !from.After(s[n-1].until) {
		s[n-1].until = until
		return s
	}
	return append(s, stall{from, until})
}

// arrived is the earliest that what was logged at t can have arrived.
func (s stalls) arrived(t time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(s, t, func(a stall, t time.Time) int { return a.until.Compare(t) })
	if i < len(s) && s[i].from.Before(t) {
		return s[i].from
	}
	return t
}

// watch is a stall detector.
type watch struct {
	mu   sync.Mutex
	seen stalls
}

// run looks at the time until stop is closed.
func (w *watch) run(stop <-chan struct{}) {
	timer := time.NewTimer(stallTick)
	defer timer.Stop()
	for {
		due := time.Now().Add(stallTick)
		timer.Reset(stallTick)
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		if now := time.Now(); now.Sub(due) > stallLeft {
			w.mu.Lock()
			w.seen = w.seen.add(due.Add(-stallTick), now)
			w.mu.Unlock()
		}
	}
}

func (w *watch) stalls() stalls {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}
