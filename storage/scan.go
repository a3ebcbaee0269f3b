package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"amble/storage/warc"
)

// maxMetadataBytes is the longest metadata or request block that is read into memory.
const maxMetadataBytes = 16 << 20

// scanner reads captures from a segment itself.
type scanner struct {
	z      warc.Reader
	serial uint32
	name   string
	// end is where the last whole capture ends.
	end int64
}

func (s *scanner) reset(f io.ReaderAt, name string, serial uint32, from, limit int64) {
	s.name, s.serial, s.end = name, serial, from
	s.z.Strict = true
	s.z.Reset(io.NewSectionReader(f, from, limit-from), from)
}

// next gives the next capture. io.EOF: the file ends with a whole capture.
func (s *scanner) next() (Entry, error) {
	rec, err := s.z.Next()
	if err != nil {
		return Entry{}, err
	}
	if t := rec.Type(); t != warc.TypeResponse {
		return Entry{}, s.bad(rec, fmt.Sprintf("is %q where a response was to come", t))
	}
	e := Entry{Segment: s.name, Serial: s.serial, Offset: rec.Offset, URL: rec.TargetURI(), Truncated: rec.Get("WARC-Truncated")}
	var ok bool
	if e.ID, ok = warc.ParseID(rec.Get("WARC-Record-ID")); !ok {
		return Entry{}, s.bad(rec, "has no UUID for an id")
	}
	if e.PayloadDigest, ok = warc.ParseDigest(rec.Get("WARC-Payload-Digest")); !ok {
		return Entry{}, s.bad(rec, "has no payload digest by SHA-256")
	}
	if e.Time, err = warc.ParseDate(rec.Get("WARC-Date")); err != nil {
		return Entry{}, s.bad(rec, "has no usable WARC-Date")
	}
	var start [32]byte
	n, err := io.ReadFull(rec, start[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Entry{}, err
	}
	e.Status = headStatus(start[:n])
	if e.Length, err = s.finish(e.Offset); err != nil {
		return Entry{}, err
	}
	return s.rest(e)
}

// rest reads what follows the response of e: a request, where there is one, and the metadata.
func (s *scanner) rest(e Entry) (Entry, error) {
	rec, err := s.nextOf(&e)
	if err != nil {
		return Entry{}, err
	}
	if rec.Type() == warc.TypeRequest {
		if e.RequestLength, err = s.finish(rec.Offset); err != nil {
			return Entry{}, err
		}
		if rec, err = s.nextOf(&e); err != nil {
			return Entry{}, err
		}
	}
	if t := rec.Type(); t != warc.TypeMetadata {
		return Entry{}, s.bad(rec, fmt.Sprintf("is %q where the metadata was to come", t))
	}
	block, err := readBlock(rec)
	if err != nil {
		return Entry{}, err
	}
	var r Record
	parseMeta(block, &r)
	e.MediaType, e.Kind = r.Meta.MediaType, r.Meta.Kind
	if wordByte(kindWords, e.Kind) == 0xff {
		return Entry{}, s.bad(rec, fmt.Sprintf("has the unknown kind %q", e.Kind))
	}
	if e.MetadataLength, err = s.finish(rec.Offset); err != nil {
		return Entry{}, err
	}
	s.end = e.End()
	return e, nil
}

// nextOf gives the next record, which must belong to the capture e.
func (s *scanner) nextOf(e *Entry) (*warc.Record, error) {
	rec, err := s.z.Next()
	if err == io.EOF {
		return nil, &warc.SyntaxError{Offset: e.Offset, Msg: "its capture is not whole", Err: io.ErrUnexpectedEOF}
	}
	if err != nil {
		return nil, err
	}
	if id, _ := warc.ParseID(rec.Get("WARC-Concurrent-To")); id != e.ID {
		return nil, s.bad(rec, "does not belong to the capture before it")
	}
	return rec, nil
}

func (s *scanner) finish(offset int64) (length int64, err error) {
	if err := s.z.Finish(); err != nil {
		return 0, err
	}
	return s.z.Offset() - offset, nil
}

func (s *scanner) bad(rec *warc.Record, msg string) error {
	return &warc.SyntaxError{Offset: rec.Offset, Msg: msg}
}

// readBlock reads a block that is kept in memory.
func readBlock(rec *warc.Record) ([]byte, error) {
	if rec.Length > maxMetadataBytes {
		return nil, &warc.SyntaxError{Offset: rec.Offset, Msg: fmt.Sprintf("its block of %d bytes is over the limit of %d", rec.Length, maxMetadataBytes)}
	}
	var b bytes.Buffer
	// A false length must not cost memory before the bytes are there.
	b.Grow(int(min(rec.Length, 32<<10)) + bytes.MinRead)
	_, err := b.ReadFrom(rec)
	return b.Bytes(), err
}

// readWarcinfo reads the first record of a segment.
func readWarcinfo(z *warc.Reader, f io.ReaderAt, limit int64) (id warc.ID, end int64, err error) {
	z.Strict = true
	z.Reset(io.NewSectionReader(f, 0, limit), 0)
	rec, err := z.Next()
	if err == io.EOF {
		err = &warc.SyntaxError{Msg: "the file is empty", Err: io.ErrUnexpectedEOF}
	}
	if err != nil {
		return id, 0, err
	}
	id, ok := warc.ParseID(rec.Get("WARC-Record-ID"))
	if rec.Type() != warc.TypeWarcinfo || !ok {
		return id, 0, &warc.SyntaxError{Msg: "is not a warcinfo record with a UUID"}
	}
	if err := z.Finish(); err != nil {
		return id, 0, err
	}
	return id, z.Offset(), nil
}

// isCut tells whether err says that a file ends too early or holds no record where one was to come: the tail of a file
// that is being written, or was when the machine stopped. A disk that cannot be read is something else.
func isCut(err error) bool {
	var se *warc.SyntaxError
	var pe *fs.PathError
	return errors.As(err, &se) && !errors.As(err, &pe)
}
