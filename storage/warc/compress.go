package warc

import (
	"io"

	"github.com/klauspost/compress/gzip"
)

// Compressor makes gzip members, one after another. It keeps its writers, about 1 MB; the zero value is ready. It is
// for one goroutine at a time.
type Compressor struct {
	fast, small *gzip.Writer
}

// Fast begins a member for what is small or compressed already. After the head of a record whose body is compressed,
// Flush: so the head is compressed and the body falls to stored blocks. The member ends with Close.
func (c *Compressor) Fast(w io.Writer) *gzip.Writer {
	return reuse(&c.fast, w, gzip.BestSpeed)
}

// Small begins a member for what compression makes a good deal smaller.
func (c *Compressor) Small(w io.Writer) *gzip.Writer {
	return reuse(&c.small, w, 6)
}

func reuse(slot **gzip.Writer, w io.Writer, level int) *gzip.Writer {
	if *slot == nil {
		*slot, _ = gzip.NewWriterLevel(w, level) // fails for an unknown level only
		return *slot
	}
	(*slot).Reset(w)
	return *slot
}
