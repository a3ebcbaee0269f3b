package export

import (
	"bufio"
	"container/heap"
	"errors"
	"io"
	"os"
	"slices"
)

// sortBytes is how many bytes of URLs are sorted in memory at a time.
const sortBytes = 32 << 20

// sorter sorts lines within bounded memory: runs of at most max bytes go to temporary files, which are merged.
type sorter struct {
	max   int
	lines []string
	bytes int
	runs  []*sortedRun
}

// sortedRun is a sorted part.
type sortedRun struct {
	file *os.File // nil: the part in memory
	br   *bufio.Reader
	rest []string
	line string
}

func newSorter(max int) *sorter { return &sorter{max: max} }

func (s *sorter) add(line string) error {
	s.lines = append(s.lines, line)
	s.bytes += len(line) + 16 // the string's own header
	if s.bytes < s.max {
		return nil
	}
	return s.spill()
}

func (s *sorter) sortLines() {
	slices.Sort(s.lines)
	s.lines = slices.Compact(s.lines)
}

func (s *sorter) spill() error {
	f, err := os.CreateTemp("", "amble-sort-*")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, &sortedRun{file: f})
	s.sortLines()
	w := bufio.NewWriterSize(f, 64<<10)
	for _, line := range s.lines {
		_, _ = w.WriteString(line) // Flush has the error
		_ = w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		return err
	}
	clear(s.lines)
	s.lines, s.bytes = s.lines[:0], 0
	return nil
}

// each calls visit with every line once, in order.
func (s *sorter) each(visit func(string) error) error {
	s.sortLines()
	h := make(runHeap, 0, len(s.runs)+1)
	for _, r := range append(s.runs, &sortedRun{rest: s.lines}) {
		if r.file != nil {
			if _, err := r.file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			r.br = bufio.NewReaderSize(r.file, 64<<10)
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	last, any := "", false
	for len(h) > 0 {
		r := h[0]
		if !any || r.line != last {
			last, any = r.line, true
			if err := visit(last); err != nil {
				return err
			}
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	return nil
}

func (r *sortedRun) next() (bool, error) {
	if r.file == nil {
		if len(r.rest) == 0 {
			return false, nil
		}
		r.line, r.rest = r.rest[0], r.rest[1:]
		return true, nil
	}
	line, err := r.br.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.line = line[:len(line)-1]
	return true, nil
}

func (s *sorter) close() {
	for _, r := range s.runs {
		_ = r.file.Close() // only read by now
		_ = os.Remove(r.file.Name())
	}
	s.runs, s.lines = nil, nil
}

type runHeap []*sortedRun

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].line < h[j].line }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*sortedRun)) }
func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}
