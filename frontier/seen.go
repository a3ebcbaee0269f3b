package frontier

import (
	"encoding/binary"
	"math/bits"
)

// seen maps the fingerprints of all logged URLs to their ordinals: open addressing with linear probing, in shards by
// the fingerprint's top byte, so that growing stalls for a 256th of the table only, and a slot keeps the other seven.
// With the ordinal it takes 11 bytes, and the load lies between 81 and 89 %: 12.4 to 13.6 bytes per URL. Who comes first
// keeps its place: most look-ups then end at their first slot, as the processor expects, and the misses of several
// overlap, which an ordered table would prevent.
//
// Two URLs with one fingerprint are taken for one. Over a crawl of n URLs n^2/2^65 are lost so on average: 7e-5 at 5e7.
type seen struct {
	shards [seenShards]shard
	n      int
}

const (
	seenShards   = 256
	shardInitial = 16
	slotBytes    = 7
)

type shard struct {
	fps  []byte // slotBytes each, 0: empty; one byte more at the end, as they are read by eight
	ords []uint32
	n    int
}

// fp0 stands for the fingerprints that look like an empty slot.
const fp0 = 0x9e3779b97f4a7c15

func (s *seen) shard(fp uint64) *shard { return &s.shards[fp>>56] }

// kept is the part of a fingerprint that a slot keeps.
func kept(fp uint64) uint64 {
	if fp &= 1<<56 - 1; fp == 0 {
		return fp0 & (1<<56 - 1)
	}
	return fp
}

func (h *shard) at(i int) uint64 { return binary.LittleEndian.Uint64(h.fps[i*slotBytes:]) << 8 >> 8 }

func (h *shard) put(i int, fp uint64, ord uint32) {
	p := h.fps[i*slotBytes:]
	binary.LittleEndian.PutUint64(p, uint64(p[slotBytes])<<56|fp)
	h.ords[i] = ord
}

// slot finds where a kept fingerprint is, or where it would go. The table has an empty slot.
func (h *shard) slot(fp uint64) (i int, found bool) {
	hi, _ := bits.Mul64(fp<<8, uint64(len(h.ords)))
	for i = int(hi); ; {
		switch h.at(i) {
		case fp:
			return i, true
		case 0:
			return i, false
		}
		if i++; i == len(h.ords) {
			i = 0
		}
	}
}

func (s *seen) find(fp uint64) (uint32, bool) {
	h := s.shard(fp)
	if len(h.ords) == 0 {
		return 0, false
	}
	i, found := h.slot(kept(fp))
	return h.ords[i], found
}

// add takes a fingerprint in; it is false when it was there.
func (s *seen) add(fp uint64, ord uint32) bool {
	h := s.shard(fp)
	if 9*(h.n+1) > 8*len(h.ords) {
		h.resize(max(shardInitial, len(h.ords)*110/100+2))
	}
	fp = kept(fp)
	i, found := h.slot(fp)
	if found {
		return false
	}
	h.put(i, fp, ord)
	h.n++
	s.n++
	return true
}

func (h *shard) resize(size int) {
	old := *h
	h.fps, h.ords = make([]byte, size*slotBytes+1), make([]uint32, size)
	for i, ord := range old.ords {
		if fp := old.at(i); fp != 0 {
			j, _ := h.slot(fp)
			h.put(j, fp, ord)
		}
	}
}

// seenLoader fills a seen set that is to have so many fingerprints. They come in no order, so each would miss the
// caches: it collects them by shard and adds those of one shard in a row.
type seenLoader struct {
	to    *seen
	wait  [seenShards][]seenEntry
	twice func(ord uint32) error // what is there already
}

type seenEntry struct {
	fp  uint64
	ord uint32
}

// seenWait entries of each shard wait: 1 MiB in all.
const seenWait = 256

func newSeenLoader(to *seen, n uint64, twice func(uint32) error) *seenLoader {
	if n >= seenShards*seenWait {
		for i := range to.shards {
			to.shards[i].resize(int(n/seenShards) * 115 / 100)
		}
	}
	return &seenLoader{to: to, twice: twice}
}

func (l *seenLoader) add(fp uint64, ord uint32) error {
	w := &l.wait[fp>>56]
	if *w == nil {
		*w = make([]seenEntry, 0, seenWait)
	}
	*w = append(*w, seenEntry{fp, ord})
	if len(*w) < seenWait {
		return nil
	}
	return l.flush(w)
}

func (l *seenLoader) flush(w *[]seenEntry) error {
	entries := *w
	*w = (*w)[:0]
	for _, e := range entries {
		if !l.to.add(e.fp, e.ord) {
			if err := l.twice(e.ord); err != nil {
				return err
			}
		}
	}
	return nil
}

// done adds what still waits.
func (l *seenLoader) done() error {
	for i := range l.wait {
		if err := l.flush(&l.wait[i]); err != nil {
			return err
		}
	}
	return nil
}

// skipSlots bounds what is remembered of skipped URLs: 1 MiB of fingerprints, one per slot, the latest stays.
// A skipped URL that is met again after another one took its slot is counted twice.
const skipSlots = 1 << 17

type skips struct{ fps []uint64 }

// first tells whether fp is not remembered, and remembers it.
func (s *skips) first(fp uint64) bool {
	if s.fps == nil {
		s.fps = make([]uint64, skipSlots)
	}
	if fp == 0 {
		fp = fp0
	}
	p := &s.fps[fp%skipSlots]
	if *p == fp {
		return false
	}
	*p = fp
	return true
}
