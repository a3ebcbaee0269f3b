package frontier

import (
	"fmt"
	"reflect"
	"strings"

	"amble/frontier/canon"
)

// Queue classes: a host's URLs go in order of class, and in order of discovery within one. Breadth first: seeds and
// sitemap files, then by depth. A seed's Priority moves all its URLs: up is sooner.
const (
	classSeed  = 4
	maxDepths  = 7
	lastClass  = 15
	classFirst = 0
)

func class(depth, priority int, flags Flags) uint8 {
	c := classSeed + min(depth, maxDepths)
	switch {
	case flags&FlagSitemap != 0:
		c = classSeed
	case flags&FlagListed != 0:
		c = max(c, classSeed+1)
	}
	return uint8(min(max(c-min(max(priority, -lastClass), lastClass), classFirst), lastClass))
}

// NeedOrigin gives the id of a URL's origin (and so of its host), taking both into the batch when they are new:
// for robots.txt redirects to hosts that have no URL yet.
func (f *Frontier) NeedOrigin(b *Batch, u canon.URL) (OriginID, HostID) {
	key, kind := u.PaceKey(), originKind(u)
	id, ok := f.names.find(key)
	host := HostID(id)
	if !ok {
		host = f.addHost(strings.Clone(key))
		b.hosts = append(b.hosts, f.names.get(uint32(host)))
		b.bytes += len(key) + 16
	} else if o, ok := f.findOrigin(host, kind); ok {
		return o, host
	}
	o := f.addOrigin(host, kind)
	b.origins = append(b.origins, f.origins[o])
	b.bytes += 16
	return o, host
}

// newest tells whether b may take new URLs, and stops the Frontier when it may not.
func (f *Frontier) newest(b *Batch) bool {
	if b.f == f && b.seq == f.batches && !b.committed {
		return true
	}
	f.fail(fmt.Errorf("admit to frontier %s: %w: batch %d is not the newest", f.path, ErrMisuse, b.seq))
	return false
}

// log takes a URL into the batch.
func (f *Frontier) log(b *Batch, fp uint64, u canon.URL, r urlRecord, of membership) Ordinal {
	origin, host := f.NeedOrigin(b, u)
	o := Ordinal(f.urls)
	f.urls++
	r.Origin, r.Target = origin, u.RequestTarget()
	f.seen.add(fp, uint32(o))
	f.traps.logged(o, u, hopCount(r.Path), r.Via, of)
	b.urlData = appendURLRecord(b.urlData, o, r)
	b.urlEnds = append(b.urlEnds, len(b.urlData))
	b.urlTo = append(b.urlTo, destination{host, r.Class})
	b.bytes += len(r.Target) + len(r.Path) + 16
	f.count(host, r.Seed, 1)
	f.pending++
	return o
}

// AddSeed admits a seed; known (no Skip, not New) tells that the same URL is in the log already: it is not fetched
// again. Given as a seed before, it keeps its number and takes the new keys; found as a link before, what is still to be
// found on it is the new seed's, at depth 0, though its Item does not get FlagSeed. With a Skip no number is given.
// Implied seeds never change given ones.
func (f *Frontier) AddSeed(b *Batch, s Seed) (number uint32, v Verdict) {
	if !f.newest(b) {
		return 0, Verdict{Ordinal: NoOrdinal, Skip: ReasonMemory}
	}
	fp := f.fingerprint(s.URL)
	ord, known := f.seen.find(fp)
	if known {
		if n, ok := f.seedOf[Ordinal(ord)]; ok {
			f.updateSeed(b, n, s)
			return n, Verdict{Ordinal: Ordinal(ord)}
		}
	} else if why := f.room(s.URL, f.rules.trapsOf(s.URL.PaceKey())); why != "" {
		return 0, Verdict{Ordinal: NoOrdinal, Skip: why, First: f.skips.first(fp)}
	}
	number = uint32(len(f.seeds))
	s.Number = number
	f.seeds = append(f.seeds, s)
	f.seedsAt = append(f.seedsAt, seedState{})
	if !known {
		flags := FlagSeed
		if s.Sitemap {
			flags |= FlagSitemap
		}
		ord = uint32(f.log(b, fp, s.URL, urlRecord{
			Via: NoOrdinal, Seed: number, Flags: flags, Class: class(0, priority(&s), flags),
		}, noMember))
	}
	v = Verdict{Ordinal: Ordinal(ord), New: !known}
	f.seedsAt[number].ord = v.Ordinal
	f.seedOf[v.Ordinal] = number
	b.putSeed(s, v.Ordinal)
	b.newSeed++
	return number, v
}

func priority(s *Seed) int {
	if s.Priority == nil {
		return 0
	}
	return *s.Priority
}

func (f *Frontier) updateSeed(b *Batch, n uint32, s Seed) {
	old := &f.seeds[n]
	s.Number = n
	if s.Implied >= 0 && old.Implied < 0 || reflect.DeepEqual(s, *old) {
		return
	}
	*old = s
	b.putSeed(s, f.seedsAt[n].ord)
}

func (b *Batch) putSeed(s Seed, ord Ordinal) {
	b.seeds = append(b.seeds, seedChange{s, ord})
	b.bytes += len(s.Raw) + 128
}

// room is why the log cannot take a URL, whoever asks.
func (f *Frontier) room(u canon.URL, on trapSet) Reason {
	if trapLength(u.String(), on) {
		return ReasonTrapLength
	}
	if f.urls == uint32(NoOrdinal) {
		return ReasonMemory
	}
	return ""
}

// Admit checks scope, limits and the seen set, and takes the URL into the batch when it is new. A URL that was logged
// under one seed stays with it.
func (f *Frontier) Admit(b *Batch, c Candidate) Verdict {
	if !f.newest(b) {
		return Verdict{Ordinal: NoOrdinal, Skip: ReasonMemory}
	}
	fp := f.fingerprint(c.URL)
	if o, ok := f.seen.find(fp); ok {
		return Verdict{Ordinal: Ordinal(o)}
	}
	path, depth := c.hops()
	if why := f.judge(&c, path, depth); why != "" {
		return Verdict{Ordinal: NoOrdinal, Skip: why, First: f.skips.first(fp)}
	}
	r := urlRecord{
		Via: c.Via, Seed: c.Seed, Depth: uint32(depth), Flags: c.Flags &^ FlagSeed, Path: path,
		Class: class(depth, priority(&f.seeds[c.Seed]), c.Flags),
	}
	if r.Via != NoOrdinal && uint32(r.Via) >= f.urls {
		r.Via = NoOrdinal
	}
	if !c.LastMod.IsZero() {
		r.LastMod = c.LastMod.Unix()
	}
	return Verdict{Ordinal: f.log(b, fp, c.URL, r, f.traps.viaMember(&c)), New: true}
}

// Check is Admit's decision without taking anything in: for --dry-run and explain. It is empty for a URL of the log.
func (f *Frontier) Check(c Candidate) Reason {
	if _, ok := f.seen.find(f.fingerprint(c.URL)); ok {
		return ""
	}
	path, depth := c.hops()
	return f.judge(&c, path, depth)
}

// Recheck decides a queued URL anew under the Rules in force now, which may be others than those it was admitted
// under. Seeds pass; budgets and traps are not asked again.
func (f *Frontier) Recheck(it Item) Reason {
	if _, ok := f.seedOf[it.Ordinal]; ok {
		return ""
	}
	return f.judgeRules(it.URL, it.Seed, it.Path, it.Depth, it.Flags)
}

// hops are the candidate's own path and depth. Only L hops count: neither redirects and embeds, nor what a sitemap
// lists, which is as deep as the sitemap.
func (c *Candidate) hops() (path string, depth int) {
	depth = max(c.ViaDepth, 0)
	if c.Hop == 'L' {
		depth++
	}
	return appendHop(c.ViaPath, c.Hop), depth
}

// judge is why a URL that is not in the log stays out of it.
func (f *Frontier) judge(c *Candidate, path string, depth int) Reason {
	key := c.URL.PaceKey()
	on := f.rules.trapsOf(key)
	if why := f.room(c.URL, on); why != "" {
		return why
	}
	if why := f.judgeRules(c.URL, c.Seed, path, depth, c.Flags); why != "" {
		return why
	}
	if why := trapPath(c.URL.Path(), on); why != "" {
		return why
	}
	if why := f.traps.judge(c, hopCount(path), on, &f.seen); why != "" {
		return why
	}
	if limit := f.seeds[c.Seed].MaxPages; limit > 0 && f.seedsAt[c.Seed].load >= limit {
		return ReasonBudget
	}
	if f.hostFull(key) {
		return ReasonBudget
	}
	return ""
}

// hostFull tells that a pace key has used its budget.
func (f *Frontier) hostFull(key string) bool {
	limit := f.rules.MaxPagesPerHost
	if own, ok := f.rules.MaxPagesOf[key]; ok {
		limit = own
	}
	if limit <= 0 {
		return false
	}
	h, ok := f.names.find(key)
	return ok && int64(f.hosts[h].load) >= limit
}

func (f *Frontier) judgeRules(u canon.URL, number uint32, path string, depth int, flags Flags) Reason {
	if int(number) >= len(f.seeds) {
		return ReasonScope
	}
	seed := &f.seeds[number]
	if !f.rules.inScope(seed, f.scopeOf(number), u, path, flags) {
		return ReasonScope
	}
	limit := f.rules.Depth
	if seed.Depth != nil {
		limit = *seed.Depth
	}
	if limit >= 0 && depth > limit {
		return ReasonDepth
	}
	// "Seeds only" leaves out what sitemaps list, unless the sitemap is the seed.
	if limit == 0 && strings.HasSuffix(path, "M") && !seed.Sitemap {
		return ReasonDepth
	}
	return ""
}
