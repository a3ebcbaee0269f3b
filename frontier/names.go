package frontier

import (
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// namePage is the size of the blocks that hold the names. They never move, so a name is handed out without a copy.
const namePage = 1 << 16

// names numbers strings densely: about 10 bytes beside each string, and no pointer.
type names struct {
	seed  maphash.Seed
	pages [][]byte
	offs  []uint32 // page and position in it, 16 bits each
	table []uint32 // id+1; 0: empty
}

func newNames() *names {
	return &names{seed: maphash.MakeSeed(), table: make([]uint32, 16)}
}

func (n *names) len() int { return len(n.offs) }

func (n *names) get(id uint32) string {
	off := n.offs[id]
	p := n.pages[off>>16][off&(namePage-1):]
	size, k := binary.Uvarint(p)
	if size == 0 {
		return ""
	}
	return unsafe.String(&p[k], int(size))
}

func (n *names) slot(s string) int {
	i := int(maphash.String(n.seed, s) % uint64(len(n.table)))
	for n.table[i] != 0 && n.get(n.table[i]-1) != s {
		if i++; i == len(n.table) {
			i = 0
		}
	}
	return i
}

func (n *names) find(s string) (uint32, bool) {
	v := n.table[n.slot(s)]
	return v - 1, v != 0
}

// add numbers a string that is not there yet.
func (n *names) add(s string) uint32 {
	need := len(s) + binary.MaxVarintLen32
	last := len(n.pages) - 1
	if last < 0 || len(n.pages[last])+need > cap(n.pages[last]) {
		n.pages = append(n.pages, make([]byte, 0, max(namePage, need)))
		last++
	}
	p := n.pages[last]
	id := uint32(len(n.offs))
	n.offs = append(n.offs, uint32(last)<<16|uint32(len(p)))
	p = binary.AppendUvarint(p, uint64(len(s)))
	n.pages[last] = append(p, s...)

	if 4*len(n.offs) > 3*len(n.table) {
		n.table = make([]uint32, 2*len(n.table))
		for i := range n.offs {
			n.table[n.slot(n.get(uint32(i)))] = uint32(i) + 1
		}
	} else {
		n.table[n.slot(s)] = id + 1
	}
	return id
}
