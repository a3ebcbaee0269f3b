package frontier

import (
	"strings"

	"github.com/zeebo/xxh3"

	"amble/frontier/canon"
)

// traps is what the index knows of sites that make URLs without end. Seeds, and what sitemaps list, are taken in all
// the same, as the site's owner or the user named them; they count.
type traps struct {
	seed     uint64
	queries  watch[queryPath] // by pathKey
	runs     watch[run]       // by runForm.key
	pairs    known            // of watched paths
	sessions sessions
	via      struct { // the last page that something was found on
		ord Ordinal
		membership
	}
	buf []byte
}

// membership says which watched path and run a URL counts for.
type membership struct{ query, run uint32 }

var noMember = membership{unwatched, unwatched}

func newTraps() *traps {
	t := &traps{queries: watch[queryPath]{from: queryWatched}, runs: watch[run]{from: runWatched}}
	t.via.ord, t.sessions.via = NoOrdinal, NoOrdinal
	return t
}

func (t *traps) hash(s string) uint64 { return xxh3.HashStringSeed(s, t.seed) }

// member finds what a URL of the log, so many hops from its seed, counts for.
func (t *traps) member(o Ordinal, href string, hops int) membership {
	m := noMember
	if len(t.queries.list) > 0 && strings.IndexByte(href, '?') >= 0 {
		if id := t.queries.find(t.pathKey(href)); id != unwatched && o >= t.queries.list[id].first {
			m.query = id
		}
	}
	if len(t.runs.list) > 0 && hops >= runDeep {
		if f := t.form(href); f.key != 0 {
			if id := t.runs.find(f.key); id != unwatched && o >= t.runs.list[id].first {
				m.run = id
			}
		}
	}
	return m
}

// viaMember is member for the page that a candidate was found on; pages have many candidates in a row.
func (t *traps) viaMember(c *Candidate) membership {
	if c.Via == NoOrdinal || c.ViaURL.IsZero() {
		return noMember
	}
	if t.via.ord != c.Via {
		t.via.ord, t.via.membership = c.Via, t.member(c.Via, c.ViaURL.String(), hopCount(c.ViaPath))
	}
	return t.via.membership
}

// logged counts a URL that was taken into the log as o, found on via so many hops from its seed.
func (t *traps) logged(o Ordinal, u canon.URL, hops int, via Ordinal, of membership) membership {
	m := noMember
	href := u.String()
	q := strings.IndexByte(href, '?')
	if q >= 0 || of.query != unwatched {
		key := t.pathKey(href)
		if q >= 0 {
			m.query = t.queries.count(key, func() queryPath { return queryPath{key: key, first: o} })
			if m.query != unwatched {
				t.took(&t.queries.list[m.query], href[q+1:])
			}
		}
		if of.query != unwatched && t.queries.list[of.query].key != key {
			t.queries.list[of.query].brought++
		}
	}
	if hops >= runDeep {
		f := t.form(href)
		if f.key != 0 {
			m.run = t.runs.count(f.key, func() run {
				return run{outside: f.outside, first: o, begin: uint32(hops), found: uint32(hops), dated: f.dated}
			})
		}
		if of.run != unwatched && !f.datedQuery && t.runs.list[of.run].outside != f.outside {
			r := &t.runs.list[of.run]
			r.found = max(r.found, uint32(hops-1))
		}
	}
	if mayHaveSession(href) {
		if s, ok := t.session(u); ok {
			t.tookSession(o, via, s)
		}
	}
	return m
}

// mayHaveSession leaves the rest out fast.
func mayHaveSession(href string) bool {
	return len(href) > sessionBytes && strings.IndexByte(href, '=') >= 0
}

// stored counts a visit of a URL that stored something.
func (t *traps) stored(m membership, c contents) {
	if m.query != unwatched {
		p := &t.queries.list[m.query]
		p.visited++
		c.addDigest(&p.digests)
	}
	if m.run != unwatched {
		r := &t.runs.list[m.run]
		r.visited++
		c.addSize(&r.sizes)
	}
}

// judge is which of those traps a candidate that is not in the log, so many hops from its seed, belongs to.
func (t *traps) judge(c *Candidate, hops int, on trapSet, pages *seen) Reason {
	u, href := c.URL, c.URL.String()
	if on.has(ReasonTrapSession) && mayHaveSession(href) {
		if s, ok := t.session(u); ok && t.trapSession(s, pages) {
			return ReasonTrapSession
		}
	}
	if c.Flags&(FlagListed|FlagSitemap) != 0 {
		return ""
	}
	if on.has(ReasonTrapCalendar) && hops >= runDeep && len(t.runs.list) > 0 {
		if f := t.form(href); f.key != 0 {
			if id := t.runs.find(f.key); id != unwatched && t.runs.list[id].trapRun(hops, t.viaMember(c).run == id) {
				return ReasonTrapCalendar
			}
		}
	}
	if q := strings.IndexByte(href, '?'); q >= 0 && on.has(ReasonTrapQuery) && len(t.queries.list) > 0 {
		if id := t.queries.find(t.pathKey(href)); id != unwatched && t.trapQuery(&t.queries.list[id], href[q+1:]) {
			return ReasonTrapQuery
		}
	}
	return ""
}

// loadTraps counts a URL of the log anew.
func (l *loaded) loadTraps(o Ordinal, u canon.URL, r *urlHead) {
	of := noMember
	if r.Via != NoOrdinal {
		of = membership{l.ofQuery.get(r.Via) - 1, l.ofRun.get(r.Via) - 1}
	}
	hops := len(r.path)
	if hops > maxHops {
		hops = hopCount(string(r.path))
	}
	m := l.traps.logged(o, u, hops, r.Via, of)
	if m.query != unwatched {
		l.ofQuery.set(o, m.query+1)
	}
	if m.run != unwatched {
		l.ofRun.set(o, m.run+1)
	}
	if m != noMember && l.last[o] == lastStored {
		l.traps.stored(m, contents(l.contents.get(o)))
	}
}
