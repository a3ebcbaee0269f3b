package storage

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"amble/fetcher/capture"
	"amble/storage/warc"
)

const (
	// spoolBytes is how long finished records may grow in memory.
	spoolBytes = 1 << 20
	// keepBytes is the largest buffer that is kept for the next capture.
	keepBytes = 256 << 10
	// smallBody is a body so short that a good compression gains nothing over a fast one.
	smallBody = 512
)

// Encoded are the finished, compressed records of one capture, ready to be appended.
type Encoded struct {
	PayloadDigest [32]byte

	out     sink
	entry   Entry // Offset relative to the first byte
	archive *Archive
}

// Close gives memory back.
func (e *Encoded) Close() {
	if e == nil || e.archive == nil {
		return
	}
	e.archive.putBuffer(e.out.buf)
	_ = e.out.spool.Close() // a temporary file that is unlinked already
	e.out, e.archive = sink{}, nil
}

// Len is how many bytes Append will write.
func (e *Encoded) Len() int64 { return e.out.n }

// sink takes compressed bytes, in memory at first, beyond spoolBytes in a Spool.
type sink struct {
	buf    []byte
	spool  *capture.Spool
	budget *capture.Budget
	n      int64
}

func (s *sink) Write(p []byte) (int, error) {
	if s.spool == nil && len(s.buf)+len(p) > spoolBytes && s.budget != nil {
		s.spool = s.budget.NewSpool()
		if _, err := s.spool.Write(s.buf); err != nil {
			return 0, err
		}
		s.buf = s.buf[:0]
	}
	s.n += int64(len(p))
	if s.spool != nil {
		return s.spool.Write(p)
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

func (s *sink) writeTo(w io.Writer) error {
	if s.spool != nil {
		_, err := io.Copy(w, s.spool.Reader())
		return err
	}
	_, err := w.Write(s.buf)
	return err
}

// encoder is what encoding a capture needs and the next one can use again.
type encoder struct {
	comp   warc.Compressor
	hash   hash.Hash
	head   []byte // response head as stored
	header []byte // of a WARC record
	block  []byte // of a metadata record
	copied []byte // for bodies that are not in memory
	ids    [3]warc.ID
}

// Encode builds and compresses the records (response, request, metadata) of a capture. Bodies beyond 1 MiB are spooled
// under budget. A capture without a response head is ErrNoResponse. Encode waits while as many others run as Go has
// processors, since each needs a compressor's memory.
func (a *Archive) Encode(c *capture.Capture, m Meta, budget *capture.Budget) (*Encoded, error) {
	if len(c.Head) == 0 {
		return nil, ErrNoResponse
	}
	if headEnd(c.Head) == 0 || len(c.Head) > warc.MaxHeaderBytes {
		return nil, fmt.Errorf("archive %s: the response head of %d bytes has no end or is over the limit of %d", c.URL, len(c.Head), warc.MaxHeaderBytes)
	}
	if wordByte(kindWords, m.Kind) == 0xff {
		return nil, fmt.Errorf("archive %s: unknown kind of capture %q", c.URL, m.Kind)
	}
	enc := <-a.encoders
	defer func() { a.encoders <- enc }()
	if enc == nil {
		enc = &encoder{hash: sha256.New()}
	}
	e := &Encoded{archive: a, out: sink{buf: a.getBuffer(), budget: budget}}
	if err := enc.encode(a, e, c, &m); err != nil {
		e.Close()
		return nil, fmt.Errorf("archive %s: %w", c.URL, err)
	}
	return e, nil
}

func (enc *encoder) encode(a *Archive, e *Encoded, c *capture.Capture, m *Meta) error {
	a.opt.NewIDs(enc.ids[:])
	response, request, metadata := enc.ids[0], enc.ids[1], enc.ids[2]
	if id, ok := warc.ParseID(m.ID); ok {
		response = id
	}
	truncated := c.Truncated
	if wordByte(truncatedWords, truncated) == 0xff {
		truncated = "unspecified"
	}
	common := warc.Header{
		Date:       c.Start,
		TargetURI:  c.URL.String(),
		WarcinfoID: *a.warcinfo.Load(),
		IPAddress:  c.Addr.Addr(),
	}

	h := common
	h.Type, h.ID, h.ContentType, h.Truncated = warc.TypeResponse, response, warc.ContentResponse, truncated
	if err := enc.response(e, c, m, &h); err != nil {
		return err
	}
	e.entry = Entry{
		Length:        e.out.n,
		Time:          c.Start.UTC().Truncate(time.Microsecond),
		URL:           common.TargetURI,
		Status:        headStatus(c.Head),
		MediaType:     warc.Safe(m.MediaType),
		ID:            response,
		PayloadDigest: e.PayloadDigest,
		Kind:          m.Kind,
		Truncated:     truncated,
	}

	if len(c.RequestHead) > 0 {
		h = common
		h.Type, h.ID, h.ContentType, h.ConcurrentTo = warc.TypeRequest, request, warc.ContentRequest, response
		if err := enc.whole(e, &h, c.RequestHead); err != nil {
			return err
		}
		e.entry.RequestLength = e.out.n - e.entry.Length
	}

	enc.block = appendMeta(enc.block[:0], c, m)
	if len(enc.block) > maxMetadataBytes {
		return fmt.Errorf("metadata of %d bytes is over the limit of %d", len(enc.block), maxMetadataBytes)
	}
	h = common
	h.Type, h.ID, h.ContentType, h.ConcurrentTo = warc.TypeMetadata, metadata, warc.ContentFields, response
	if err := enc.whole(e, &h, enc.block); err != nil {
		return err
	}
	e.entry.MetadataLength = e.out.n - e.entry.Length - e.entry.RequestLength
	return nil
}

// whole writes a record whose block is in memory.
func (enc *encoder) whole(e *Encoded, h *warc.Header, block []byte) error {
	digest := sha256.Sum256(block)
	h.BlockDigest, h.Length = &digest, int64(len(block))
	if err := enc.setHeader(h); err != nil {
		return err
	}
	w := enc.comp.Fast(&e.out)
	for _, part := range [...][]byte{enc.header, block, []byte(warc.Trailer)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Close()
}

func (enc *encoder) setHeader(h *warc.Header) error {
	enc.header = h.Append(enc.header[:0])
	if len(enc.header) > warc.MaxHeaderBytes {
		return fmt.Errorf("record header of %d bytes is over the limit of %d", len(enc.header), warc.MaxHeaderBytes)
	}
	return nil
}

func (enc *encoder) response(e *Encoded, c *capture.Capture, m *Meta, h *warc.Header) error {
	var length int64
	if c.Body != nil {
		length = c.Body.Len()
	}
	enc.head = appendStoredHead(enc.head[:0], c.Head, headStatus(c.Head), length)

	enc.hash.Reset()
	if err := enc.body(enc.hash, c.Body); err != nil {
		return err
	}
	enc.hash.Sum(e.PayloadDigest[:0])
	enc.hash.Reset()
	enc.hash.Write(enc.head)
	if err := enc.body(enc.hash, c.Body); err != nil {
		return err
	}
	var block [32]byte
	enc.hash.Sum(block[:0])

	h.BlockDigest, h.PayloadDigest = &block, &e.PayloadDigest
	h.Length = int64(len(enc.head)) + length
	if err := enc.setHeader(h); err != nil {
		return err
	}
	coded := isCompressed(c, m)
	begin := enc.comp.Small
	if coded || length < smallBody {
		begin = enc.comp.Fast
	}
	w := begin(&e.out)
	for _, part := range [...][]byte{enc.header, enc.head} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	if coded {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if err := enc.body(w, c.Body); err != nil {
		return err
	}
	if _, err := w.Write([]byte(warc.Trailer)); err != nil {
		return err
	}
	return w.Close()
}

// body writes a body, which may be nil, to w.
func (enc *encoder) body(w io.Writer, body *capture.Spool) error {
	if body == nil {
		return nil
	}
	if b, ok := body.Bytes(); ok {
		_, err := w.Write(b)
		return err
	}
	if enc.copied == nil {
		enc.copied = make([]byte, 64<<10)
	}
	// The wrappers keep io.CopyBuffer to its buffer.
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{body.Reader()}, enc.copied)
	return err
}

// isCompressed tells whether a body is compressed already, by content coding or by its nature.
func isCompressed(c *capture.Capture, m *Meta) bool {
	for _, coding := range c.Header["Content-Encoding"] {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	kind, name, _ := strings.Cut(m.MediaType, "/")
	switch kind {
	case "image":
		return name != "svg+xml" && name != "bmp" && name != "x-icon" && name != "vnd.microsoft.icon"
	case "video", "audio":
		return true
	case "font":
		return strings.HasPrefix(name, "woff")
	case "application":
		switch name {
		case "zip", "pdf", "gzip", "x-gzip", "zstd", "x-bzip2", "x-xz", "x-7z-compressed", "java-archive", "epub+zip":
			return true
		}
		return strings.HasPrefix(name, "vnd.openxmlformats")
	}
	return false
}
