package scheduler

import (
	"fmt"
	"strings"
	"time"

	"amble/fetcher/capture"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
)

// unconnected tells that no connection to the host stood, so that nothing was asked of it.
func unconnected(c *capture.Capture) bool {
	switch c.Class {
	case capture.DNS, capture.Refused, capture.TimeoutConnect, capture.TLS, capture.Address:
		return !c.Sent
	}
	return false
}

// putBack has a job's request made again at its host's next turn, as if it had not been made.
func (c *core) putBack(j *job) {
	switch {
	case j.kind != jobRules:
		c.f.Return(j.item)
	case j.hops > 0:
		j.host.hops = append(j.host.hops, robotsHop{origin: j.origin, url: j.url, n: j.hops})
	default:
		j.origin.state = rulesUnknown
	}
}

// unsent puts a job back that made no request that counts: it was put off, or cut short by the operator.
func (c *core) unsent(j *job, cap *capture.Capture) {
	h := j.host
	c.putBack(j)
	if !cap.Deferred.IsZero() {
		h.ticket = cap.Deferred
		h.next = cap.Deferred
	}
	c.put(h)
}

// unconnected deals with a host that cannot be reached at all. It says nothing about the URL, so the URL waits; the
// host is parked, and given up after the last pause. A name that
// the name server denies, or a certificate that does not verify, is given up at the second time.
func (c *core) unconnected(j *job, cap *capture.Capture, now time.Time) string {
	h := j.host
	if j.kind == jobRules {
		if h != j.origin.host {
			j.origin.why = "its redirect leads to " + h.key + ": " + because(cap)
			c.rulesUnreachable(j.origin, time.Time{}, now)
			if err := c.wake(j.origin.host.id, now); err != nil {
				return "failed"
			}
		} else {
			j.origin.state = rulesUnknown
			if j.origin.group != nil {
				c.rulesUnreachable(j.origin, time.Time{}, now)
			}
		}
	} else {
		c.f.Return(j.item)
	}
	if cap.Class == capture.Address {
		if j.kind != jobRules || h == j.origin.host {
			j.origin.state, j.origin.why = rulesRefused, refusal(cap, h)
		}
		return "skipped"
	}
	if !cap.NoSuchHost && c.fallBack(j, now) {
		return "http instead"
	}
	h.why = because(cap)
	// What will not heal by waiting is tried once more, soon.
	pause, giveUp := 10*time.Second, h.parks >= 1
	if !cap.NoSuchHost && cap.Class != capture.TLS {
		giveUp = h.parks >= len(pauses)
		pause = pauses[min(h.parks, len(pauses)-1)]
	}
	if giveUp {
		h.dead = frontier.ReasonHostUnreachable
		h.next = now
		c.event("park", h.key, j.origin.name, "given up for this run: "+string(cap.Class), now)
		return "given up"
	}
	h.parks++
	h.next, h.cause = now.Add(pause), ratectl.CauseFailures
	if h.parks == 1 {
		c.say(ofHost, fmt.Sprintf("%s: %s; tried again in %s", quote(h.key), h.why, pause))
	}
	c.event("park", h.key, j.origin.name, fmt.Sprintf("%s: tried again in %s", cap.Class, pause), now)
	return "parked"
}

// refusal says why the address guard refuses a host, and what opens it.
func refusal(cap *capture.Capture, h *host) string {
	name := hostname(h.key)
	if strings.Contains(cap.Err, "contact") {
		return cap.Err + "; name yours with --contact, or give --own " + name + " if the host is yours"
	}
	return cap.Err + "; --allow-private opens it, or --own " + name + " if the host is yours"
}

// because says in a few words why an exchange gave nothing.
func because(c *capture.Capture) string {
	words := map[capture.Class]string{
		capture.DNS: "its name cannot be resolved", capture.Refused: "the connection is refused", capture.Reset: "the connection was reset",
		capture.TimeoutConnect: "no connection in time", capture.TimeoutHead: "no answer in time", capture.TimeoutBody: "no answer in time",
		capture.TLS: "TLS failed", capture.Protocol: "the answer is not HTTP",
	}[c.Class]
	if c.NoSuchHost {
		words = "there is no such name; is it spelt right?"
	}
	if words == "" {
		words = string(c.Class)
	}
	if c.Err != "" && !c.NoSuchHost {
		words += " (" + c.Err + ")"
	}
	return words
}

// fallBack goes on with http for a seed line without a scheme whose https does not connect.
func (c *core) fallBack(j *job, now time.Time) bool {
	it := j.item
	if j.kind == jobRules {
		var ok bool
		var err error
		if it, ok, _, err = c.f.Offer(j.host.id, now); err != nil || !ok {
			return false
		}
	}
	if it.Flags&frontier.FlagSeed == 0 || !c.seeds[it.Seed].TryHTTP || it.URL.Scheme() != "https" {
		return false
	}
	u, err := canon.Parse("http" + it.URL.String()[len("https"):])
	if err != nil {
		return false
	}
	s := c.seeds[it.Seed]
	s.URL, s.Implied, s.TryHTTP = u, int64(it.Seed), false
	c.f.Take(it)
	// Not a failure, which --retry-failed would take up again: http stands for it from now on.
	c.openBatch(now).finish(c.f, j.host.id, frontier.Result{
		Ordinal: it.Ordinal, Outcome: frontier.Skipped, Reason: frontier.ReasonScheme, Attempt: it.Attempt, Time: now}, nil)
	if !c.implySeed(s, now) {
		c.seedEnded(it, "")
	}
	c.event("seed-redirect", it.URL.PaceKey(), it.URL.Origin(), "https does not connect, http instead", now)
	return true
}
