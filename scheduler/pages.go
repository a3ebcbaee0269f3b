package scheduler

import (
	"fmt"
	"strings"
	"time"

	"amble/fetcher/capture"
	"amble/fetcher/links"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
)

// Attempts at one URL. What a server limits is not the URL's fault, so it is tried longer; DESIGN's bound on the rest
// is Limits.Retries.
const (
	maxLimitedAttempts = 10
	firstPause         = 5 * time.Second
	longestPause       = 5 * time.Minute
)

// transient tells whether an exchange is made again, attempt being the one just made, from 1.
func transient(class capture.Class, attempt, retries int) bool {
	switch class {
	case capture.Limited:
		return attempt < maxLimitedAttempts
	case capture.Blocked, capture.ServerError, capture.Reset, capture.TimeoutHead, capture.TimeoutBody,
		capture.TruncatedTime, capture.TruncatedDisconnect:
		return attempt < retries
	}
	return false
}

// kindOf translates a class into what the pace needs to know.
func kindOf(c *capture.Capture) ratectl.Kind {
	if c.Local != nil || c.Stale {
		return ratectl.NoHost
	}
	switch c.Class {
	case capture.Reset:
		return ratectl.Reset
	case capture.Refused, capture.TimeoutConnect:
		return ratectl.ConnectTimeout
	case capture.TimeoutHead:
		return ratectl.HeadTimeout
	}
	switch {
	case c.Status == 429:
		return ratectl.Limited
	case c.Status == 503:
		return ratectl.Unavailable
	case c.Status >= 500:
		return ratectl.ServerError
	case c.Status >= 400:
		return ratectl.ClientError
	case c.Status >= 200:
		return ratectl.Success
	}
	return ratectl.NoHost
}

// pageDone records a page's result and takes its outlinks in. It returns the word for the crawl log.
func (c *core) pageDone(r *result, d ratectl.Decision, now time.Time) (string, error) {
	j, cap, it := r.job, r.capture, r.job.item
	res := frontier.Result{Ordinal: it.Ordinal, Attempt: j.attempt, Time: cap.Start, Status: cap.Status}
	b := c.openBatch(now)
	if transient(cap.Class, j.attempt, j.retries) {
		r.drop()
		res.Outcome, res.NotBefore = frontier.Retry, d.NotBefore
		if cap.Class != capture.Limited {
			pause := min(firstPause<<(j.attempt-1), longestPause)
			if t := now.Add(pause); t.After(res.NotBefore) {
				res.NotBefore = t
			}
		}
		b.finish(c.f, j.host.id, res, nil)
		return "retry", nil
	}
	if r.encoded == nil {
		c.count.Failed++
		res.Outcome = frontier.Failed
		b.finish(c.f, j.host.id, res, nil)
		c.seedEnded(it, because(cap))
		return "failed", nil
	}
	res.Outcome = frontier.Stored
	copy(res.PayloadDigest[:], r.encoded.PayloadDigest[:])
	copy(res.ContentDigest[:], r.meta.ContentDigest[:])
	res.Bytes = r.meta.Bytes
	b.finish(c.f, j.host.id, res, r)
	if j.kind == jobPage {
		c.count.Pages++
	}
	lost := ""
	if cap.Status >= 400 {
		lost = fmt.Sprintf("the server answered %d", cap.Status)
	}
	switch {
	case !r.redirect.IsZero():
		c.redirected(it, r.redirect, now)
	case j.kind == jobSitemap:
		c.listed(r, now)
		c.seedEnded(it, lost)
	default:
		c.seedEnded(it, lost)
		c.outlinks(r, now)
	}
	return "stored", nil
}

// outlinks admits what a page links to.
func (c *core) outlinks(r *result, now time.Time) {
	it := r.job.item
	if c.cfg.Sitemaps == sitemapsOnly {
		return
	}
	for _, rej := range r.page.Rejected {
		if rej.Scheme && c.skipSeen.add(rej.Ref) {
			c.count.Skipped[frontier.ReasonScheme]++
		}
	}
	for _, l := range r.page.Outlinks {
		if l.Hop == links.Embed {
			continue
		}
		if r.nofollow {
			if c.skipSeen.add(l.URL.String()) {
				c.count.Skipped[frontier.ReasonNofollow]++
			}
			continue
		}
		c.admit(follow(it, l.URL, l.Hop, 0), now)
	}
	if n := r.page.Dropped; n > 0 && !r.nofollow {
		// Which of them are known already nobody can tell any more, so all count.
		c.count.Skipped[frontier.ReasonMemory] += int64(n)
		c.event("outlinks", it.URL.PaceKey(), it.URL.Origin(),
			fmt.Sprintf("%s has more than %d links: %d are left out", it.URL, links.MaxOutlinks, n), now)
		if c.skipSeen.add("outlinks of " + it.URL.PaceKey()) {
			c.say(ofPage, fmt.Sprintf("%s has more than %d links: %d are left out (skipped: memory)", quote(it.URL.String()), links.MaxOutlinks, n))
		}
	}
}

// Sitemaps count for no page limit, so they have bounds of their own: sitemaps.org has no index within an index, and
// a thousand files list fifty million pages.
const (
	maxIndexes  = 2
	maxSitemaps = 1000 // of a host, in a run
)

// listed admits what a sitemap lists.
func (c *core) listed(r *result, now time.Time) {
	for _, e := range r.entries {
		cand := follow(r.job.item, e.URL, hopSitemap, frontier.FlagListed)
		if e.Sitemap {
			if strings.Count(r.job.path, string(rune(hopSitemap))) > maxIndexes {
				if c.skipSeen.add(e.URL.String()) {
					c.count.Skipped[frontier.ReasonTrapDepth]++
				}
				continue
			}
			cand.Flags = frontier.FlagSitemap
		}
		cand.LastMod = e.LastMod
		c.admit(cand, now)
	}
}

func follow(it frontier.Item, u canon.URL, hop byte, flags frontier.Flags) frontier.Candidate {
	return frontier.Candidate{URL: u, Via: it.Ordinal, Hop: hop, Seed: it.Seed,
		ViaURL: it.URL, ViaPath: it.Path, ViaDepth: it.Depth, Flags: flags}
}

// redirected deals with a redirect's target. A redirect is an outlink with hop R; one that starts at a seed makes its
// target a seed where it stays in the registrable domain, and else a seed of that one page.
func (c *core) redirected(it frontier.Item, to canon.URL, now time.Time) {
	if it.Flags&frontier.FlagSeed == 0 {
		c.admit(follow(it, to, links.Redirect, it.Flags&(frontier.FlagSitemap|frontier.FlagListed)), now)
		return
	}
	s := c.seeds[it.Seed]
	s.URL, s.Implied, s.TryHTTP = to, int64(it.Seed), false
	if canon.RegistrableDomain(to.Hostname()) != canon.RegistrableDomain(it.URL.Hostname()) {
		s.Scope = frontier.ScopePage
		c.say(ofSeed, "the seed "+quote(it.URL.String())+" redirects to another site; of it only "+quote(to.String())+" is fetched: give it as a seed to crawl it")
		c.event("seed-redirect", it.URL.PaceKey(), it.URL.Origin(), "to another site, fetched alone: "+to.String(), now)
	}
	if c.seedDepth(it.Seed) >= maxSeedRedirects {
		c.seedEnded(it, fmt.Sprintf("it redirects more than %d times", maxSeedRedirects))
		return
	}
	if !c.implySeed(s, now) {
		// Known already: it is fetched, or was, on another's account.
		c.seedEnded(it, "")
	}
}

// maxSeedRedirects ends a chain that makes a new URL at each step.
const maxSeedRedirects = 20

// seedDepth is how many redirects lie between a seed and the one that was given.
func (c *core) seedDepth(n uint32) int {
	d := 0
	for c.seeds[n].Implied >= 0 {
		n = uint32(c.seeds[n].Implied)
		d++
	}
	return d
}

// implySeed takes in a seed that follows from another; false when its URL was known.
func (c *core) implySeed(s frontier.Seed, now time.Time) bool {
	n, v := c.f.AddSeed(c.openBatch(now).fb, s)
	if !v.New {
		return false
	}
	s.Number = n
	for uint32(len(c.seeds)) <= n {
		c.seeds = append(c.seeds, s)
	}
	return true
}

// seedURL is the seed as it was given, for whatever was reached by way of it.
func (c *core) seedURL(n uint32) string {
	if int(n) >= len(c.seeds) {
		return ""
	}
	for c.seeds[n].Implied >= 0 {
		n = uint32(c.seeds[n].Implied)
	}
	return c.seeds[n].URL.String()
}

// seedEnded counts the seeds that were given, each once: at the end of its chain of redirects. lost is why it was not
// captured, empty when it was. Without its seed a crawl is not what the user wanted, so the reason is said at once.
func (c *core) seedEnded(it frontier.Item, lost string) {
	if it.Flags&frontier.FlagSeed == 0 {
		return
	}
	c.count.Seeds.Pending--
	if lost == "" {
		c.count.Seeds.Captured++
		return
	}
	c.count.Seeds.Failed++
	c.say(ofSeed, fmt.Sprintf("seed %s was not captured: %s", quote(c.seedURL(it.Seed)), lost))
}
