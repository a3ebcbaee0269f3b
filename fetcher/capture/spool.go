package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// memoryLimit is the most bytes that one Spool holds in memory. Above it a file costs little
// beside the transfer itself, and one large body would push many small ones out.
const memoryLimit = 1 << 20

// bufferSizes are the capacities that Spools use. Few classes make pooled buffers fit again;
// the factor of four keeps the copying while a body grows under half its length.
var bufferSizes = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10, memoryLimit}

// Budget bounds the bytes that Spools hold in memory together; what does not fit goes to
// temporary files in Dir. It is safe for concurrent use.
type Budget struct {
	dir   string
	max   int64
	used  atomic.Int64
	pools [len(bufferSizes)]sync.Pool
}

// NewBudget makes a Budget of maxBytes whose files live in dir ("" is os.TempDir). Files are
// unlinked as soon as they are open where the system permits, so that a killed process leaves none.
func NewBudget(dir string, maxBytes int64) *Budget {
	return &Budget{dir: dir, max: max(maxBytes, 0)}
}

// Used is the number of bytes that open Spools hold in memory now, counted as the capacity of
// their buffers. It never exceeds the Budget's bound.
func (b *Budget) Used() int64 { return b.used.Load() }

// reserve takes n bytes from the Budget, or none.
func (b *Budget) reserve(n int) bool {
	for {
		used := b.used.Load()
		if used+int64(n) > b.max {
			return false
		}
		if b.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// get is an empty buffer of class i, whose size has been reserved.
func (b *Budget) get(i int) []byte {
	if p, ok := b.pools[i].Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, bufferSizes[i])
}

// put gives a buffer of class i back, to the pool and to the Budget.
func (b *Budget) put(i int, buf []byte) {
	buf = buf[:0]
	b.pools[i].Put(&buf)
	b.used.Add(-int64(bufferSizes[i]))
}

// Spool is a byte sequence written once and read any number of times, in memory while it is
// short (1 MiB) and the Budget permits, else in a temporary file.
type Spool struct {
	budget *Budget
	buf    []byte
	class  int // of buf, while buf is not nil
	file   *os.File
	named  bool // file could not be unlinked while it is open
	size   int64
	closed bool
}

// NewSpool makes an empty Spool under the Budget.
func (b *Budget) NewSpool() *Spool { return &Spool{budget: b} }

// Grow makes room for n more bytes at once where memory permits; it is a hint. A length that a
// server announces may be passed as it is.
func (s *Spool) Grow(n int64) {
	if s.closed || s.file != nil || n <= 0 || n > memoryLimit {
		return
	}
	s.room(int(n))
}

// room makes the buffer hold n more bytes, and tells whether it does.
func (s *Spool) room(n int) bool {
	need := len(s.buf) + n
	if need <= cap(s.buf) {
		return true
	}
	for i, size := range bufferSizes {
		if size < need {
			continue
		}
		if !s.budget.reserve(size) {
			return false
		}
		buf := append(s.budget.get(i), s.buf...)
		if s.buf != nil {
			s.budget.put(s.class, s.buf)
		}
		s.buf, s.class = buf, i
		return true
	}
	return false
}

// Write implements io.Writer. An error is the disk's; what was written before it stays readable.
func (s *Spool) Write(p []byte) (int, error) {
	if s.closed {
		return 0, fmt.Errorf("write spool: %w", fs.ErrClosed)
	}
	if s.file == nil {
		if s.room(len(p)) {
			s.buf = append(s.buf, p...)
			s.size += int64(len(p))
			return len(p), nil
		}
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	// WriteAt, so that bytes of a write that failed are overwritten by the next.
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write spool: %w", err)
	}
	return n, nil
}

// spill moves the content to a temporary file. On an error the content stays in memory.
func (s *Spool) spill() error {
	f, err := os.CreateTemp(s.budget.dir, "amble-spool-*")
	if err != nil {
		return fmt.Errorf("spill body: %w", err)
	}
	named := os.Remove(f.Name()) != nil
	if _, err := f.WriteAt(s.buf, 0); err != nil {
		f.Close()
		if named {
			os.Remove(f.Name())
		}
		return fmt.Errorf("spill body: %w", err)
	}
	s.file, s.named = f, named
	if s.buf != nil {
		s.budget.put(s.class, s.buf)
		s.buf = nil
	}
	return nil
}

// Len is the number of bytes written.
func (s *Spool) Len() int64 { return s.size }

// Bytes is the whole content when it is in memory, else nil and false. It is valid until Close.
func (s *Spool) Bytes() ([]byte, bool) {
	if s.file != nil || s.closed {
		return nil, false
	}
	return s.buf, true
}

// Reader reads from the start; several may read at a time, and none while it is written.
func (s *Spool) Reader() io.Reader {
	switch {
	case s.closed:
		return closedReader{}
	case s.file != nil:
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return bytes.NewReader(s.buf)
}

// closedReader is what a closed Spool gives: its memory is somebody else's by then.
type closedReader struct{}

func (closedReader) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read spool: %w", fs.ErrClosed)
}

// Close gives memory and file back. It may be called on nil and twice.
func (s *Spool) Close() error {
	if s == nil || s.closed {
		return nil
	}
	s.closed = true
	if s.buf != nil {
		s.budget.put(s.class, s.buf)
		s.buf = nil
	}
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("close spool: %w", err)
	}
	return nil
}
