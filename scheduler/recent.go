package scheduler

import "hash/maphash"

// recent remembers about the last 65,536 distinct strings in 512 KiB, so that what stands on every page of a site
// is counted once.
type recent struct {
	seed  maphash.Seed
	table []uint64
}

// add tells whether s is new, as far as remembered.
func (r *recent) add(s string) bool {
	if r.table == nil {
		r.seed, r.table = maphash.MakeSeed(), make([]uint64, 1<<16)
	}
	h := maphash.String(r.seed, s) | 1
	i := h >> 48
	if r.table[i] == h {
		return false
	}
	r.table[i] = h
	return true
}
