package frontier

import (
	"sync/atomic"

	"amble/frontier/canon"
)

const noID = 1<<32 - 1

// hostState is the index's part of a pace key: 20 bytes and its name.
type hostState struct {
	origin uint32 // first of its chain
	queue  uint32 // first of its chain
	queued uint32 // in the queues, retries not counted
	load   uint32 // URLs that are pending or stored: what a budget counts
	turn   bool   // the last URL taken was a retry: a new one goes next
}

type originState struct {
	host uint32
	next uint32 // of the same host
	kind uint8
}

type seedState struct {
	ord  Ordinal
	load int64 // URLs of this seed that are pending or stored
}

// inFlight is a URL that was taken and has no result yet.
type inFlight struct {
	host    HostID
	seed    uint32
	due     int64
	attempt uint16
	class   uint8
	retry   bool
	of      membership
}

// index is all that is kept in memory. It belongs to the goroutine that uses the Frontier.
type index struct {
	hashSeed uint64
	names    *names
	hosts    []hostState
	origins  []originState
	seeds    []Seed
	seedsAt  []seedState
	seedOf   map[Ordinal]uint32 // seeds by ordinal
	seen     seen
	queues   *queues
	retries  map[HostID]*retries
	traps    *traps
	visits   visitTable
	urls     uint32 // ordinals given out
	pending  int64
}

func newIndex() *index {
	return &index{
		names:   newNames(),
		seedOf:  map[Ordinal]uint32{},
		queues:  newQueues(),
		retries: map[HostID]*retries{},
		traps:   newTraps(),
	}
}

func (x *index) addHost(key string) HostID {
	id := x.names.add(key)
	x.hosts = append(x.hosts, hostState{origin: noID})
	return HostID(id)
}

func (x *index) addOrigin(host HostID, kind uint8) OriginID {
	id := uint32(len(x.origins))
	h := &x.hosts[host]
	x.origins = append(x.origins, originState{host: uint32(host), next: h.origin, kind: kind})
	h.origin = id
	return OriginID(id)
}

func (x *index) findOrigin(host HostID, kind uint8) (OriginID, bool) {
	for o := x.hosts[host].origin; o != noID; o = x.origins[o].next {
		if x.origins[o].kind == kind {
			return OriginID(o), true
		}
	}
	return 0, false
}

func (x *index) originText(o OriginID) string {
	s := x.origins[o]
	return originText(x.names.get(s.host), s.kind)
}

func (x *index) enqueue(h HostID, class uint8, o Ordinal) {
	s := &x.hosts[h]
	x.queues.push(&s.queue, class, uint32(o))
	s.queued++
}

func (x *index) enqueueRetry(h HostID, r retry) {
	w := x.retries[h]
	if w == nil {
		w = new(retries)
		x.retries[h] = w
	}
	w.push(r)
}

func (x *index) dropRetry(h HostID, i int) retry {
	w := x.retries[h]
	r := w.remove(i)
	if len(*w) == 0 {
		delete(x.retries, h)
	}
	return r
}

// count changes what the budgets of a URL's host and seed have used.
func (x *index) count(h HostID, seed uint32, by int) {
	x.hosts[h].load += uint32(by)
	if int(seed) < len(x.seedsAt) {
		x.seedsAt[seed].load += int64(by)
	}
}

// visitTable has the number of each URL's last visit, plus one; pages are made where visits are.
type visitTable struct{ pages [][]uint32 }

const visitPage = 4096

func (t *visitTable) get(o Ordinal) (visit uint64, ok bool) {
	p := int(o / visitPage)
	if p >= len(t.pages) || t.pages[p] == nil {
		return 0, false
	}
	v := t.pages[p][o%visitPage]
	return uint64(v) - 1, v != 0
}

func (t *visitTable) set(o Ordinal, visit uint64) {
	p := int(o / visitPage)
	for p >= len(t.pages) {
		t.pages = append(t.pages, nil)
	}
	if t.pages[p] == nil {
		t.pages[p] = make([]uint32, visitPage)
	}
	t.pages[p][o%visitPage] = uint32(visit + 1)
}

// Frontier is the queue, the seen set and the log of one crawl. But for Commit, it is used by one goroutine.
type Frontier struct {
	path     string
	file     *file
	rules    *scopeRules
	readOnly bool

	// Owned by the goroutine that uses the Frontier.
	*index
	skips   skips
	flight  map[Ordinal]inFlight
	scopes  [scopeCache]seedScope
	open    []*Batch // begun and not yet applied, in order
	batches uint64   // begun
	applied uint64
	woken   []HostID

	// Owned by the goroutine that calls Commit.
	committed uint64
	totals    totals
	urlTail   chunk
	visitTail chunk

	// Written by either, once: why nothing more is accepted.
	failure atomic.Pointer[error]
}

// scopeCache is how many seeds have their scope kept ready.
const scopeCache = 256

func (f *Frontier) scopeOf(seed uint32) *seedScope {
	s := &f.scopes[seed%scopeCache]
	if !s.set || s.number != seed {
		*s = newSeedScope(seed, f.seeds[seed].URL)
	}
	return s
}

func (f *Frontier) fail(err error) error {
	f.failure.CompareAndSwap(nil, &err)
	return f.err()
}

func (f *Frontier) err() error {
	if p := f.failure.Load(); p != nil {
		return *p
	}
	return nil
}

func (f *Frontier) fingerprint(u canon.URL) uint64 { return u.Fingerprint(f.hashSeed) }
