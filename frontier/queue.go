package frontier

// The queues of all hosts share two slabs: queues, chained per host in order of class, and blocks of ordinals, chained
// per queue. Both are indexed by uint32 with 0 for none, hold no pointers, and are reused once empty.

// blockLen ordinals and one link fill half a cache line of 64 bytes: 4.6 bytes per waiting URL in a long queue, and at
// most two part-filled blocks per queue.
const (
	blockLen      = 7
	blocksPerPage = 4096
)

type block struct {
	ords [blockLen]uint32
	next uint32
}

// queue is the FIFO of one class of one host.
type queue struct {
	head, tail       uint32 // blocks
	next             uint32 // the host's queue of the next class; in the free list: the next free one
	class            uint8
	headPos, tailPos uint8 // next to read in head; next to write in tail
}

type queues struct {
	queues     []queue
	freeQueue  uint32
	pages      [][]block
	blocks     uint32 // blocks ever handed out, block 0 included
	freeBlocks uint32
}

func newQueues() *queues {
	return &queues{queues: make([]queue, 1), blocks: 1}
}

func (q *queues) block(i uint32) *block {
	return &q.pages[i/blocksPerPage][i%blocksPerPage]
}

func (q *queues) newBlock() uint32 {
	if i := q.freeBlocks; i != 0 {
		b := q.block(i)
		q.freeBlocks, b.next = b.next, 0
		return i
	}
	i := q.blocks
	if int(i/blocksPerPage) >= len(q.pages) {
		q.pages = append(q.pages, make([]block, blocksPerPage))
	}
	q.blocks++
	return i
}

func (q *queues) dropBlock(i uint32) {
	q.block(i).next = q.freeBlocks
	q.freeBlocks = i
}

// at finds the queue of a class in the chain that begins at *first, and makes it when it is missing.
func (q *queues) at(first *uint32, class uint8) *queue {
	var before uint32
	i := *first
	for i != 0 && q.queues[i].class < class {
		before, i = i, q.queues[i].next
	}
	if i != 0 && q.queues[i].class == class {
		return &q.queues[i]
	}
	n := q.freeQueue
	if n != 0 {
		q.freeQueue = q.queues[n].next
	} else {
		n = uint32(len(q.queues))
		q.queues = append(q.queues, queue{})
	}
	b := q.newBlock()
	q.queues[n] = queue{head: b, tail: b, next: i, class: class}
	if before == 0 {
		*first = n
	} else {
		q.queues[before].next = n
	}
	return &q.queues[n]
}

// push appends to the class's queue.
func (q *queues) push(first *uint32, class uint8, ord uint32) {
	w := q.at(first, class)
	if w.tailPos == blockLen {
		b := q.newBlock()
		q.block(w.tail).next = b
		w.tail, w.tailPos = b, 0
	}
	q.block(w.tail).ords[w.tailPos] = ord
	w.tailPos++
}

// unpop puts an ordinal back to the head of the class's queue.
func (q *queues) unpop(first *uint32, class uint8, ord uint32) {
	w := q.at(first, class)
	if w.headPos == 0 {
		if w.head == w.tail && w.tailPos == 0 { // just made
			q.block(w.tail).ords[0] = ord
			w.tailPos = 1
			return
		}
		b := q.newBlock()
		q.block(b).next = w.head
		w.head, w.headPos = b, blockLen
	}
	w.headPos--
	q.block(w.head).ords[w.headPos] = ord
}

// peek is the head of the first queue in the chain. No queue in a chain is empty.
func (q *queues) peek(first uint32) (ord uint32, class uint8, ok bool) {
	if first == 0 {
		return 0, 0, false
	}
	w := &q.queues[first]
	return q.block(w.head).ords[w.headPos], w.class, true
}

// popIf removes ord, which must be the head of some queue in the chain.
func (q *queues) popIf(first *uint32, ord uint32) (class uint8, ok bool) {
	var before uint32
	for i := *first; i != 0; before, i = i, q.queues[i].next {
		if w := &q.queues[i]; q.block(w.head).ords[w.headPos] == ord {
			class = w.class
			q.pop(first, before, i)
			return class, true
		}
	}
	return 0, false
}

// pop removes the head of queue i, whose predecessor in the chain is before, and the queue with it once it is empty.
func (q *queues) pop(first *uint32, before, i uint32) uint32 {
	w := &q.queues[i]
	ord := q.block(w.head).ords[w.headPos]
	w.headPos++
	switch {
	case w.head == w.tail && w.headPos == w.tailPos:
		q.dropBlock(w.head)
		if before == 0 {
			*first = w.next
		} else {
			q.queues[before].next = w.next
		}
		*w = queue{next: q.freeQueue}
		q.freeQueue = i
	case w.headPos == blockLen:
		b := w.head
		w.head, w.headPos = q.block(b).next, 0
		q.dropBlock(b)
	}
	return ord
}

// drain empties the whole chain in order.
func (q *queues) drain(first *uint32, to []uint32) []uint32 {
	for *first != 0 {
		to = append(to, q.pop(first, 0, *first))
	}
	return to
}
