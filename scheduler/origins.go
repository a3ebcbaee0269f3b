package scheduler

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"amble/fetcher/body"
	"amble/fetcher/capture"
	"amble/fetcher/robots"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/storage"
)

// How robots.txt is dealt with. RFC 9309 section 2.4 lets a copy live for 24 h; section 2.3.1.2 asks for five redirects.
const (
	rulesLifetime = 24 * time.Hour
	maxRulesHops  = 5
	// staleRules is how long a copy is obeyed while the file is unreachable (the RFC's example is 30 days).
	staleRules = 30 * 24 * time.Hour
)

// pauses between the attempts at what cannot be reached: a host that does not connect, a robots.txt that answers 5xx.
// After the last one it is given up for this run.
var pauses = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour}

type rulesState uint8

const (
	rulesUnknown     rulesState = iota
	rulesAsking                 // a request for them is under way
	rulesSettling               // read, and about to be committed
	rulesKnown                  // group is in force until expires
	rulesUnreachable            // complete disallow until they can be read (RFC 9309 section 2.3.1.4)
	rulesRefused                // the address guard refuses the host
)

// origin is what the loop knows of scheme, host and port.
type origin struct {
	id   frontier.OriginID
	name string
	host *host

	state rulesState
	group *robots.Group
	// delay is the Crawl-delay, 0 for none.
	delay    time.Duration
	expires  time.Time
	retry    time.Time // of an unreachable one
	failures int
	loaded   bool
	// why says what is wrong with rules that are refused or unreachable.
	why string
	// saved is what is kept in the frontier.
	saved savedRules
}

// savedRules is an origin's blob in the frontier: where the robots.txt in force lies in the archive.
type savedRules struct {
	Version int       `json:"v"`
	Fetched time.Time `json:"fetched"`
	// Allow: there are no rules (RFC 9309 section 2.3.1.3); else Serial, Offset and Length say where they are.
	Allow  bool   `json:"allow,omitempty"`
	Serial uint32 `json:"serial,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
}

func (s savedRules) String() string {
	if s.Length == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", s.Serial, s.Offset)
}

func (s savedRules) blob() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain struct
	}
	return b
}

func (c *core) origin(id frontier.OriginID, now time.Time) (*origin, error) {
	for int(id) >= len(c.origins) {
		c.origins = append(c.origins, nil)
	}
	if o := c.origins[id]; o != nil {
		return o, nil
	}
	name, hid := c.f.Origin(id)
	h, err := c.host(hid, now)
	if err != nil {
		return nil, err
	}
	o := &origin{id: id, name: name, host: h}
	if c.cfg.IgnoreRobots && h.own {
		o.state, o.group, o.expires = rulesKnown, robots.AllowAll, now.Add(100*365*24*time.Hour)
	}
	h.origins = append(h.origins, o)
	c.origins[id] = o
	return o, nil
}

// recall reads the rules back that an earlier run fetched less than 24 h ago. Whatever is wrong with them, the
// remedy is to ask again.
func (c *core) recall(o *origin, now time.Time) {
	if o.loaded || o.state != rulesUnknown {
		return
	}
	o.loaded = true
	blob, err := c.f.OriginBlob(o.id)
	if err != nil || len(blob) == 0 {
		return
	}
	var s savedRules
	if json.Unmarshal(blob, &s) != nil || s.Version != 1 {
		return
	}
	if age := now.Sub(s.Fetched); age < 0 || age >= rulesLifetime {
		return
	}
	if s.Allow {
		c.obey(o, nil, s, now)
		return
	}
	rec, err := c.archive.ReadAt(storage.Position{Serial: s.Serial, Offset: s.Offset, Length: s.Length})
	if err != nil {
		c.event("robots", o.host.key, o.name, "cannot be read back from the archive, asked again: "+err.Error(), now)
		return
	}
	defer rec.Payload.Close() //nolint:errcheck // read only
	head, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(rec.Head)), nil)
	if err != nil {
		return
	}
	file, err := body.ReadAll(nil, rec.Payload, head.Header.Values("Content-Encoding"), body.Limits{MaxBytes: robots.MaxBytes})
	if err != nil && len(file) < robots.MaxBytes {
		return
	}
	c.obey(o, robots.Parse(file), s, now)
}

// obey puts rules in force; nil rules allow everything.
func (c *core) obey(o *origin, rules *robots.Rules, s savedRules, now time.Time) {
	o.state, o.failures = rulesKnown, 0
	o.expires = s.Fetched.Add(rulesLifetime)
	o.saved = s
	o.group, o.delay = robots.AllowAll, 0
	if rules != nil {
		o.group = rules.Group(c.cfg.Product)
		o.delay, _ = o.group.CrawlDelay()
	}
	c.settleDelay(o.host)
}

// settleDelay sets the host's authoritative floor: the largest of its origins'.
func (c *core) settleDelay(h *host) {
	var d time.Duration
	for _, o := range h.origins {
		d = max(d, o.delay)
	}
	h.rate.SetCrawlDelay(h.pace, d)
	// What was just learnt holds for the very next request too.
	if iv, cause := h.rate.Interval(h.pace); !h.started.IsZero() && h.started.Add(iv).After(h.next) {
		h.next, h.cause = h.started.Add(iv), cause
	}
}

// rulesDone deals with the answer to a request for robots.txt (RFC 9309 section 2.3.1).
func (c *core) rulesDone(r *result, retryAfter time.Time, now time.Time) error {
	o, cap := r.job.origin, r.capture
	saved := savedRules{Version: 1, Fetched: cap.Start}
	switch cap.Class {
	case capture.OK, capture.TruncatedLength, capture.Undecodable:
		if cap.Class == capture.Undecodable {
			// A body that cannot be read says nothing; an origin is not opened by a broken file.
			o.why = because(cap)
			c.rulesUnreachable(o, retryAfter, now)
			return nil
		}
		c.obey(o, r.rules, saved, now)
		c.openBatch(now).keepRules(o)
		c.event("robots", o.host.key, o.name, fmt.Sprintf("read, status %d, crawl-delay %s", cap.Status, o.delay), now)
		return c.announced(o, r, now)
	case capture.Redirect:
		if r.redirect.IsZero() || r.job.hops >= maxRulesHops {
			c.obey(o, nil, saved.allow(), now)
			c.openBatch(now).keepRules(o)
			c.event("robots", o.host.key, o.name, "too many or unusable redirects: no rules", now)
			return nil
		}
		return c.rulesHop(o, r.redirect, r.job.hops+1, now)
	case capture.ClientError, capture.Blocked, capture.NotModified:
		if cap.Status != 429 {
			c.obey(o, nil, saved.allow(), now)
			c.openBatch(now).keepRules(o)
			c.event("robots", o.host.key, o.name, fmt.Sprintf("status %d: no rules", cap.Status), now)
			return nil
		}
	case capture.Address:
		if r.job.hops == 0 {
			o.state = rulesRefused
			return nil
		}
	}
	if o.why = because(cap); cap.Status > 0 {
		o.why = fmt.Sprintf("it answers %d", cap.Status)
	}
	c.rulesUnreachable(o, retryAfter, now)
	return nil
}

func (s savedRules) allow() savedRules {
	s.Allow = true
	return s
}

func (c *core) rulesHop(o *origin, u canon.URL, n int, now time.Time) error {
	_, hid := c.f.NeedOrigin(c.openBatch(now).fb, u)
	h, err := c.host(hid, now)
	if err != nil {
		return err
	}
	o.state = rulesAsking
	h.hops = append(h.hops, robotsHop{origin: o, url: u, n: n})
	return c.wake(hid, now)
}

// rulesUnreachable closes the origin until its rules can be read; what the server asked for counts, else growing pauses.
func (c *core) rulesUnreachable(o *origin, retryAfter, now time.Time) {
	if o.group != nil && now.Sub(o.saved.Fetched) < staleRules {
		o.state, o.expires = rulesKnown, now.Add(pauses[min(o.failures, len(pauses)-1)])
		o.failures++
		c.event("robots", o.host.key, o.name, "unreachable: the copy of "+logTime(o.saved.Fetched)+" stays in force until "+logTime(o.expires), now)
		return
	}
	o.state = rulesUnreachable
	if o.failures >= len(pauses) {
		o.retry = time.Time{}
		c.event("robots", o.host.key, o.name, "unreachable, given up for this run: nothing of it is fetched", now)
		return
	}
	o.retry = now.Add(pauses[o.failures])
	if retryAfter.After(now) {
		o.retry = retryAfter
	}
	if o.failures++; o.failures == 1 {
		c.say(ofHost, fmt.Sprintf("robots.txt of %s cannot be read (%s), so nothing of it is fetched; asked again in %s",
			quote(o.name), o.why, o.retry.Sub(now).Round(time.Second)))
	}
	c.event("robots", o.host.key, o.name, "unreachable: nothing of it is fetched until "+logTime(o.retry), now)
}

// givenUp tells that no further attempt is made.
func (o *origin) givenUp() bool { return o.state == rulesUnreachable && o.retry.IsZero() }

// announced queues the sitemaps that a robots.txt lists (sitemaps.org, "Specifying the Sitemap location").
func (c *core) announced(o *origin, r *result, now time.Time) error {
	if c.cfg.Sitemaps == sitemapsOff || r.rules == nil || o.host.dead != "" {
		return nil
	}
	// They belong to the crawl of the URL that made us ask.
	it, ok, _, err := c.f.Offer(o.host.id, now)
	if err != nil || !ok {
		return err
	}
	base, err := canon.Parse(o.name + "/robots.txt")
	if err != nil {
		return nil
	}
	refs := r.rules.Sitemaps()
	if n := len(refs) - maxSitemaps; n > 0 {
		c.event("robots", o.host.key, o.name, fmt.Sprintf("lists %d sitemaps, the last %d are left out", len(refs), n), now)
		c.count.Skipped[frontier.ReasonBudget] += int64(n)
		refs = refs[:maxSitemaps]
	}
	for _, ref := range refs {
		u, err := base.Resolve(ref)
		if err != nil {
			continue
		}
		c.admit(frontier.Candidate{
			URL: u, Via: frontier.NoOrdinal, Hop: hopSitemap, Seed: it.Seed, Flags: frontier.FlagSitemap,
		}, now)
	}
	return nil
}
