package frontier

import (
	"math"
	"math/bits"
)

// What follows a trap is small, of a fixed size or bounded by the URLs that were taken in, and a function of the two
// logs alone: Open comes to the state that the run before had.

// sketch counts URLs by a key in fixed memory (count-min with conservative update): never too few, and too many only
// where keys collide in both rows. 2 MiB keep the noise at some tens for 5e7 URLs.
type sketch struct{ rows [2][]uint8 }

const sketchSlots = 1 << 20

// add counts one more under the key and gives the count, which stops at 255.
func (s *sketch) add(key uint64) uint8 {
	if s.rows[0] == nil {
		s.rows = [2][]uint8{make([]uint8, sketchSlots), make([]uint8, sketchSlots)}
	}
	a, b := &s.rows[0][key%sketchSlots], &s.rows[1][key>>32%sketchSlots]
	n := min(*a, *b)
	if n < math.MaxUint8 {
		n++
	}
	*a, *b = max(*a, n), max(*b, n)
	return n
}

// watch follows the keys that many URLs have: from that many on, there is a T for a key. So a T is paid for by that
// many URLs, and what is rare costs nothing.
type watch[T any] struct {
	from   uint8
	counts sketch
	ids    map[uint64]uint32
	list   []T
}

// unwatched stands for no T.
const unwatched = noID

func (w *watch[T]) find(key uint64) uint32 {
	if id, ok := w.ids[key]; ok {
		return id
	}
	return unwatched
}

// count takes in a URL with that key.
func (w *watch[T]) count(key uint64, begin func() T) uint32 {
	if id, ok := w.ids[key]; ok {
		return id
	}
	if w.counts.add(key) < w.from {
		return unwatched
	}
	if w.ids == nil {
		w.ids = map[uint64]uint32{}
	}
	id := uint32(len(w.list))
	w.ids[key] = id
	w.list = append(w.list, begin())
	return id
}

// distinct estimates how many different values were added, within about 9 % (HyperLogLog with 128 registers). The
// order of adding does not matter.
type distinct [128]uint8

// add takes in a hash of so many bits, 8 at least.
func (d *distinct) add(hash uint32, width int) {
	hash <<= 32 - width
	rank := min(bits.LeadingZeros32(hash<<7), width-7) + 1
	r := &d[hash>>25]
	*r = max(*r, uint8(rank))
}

func (d *distinct) estimate() int {
	const m = float64(len(d))
	sum, empty := 0.0, 0
	for _, r := range d {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	e := 0.715 * m * m / sum
	if e <= 2.5*m && empty > 0 {
		e = m * math.Log(m/float64(empty))
	}
	return int(math.Round(e))
}

// known remembers hashes in fixed memory (a Bloom filter with two probes): 8 MiB, of which only what is touched is
// held. At 1e7 hashes 7 % of the new ones are taken for known.
type known struct{ words []uint64 }

const knownWords = 1 << 20

func (k *known) probes(hash uint64) (w [2]*uint64, bit [2]uint64) {
	if k.words == nil {
		k.words = make([]uint64, knownWords)
	}
	for i := range w {
		w[i], bit[i] = &k.words[hash>>6%knownWords], 1<<(hash&63)
		hash = bits.RotateLeft64(hash, 32)
	}
	return w, bit
}

func (k *known) has(hash uint64) bool {
	w, bit := k.probes(hash)
	return *w[0]&bit[0] != 0 && *w[1]&bit[1] != 0
}

// add tells whether the hash was new.
func (k *known) add(hash uint64) bool {
	w, bit := k.probes(hash)
	isNew := *w[0]&bit[0] == 0 || *w[1]&bit[1] == 0
	*w[0] |= bit[0]
	*w[1] |= bit[1]
	return isNew
}

// contents are 22 bits of a visit's content digest and 10 of its size, kept per URL while the log is read back.
type contents uint32

func contentsOf(r *Result) contents {
	d := r.ContentDigest
	size := uint64(r.Bytes) * 0x9e3779b97f4a7c15 >> 54
	return contents(uint32(d[0])<<24|uint32(d[1])<<16|uint32(d[2])<<8)&^(1<<10-1) | contents(size)
}

func (c contents) addDigest(d *distinct) { d.add(uint32(c)>>10, 22) }
func (c contents) addSize(d *distinct)   { d.add(uint32(c)&(1<<10-1), 10) }

// sparse has a number for some URLs, in pages that are made where there are any; 0 is none.
type sparse struct{ pages [][]uint32 }

func (t *sparse) get(o Ordinal) uint32 {
	p := int(o / visitPage)
	if p >= len(t.pages) || t.pages[p] == nil {
		return 0
	}
	return t.pages[p][o%visitPage]
}

func (t *sparse) set(o Ordinal, v uint32) {
	p := int(o / visitPage)
	for p >= len(t.pages) {
		t.pages = append(t.pages, nil)
	}
	if t.pages[p] == nil {
		t.pages[p] = make([]uint32, visitPage)
	}
	t.pages[p][o%visitPage] = v
}
