package scheduler

import (
	"container/heap"
	"fmt"
	"time"

	"amble/fetcher"
	"amble/fetcher/capture"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
	"amble/storage"
)

// The ends of a run, as status.json names them.
const (
	endExhausted = "exhausted"
	endPages     = "max_pages"
	endBytes     = "max_bytes"
	endTime      = "max_time"
	endSignal    = "signal"
	endWaiting   = "waiting"
)

const (
	defaultFloor = 500 * time.Millisecond
	sitemapsOff  = "off"
	sitemapsOnly = "only"
	hopSitemap   = 'M'
	// skipsPerTurn is how many URLs of one host are skipped before others get their turn.
	skipsPerTurn = 64
	// hostFlush is how long a host's controller state may stay unwritten; after a crash every host waits its interval.
	hostFlush = 5 * time.Second
)

// core is the crawl as a state machine: it takes results and the time, and gives jobs. It reads no clock and starts
// no goroutine, so that the crawl, the simulator and the tests run the same code.
type core struct {
	cfg     Config
	f       *frontier.Frontier
	archive *storage.Archive
	gov     *ratectl.Governor
	address *addressPace
	count   counters
	notify  func(string)

	seeds     []frontier.Seed
	seedFloor map[string]time.Duration // by pace key
	hosts     []*host
	origins   []*origin
	heap      hostHeap
	windows   []*ratectl.Window
	dirty     []*host
	flushed   time.Time
	skipSeen  recent
	// said counts what the user was told of, by kind, so that there is an end to it.
	said map[notice]int

	resumed bool
	// hostsAtStart is how many hosts earlier runs knew.
	hostsAtStart int
	began        time.Time
	inflight     int
	// pages in flight: their places under MaxPages are taken.
	inflightPages int64
	// end, when set, is why nothing starts any more.
	end    string
	paused string

	open, closed *batch
}

// elapsed is the running time over all runs.
func (c *core) elapsed(now time.Time) time.Duration { return c.count.Elapsed + now.Sub(c.began) }

// limit says which limit is reached, empty when none is.
func (c *core) limit(now time.Time) string {
	l := c.cfg.Limits
	switch {
	case l.Pages > 0 && c.count.Pages >= l.Pages:
		return endPages
	case l.Bytes > 0 && c.count.Bytes >= l.Bytes:
		return endBytes
	case l.Time > 0 && c.elapsed(now) >= l.Time:
		return endTime
	}
	return ""
}

// startable tells whether anything may start at all, whatever host it is of.
func (c *core) startable(now time.Time) bool {
	if c.end != "" || c.paused != "" || c.inflight >= c.cfg.Workers {
		return false
	}
	if c.end = c.limit(now); c.end != "" {
		return false
	}
	if l := c.cfg.Limits.Pages; l > 0 && c.count.Pages+c.inflightPages >= l {
		return false // all places are taken; a failure may give one back
	}
	// Two batches open: wait for the disk.
	return c.closed == nil || c.open == nil || !c.open.full()
}

// next gives the job that should start now, nil when none should.
func (c *core) next(now time.Time) (*job, error) {
	for c.startable(now) && len(c.heap) > 0 && !c.heap[0].next.After(now) && !c.gov.Free(now).After(now) {
		h := heap.Pop(&c.heap).(*host)
		j, err := c.pick(h, now)
		if err != nil {
			return nil, err
		}
		if j == nil {
			continue
		}
		c.gov.Claim(now)
		h.busy = true
		c.inflight++
		if j.page() {
			c.inflightPages++
		}
		return j, nil
	}
	return nil, nil
}

// wakeAt says when next could give a job without anything else happening; zero: not by time alone.
func (c *core) wakeAt(now time.Time) time.Time {
	if len(c.heap) == 0 || !c.startable(now) {
		return time.Time{}
	}
	t := c.heap[0].next
	if g := c.gov.Free(now); g.After(t) {
		t = g
	}
	return t
}

// pick decides what the host does: it gives a job, or puts the host where it belongs.
func (c *core) pick(h *host, now time.Time) (*job, error) {
	if len(h.hops) > 0 {
		hop := h.hops[0]
		h.hops = h.hops[1:]
		return c.rulesJob(h, hop.origin, hop.url, hop.n), nil
	}
	for range skipsPerTurn {
		it, ok, at, err := c.f.Offer(h.id, now)
		if err != nil {
			return nil, err
		}
		if !ok {
			if at.IsZero() {
				c.idle(h)
				return nil, nil
			}
			c.delay(h, at, h.cause)
			return nil, nil
		}
		if h.dead != "" {
			c.skip(h, it, h.dead, h.why, now)
			continue
		}
		if c.resumed {
			// A resume may have come with other rules than those that the URL was admitted under.
			if why := c.f.Recheck(it); why != "" {
				c.skip(h, it, why, "it is outside the rules of the crawl: "+string(why), now)
				continue
			}
		}
		o, err := c.origin(it.Origin, now)
		if err != nil {
			return nil, err
		}
		if c.recall(o, now); h.next.After(now) {
			c.put(h) // the rules that were read back hold for this request too
			return nil, nil
		}
		switch {
		case o.state == rulesAsking, o.state == rulesSettling:
			return nil, nil // rulesDone or applied wakes it
		case o.state == rulesUnknown, o.state == rulesKnown && !o.expires.After(now),
			o.state == rulesUnreachable && !o.givenUp() && !o.retry.After(now):
			o.state = rulesAsking
			return c.rulesJob(h, o, canon.FromOrigin(o.name, "/robots.txt"), 0), nil
		case o.state == rulesRefused:
			c.skip(h, it, frontier.ReasonAddress, o.why, now)
		case o.givenUp():
			c.skip(h, it, frontier.ReasonRobotsUnreachable, "its robots.txt cannot be read: "+o.why, now)
		case o.state == rulesUnreachable && len(h.origins) == 1:
			c.delay(h, o.retry, ratectl.CauseFailures)
			return nil, nil
		case o.state == rulesUnreachable:
			// The host's other origin goes on; this URL comes back when its own rules are asked for again.
			c.f.Take(it)
			c.openBatch(now).finish(c.f, h.id, frontier.Result{
				Ordinal: it.Ordinal, Outcome: frontier.Retry, Attempt: it.Attempt, Time: now, NotBefore: o.retry}, nil)
		default:
			if it.Flags&(frontier.FlagSitemap|frontier.FlagSeed) == frontier.FlagSitemap {
				if h.sitemaps >= maxSitemaps {
					c.skip(h, it, frontier.ReasonBudget, "", now)
					continue
				}
				h.sitemaps++
			}
			if d := o.group.Decide(it.URL.RequestTarget()); !d.Allowed {
				c.skip(h, it, frontier.ReasonRobots, fmt.Sprintf("line %d of its robots.txt forbids it: %s", d.Line, d.Rule), now)
				continue
			}
			return c.pageJob(h, o, it)
		}
	}
	c.put(h)
	return nil, nil
}

// delay puts a host back for later.
func (c *core) delay(h *host, until time.Time, cause ratectl.Cause) {
	if until.After(h.next) {
		h.next, h.cause = until, cause
	}
	c.put(h)
}

func (c *core) rulesJob(h *host, o *origin, u canon.URL, hops int) *job {
	return c.prepare(&job{kind: jobRules, host: h, origin: o, url: u, hops: hops, path: "P", attempt: 1, via: o.name + "/"})
}

func (c *core) pageJob(h *host, o *origin, it frontier.Item) (*job, error) {
	j := &job{kind: jobPage, host: h, origin: o, url: it.URL, item: it, path: it.Path, attempt: it.Attempt + 1}
	if it.Flags&frontier.FlagSitemap != 0 {
		j.kind = jobSitemap
	}
	if it.Via != frontier.NoOrdinal {
		via, _, err := c.f.Item(it.Via)
		if err != nil {
			return nil, err
		}
		j.via = via.URL.String()
	}
	j.seed = c.seedURL(it.Seed)
	c.f.Take(it)
	return c.prepare(j), nil
}

func (c *core) prepare(j *job) *job {
	j.ticket = j.host.ticket
	j.resent, j.host.resend = j.host.resend, false
	j.retries = c.cfg.Limits.Retries
	j.req = fetcher.Request{URL: j.url, Own: j.host.own, Insecure: j.host.own && j.host.conf.Insecure}
	if j.kind == jobRules {
		j.req.MaxBody = maxRulesBytes
	}
	if j.host.conf.User != "" && j.origin.host == j.host {
		j.setBasicAuth(j.host.conf.User, j.host.conf.Password)
	}
	return j
}

// skip ends a URL without a request; words say why.
func (c *core) skip(h *host, it frontier.Item, why frontier.Reason, words string, now time.Time) {
	c.f.Take(it)
	c.count.Skipped[why]++
	c.openBatch(now).finish(c.f, h.id, frontier.Result{
		Ordinal: it.Ordinal, Outcome: frontier.Skipped, Reason: why, Attempt: it.Attempt, Time: now}, nil)
	c.seedEnded(it, words)
}

// admit offers a URL to the frontier and counts what is skipped.
func (c *core) admit(cand frontier.Candidate, now time.Time) frontier.Verdict {
	v := c.f.Admit(c.openBatch(now).fb, cand)
	if v.Skip != "" && v.First {
		c.count.Skipped[v.Skip]++
	}
	return v
}

// done takes a result in: pace first, then what it brought, then the host's next turn.
func (c *core) done(r *result, now time.Time) error {
	j, h, cap := r.job, r.job.host, r.capture
	h.busy = false
	c.inflight--
	if j.page() {
		c.inflightPages--
	}
	defer cap.Body.Close() //nolint:errcheck // memory or an unlinked file
	if r.err != nil {
		r.drop()
		return r.err
	}
	if r.aborted || !cap.Deferred.IsZero() {
		r.drop()
		c.unsent(j, cap)
		return nil
	}
	h.ticket = time.Time{}
	kind := kindOf(cap)
	if cap.Sent {
		c.count.Requests++
	}
	if cap.Body != nil {
		c.count.Bytes += cap.Body.Len()
	}
	shared := c.gov.Observe(now, uint64(h.id), kind, cap.Phases.TTFB, h.rate.Baseline())
	d := h.rate.Observe(h.pace, c.window(h), ratectl.Outcome{
		Start: cap.Start, End: cap.End, TTFB: cap.Phases.TTFB, Kind: kind, Status: cap.Status, Header: cap.Header, Shared: shared})
	if d.Objection {
		c.count.Objected++
	}
	if d.Cause == ratectl.CauseBlocked && cap.Status == 403 {
		cap.Class = capture.Blocked
	}
	if j.kind != jobRules || cap.Class != capture.ClientError { // to have no robots.txt is no trouble
		c.count.Classes[cap.Class]++
	}
	h.started, h.next, h.cause = cap.Start, d.Next, d.Cause
	c.touch(h)
	if d.Objection || !d.NotBefore.IsZero() {
		c.openBatch(now).urgent = true
		c.flushHosts(now)
	}
	if d.Park {
		c.event("park", h.key, j.origin.name, "the server asks for no request before "+logTime(d.NotBefore), now)
	}

	var outcome string
	var err error
	switch {
	case cap.Local != nil:
		// This machine's fault (no file descriptor, a full disk): the URL is due again, when the machine had a moment.
		c.putBack(j)
		c.delay(h, now.Add(time.Second), ratectl.CauseShared)
		c.event("local", h.key, j.origin.name, cap.Local.Error(), now)
		outcome = "again"
	case cap.Stale && !j.resent:
		c.putBack(j)
		h.resend = true
		outcome = "again"
	case unconnected(cap):
		outcome = c.unconnected(j, cap, now)
	default:
		h.parks = 0
		if j.kind == jobRules {
			outcome = "robots"
			err = c.rulesDone(r, d.NotBefore, now)
			if o := j.origin; err == nil && o.host != h && o.state != rulesAsking && o.state != rulesSettling {
				err = c.wake(o.host.id, now)
			}
		} else {
			outcome, err = c.pageDone(r, d, now)
		}
	}
	if err != nil {
		r.drop()
		return err
	}
	b := c.openBatch(now)
	b.add(r) // takes the records over, if there are any
	b.log = appendLine(b.log, c.line(r, d, outcome))
	c.put(h)
	return nil
}

// line is the crawl log's line about a request.
func (c *core) line(r *result, d ratectl.Decision, outcome string) requestLine {
	j, cap := r.job, r.capture
	interval, _ := j.host.rate.Interval(j.host.pace) // robots.txt may have changed it since Observe
	l := requestLine{
		Start: logTime(cap.Start), Host: j.host.key, Origin: j.url.Origin(), URL: j.url.String(),
		Status: cap.Status, Class: cap.Class, Mime: r.mime,
		DialMS: millis(cap.Phases.DNS + cap.Phases.Connect + cap.Phases.TLS),
		TTFBMS: millis(cap.Phases.TTFB), TotalMS: millis(cap.Phases.Total),
		Via: j.via, Hops: j.path, Seed: j.seed, Attempt: j.attempt, Resent: j.resent,
		IntervalMS: millis(interval), NotBefore: logTime(d.NotBefore), Next: logTime(j.host.next), Cause: j.host.cause,
		Signals: signals(cap, j.origin.delay), Sent: cap.Sent, Outcome: outcome, RedirectTo: r.redirect.String(), Error: cap.Err,
	}
	if cap.Addr.IsValid() {
		l.Addr = cap.Addr.String()
	}
	if cap.Body != nil {
		l.Bytes = cap.Body.Len()
	}
	if j.kind != jobRules {
		l.Rules = j.origin.saved.String()
	}
	return l
}

func (c *core) event(name, host, origin, detail string, now time.Time) {
	b := c.openBatch(now)
	b.log = appendLine(b.log, eventLine{Event: name, Start: logTime(now), Host: host, Origin: origin, Detail: detail})
}

// touch marks a host's state as unwritten.
func (c *core) touch(h *host) {
	if !h.dirty {
		h.dirty = true
		c.dirty = append(c.dirty, h)
	}
}

// flushHosts writes the controller states that have changed into the open batch.
func (c *core) flushHosts(now time.Time) {
	b := c.openBatch(now)
	for _, h := range c.dirty {
		blob, err := h.rate.AppendBinary(nil)
		if err == nil {
			b.fb.SetHostBlob(h.id, blob)
		}
		h.dirty = false
	}
	c.dirty = c.dirty[:0]
	c.flushed = now
}

// exhausted tells that nothing is pending and nothing is under way.
func (c *core) exhausted() bool {
	return c.inflight == 0 && c.open == nil && c.closed == nil && c.f.Pending() == 0
}

// stuck tells that no host can start within MaxWait.
func (c *core) stuck(now time.Time) bool {
	if c.inflight > 0 || c.open != nil || c.closed != nil || c.cfg.Limits.MaxWait <= 0 {
		return false
	}
	return len(c.heap) == 0 || c.heap[0].next.Sub(now) > c.cfg.Limits.MaxWait
}
