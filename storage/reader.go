package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader reads the captures of a job in the order in which they were archived. It needs nothing but the folder, may be
// used beside a running crawl, and holds one segment open. It is for one goroutine.
type Reader struct {
	dir     string
	list    []segmentFile
	at      int
	partial bool // the last segment may end in the midst of a capture
	cur     *segmentReader
	total   int64
	done    int64 // of the segments before cur
	readers readerPool
}

// OpenReader reads the archive of the job in jobDir as far as end, which the crawl has committed. With end nil it reads
// as far as the last capture that is whole. A folder without segments has no captures; a missing folder is an error.
func OpenReader(jobDir string, end *Ends) (*Reader, error) {
	r := &Reader{dir: filepath.Join(jobDir, DirName)}
	if _, err := os.Stat(jobDir); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	list, err := listSegments(r.dir)
	if err != nil {
		return nil, err
	}
	if end != nil {
		before, last, _, err := divide(list, *end)
		if err != nil {
			return nil, fmt.Errorf("read archive %s: %w", r.dir, err)
		}
		list = before
		if last != nil {
			last.size = end.End
			list = append(list, *last)
		}
	} else if n := len(list); n > 0 {
		r.partial = list[n-1].open
	}
	for _, s := range list {
		r.total += s.size
	}
	r.list = list
	return r, nil
}

// Bytes says how many bytes of the segments have been passed, and how many there are.
func (r *Reader) Bytes() (done, total int64) {
	if r.cur != nil {
		return r.done + r.cur.pos, r.total
	}
	return r.done, r.total
}

// Next gives the next capture; io.EOF: there are no more.
func (r *Reader) Next() (Entry, error) {
	for {
		if r.cur == nil {
			if r.at == len(r.list) {
				return Entry{}, io.EOF
			}
			cur, err := r.openSegment(r.list[r.at], r.partial && r.at == len(r.list)-1)
			if err != nil {
				return Entry{}, err
			}
			r.cur = cur
		}
		e, err := r.cur.next()
		if err == nil {
			return e, nil
		}
		s := r.list[r.at]
		if err != io.EOF {
			return Entry{}, fmt.Errorf("read archive: %w: %s: %w", ErrDamaged, s.name, err)
		}
		r.cur.close()
		r.cur = nil
		r.at++
		r.done += s.size
	}
}

// Record reads a capture that Next gave. Its Payload is valid until Next has moved to another segment.
func (r *Reader) Record(e *Entry) (*Record, error) {
	f, closer, err := r.file(e)
	if err != nil {
		return nil, err
	}
	rec, err := readRecord(&r.readers, f, closer, e.Offset, e.Length)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w: %s: %w", ErrDamaged, e.Segment, err)
	}
	if rec.Meta.ID != e.ID.String() {
		_ = rec.Payload.Close()
		return nil, fmt.Errorf("read archive: %w: %s: the record at offset %d is not the one that its index names; remove %s",
			ErrDamaged, e.Segment, e.Offset, e.Segment+indexSuffix)
	}
	return rec, nil
}

func (r *Reader) file(e *Entry) (*os.File, io.Closer, error) {
	if r.cur != nil && r.cur.name == e.Segment {
		return r.cur.file, nil, nil
	}
	f, err := openSegment(r.dir, e.Segment)
	if err != nil {
		return nil, nil, fmt.Errorf("read archive: %w", err)
	}
	return f, f, nil
}

// Meta reads the metadata of a capture that Next gave, and nothing else of it.
func (r *Reader) Meta(e *Entry) (Meta, error) {
	f, closer, err := r.file(e)
	if err != nil {
		return Meta{}, err
	}
	if closer != nil {
		defer func() { _ = closer.Close() }() // only read
	}
	var rec Record
	if err := rec.readRest(&r.readers, f, e.ID, e.MetadataOffset()); err != nil {
		return Meta{}, fmt.Errorf("read archive: %w: %s: %w", ErrDamaged, e.Segment, err)
	}
	rec.Meta.ID = e.ID.String()
	return rec.Meta, nil
}

// Members reads the gzip members of a capture as they are on disk.
func (r *Reader) Members(e *Entry) (io.ReadCloser, error) {
	f, closer, err := r.file(e)
	if err != nil {
		return nil, err
	}
	section := io.NewSectionReader(f, e.Offset, e.End()-e.Offset)
	if closer == nil {
		return io.NopCloser(section), nil
	}
	return struct {
		io.Reader
		io.Closer
	}{section, closer}, nil
}

// Warcinfo reads the gzip member of the warcinfo record of e's segment.
func (r *Reader) Warcinfo(e *Entry) ([]byte, error) {
	f, closer, err := r.file(e)
	if err != nil {
		return nil, err
	}
	if closer != nil {
		defer func() { _ = closer.Close() }() // only read
	}
	z := r.readers.get(nil, 0)
	defer r.readers.put(z)
	_, end, err := readWarcinfo(z, f, e.Offset)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w: %s: %w", ErrDamaged, e.Segment, err)
	}
	member := make([]byte, end)
	if _, err := f.ReadAt(member, 0); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return member, nil
}

// Close ends the reading.
func (r *Reader) Close() error {
	if r.cur != nil {
		r.cur.close()
		r.cur = nil
	}
	r.at = len(r.list)
	return nil
}

// segmentReader reads the captures of one segment, from its index as far as that goes, then from the segment itself.
type segmentReader struct {
	name    string
	serial  uint32
	file    *os.File
	indexed *os.File
	index   *indexReader // nil: over
	scan    *scanner
	pos     int64 // where the next capture begins
	limit   int64
	partial bool
}

func (r *Reader) openSegment(s segmentFile, partial bool) (*segmentReader, error) {
	f, err := openSegment(r.dir, s.name)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	sr := &segmentReader{name: s.name, serial: s.serial, file: f, limit: s.size, partial: partial}
	z := r.readers.get(nil, 0)
	defer r.readers.put(z)
	id, end, err := readWarcinfo(z, f, s.size)
	switch {
	case err == nil:
		sr.pos = end
	case partial && isCut(err):
		sr.limit = 0
		return sr, nil
	default:
		sr.close()
		return nil, fmt.Errorf("read archive: %w: %s: %w", ErrDamaged, s.name, err)
	}
	if sr.indexed, err = os.Open(indexPath(r.dir, s.name)); err != nil {
		sr.indexed = nil
		if !errors.Is(err, fs.ErrNotExist) {
			sr.close()
			return nil, fmt.Errorf("read archive: %w", err)
		}
		return sr, nil
	}
	if x, ok := newIndexReader(sr.indexed, id, end); ok {
		sr.index = x
	}
	return sr, nil
}

func (s *segmentReader) next() (Entry, error) {
	if s.index != nil {
		if e, ok := s.index.next(s.limit); ok {
			e.Segment, e.Serial = s.name, s.serial
			s.pos = e.End()
			return e, nil
		}
		s.index = nil
	}
	if s.pos >= s.limit {
		return Entry{}, io.EOF
	}
	if s.scan == nil {
		s.scan = new(scanner)
		s.scan.reset(s.file, s.name, s.serial, s.pos, s.limit)
	}
	e, err := s.scan.next()
	if err != nil {
		if s.partial && isCut(err) {
			s.pos = s.limit
			return Entry{}, io.EOF
		}
		return Entry{}, err
	}
	s.pos = e.End()
	return e, nil
}

func (s *segmentReader) close() {
	_ = s.file.Close() // only read
	if s.indexed != nil {
		_ = s.indexed.Close()
	}
}
