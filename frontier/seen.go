package frontier

import "math/bits"

// seen maps the fingerprints of all logged URLs to their ordinals: open addressing with linear probing, in shards by
// the fingerprint's top byte, so that growing stalls for a 256th of the table only. A slot takes 12 bytes and the
// load lies between two thirds and seven eighths: 13.7 to 18 bytes per URL.
//
// Two URLs with one fingerprint are taken for one. Over a crawl of n URLs n^2/2^65 are lost so on average: 7e-5 at 5e7.
type seen struct {
	shards [seenShards]shard
	n      int
}

const (
	seenShards   = 256
	shardInitial = 16
)

type shard struct {
	fps  []uint64 // 0: empty
	ords []uint32
	n    int
}

// fp0 stands for the fingerprint 0, which marks an empty slot.
const fp0 = 0x9e3779b97f4a7c15

func (s *seen) shard(fp uint64) *shard { return &s.shards[fp>>56] }

// slot finds where fp is, or where it would go. The table has an empty slot.
func (h *shard) slot(fp uint64) int {
	hi, _ := bits.Mul64(fp<<8, uint64(len(h.fps)))
	i := int(hi)
	for h.fps[i] != 0 && h.fps[i] != fp {
		if i++; i == len(h.fps) {
			i = 0
		}
	}
	return i
}

func (s *seen) find(fp uint64) (uint32, bool) {
	if fp == 0 {
		fp = fp0
	}
	h := s.shard(fp)
	if len(h.fps) == 0 {
		return 0, false
	}
	i := h.slot(fp)
	return h.ords[i], h.fps[i] != 0
}

// add takes a fingerprint in; it is false when it was there.
func (s *seen) add(fp uint64, ord uint32) bool {
	if fp == 0 {
		fp = fp0
	}
	h := s.shard(fp)
	if 8*(h.n+1) > 7*len(h.fps) {
		h.grow()
	}
	i := h.slot(fp)
	if h.fps[i] != 0 {
		return false
	}
	h.fps[i], h.ords[i] = fp, ord
	h.n++
	s.n++
	return true
}

func (h *shard) grow() {
	size := max(shardInitial, len(h.fps)*13/10)
	old := *h
	h.fps, h.ords = make([]uint64, size), make([]uint32, size)
	for i, fp := range old.fps {
		if fp != 0 {
			j := h.slot(fp)
			h.fps[j], h.ords[j] = fp, old.ords[i]
		}
	}
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
