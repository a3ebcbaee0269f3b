package storage

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"amble/storage/warc"
)

// Archive is the segments of one job. Append, Sync and Close are for one goroutine; Encode and ReadAt for any.
type Archive struct {
	dir     string
	opt     Options
	machine string

	// warcinfo is the id of the warcinfo record of the open segment, or of the one to be begun.
	warcinfo atomic.Pointer[warc.ID]
	// encoders holds as many slots as captures may be encoded at a time; a slot is nil until it is used.
	encoders chan *encoder
	buffers  sync.Pool // of *[]byte
	readers  readerPool

	mu    sync.RWMutex
	names map[uint32]string // segments by serial, guarded by mu

	// What follows belongs to the goroutine that appends.
	cur    *segment   // nil: the next Append begins one
	full   []*segment // rotated out since the last Sync
	named  []string   // finished segments that could not be renamed yet
	next   uint32     // serial
	begun  bool       // a segment was begun since the last Sync
	ends   Ends
	err    error
	closed bool
}

// segment is one that is being written.
type segment struct {
	name     string
	serial   uint32
	file     *os.File
	buf      *bufio.Writer
	size     int64 // with what is buffered
	captures bool  // it holds more than the warcinfo

	index     *os.File
	indexBuf  []byte
	indexSize int64 // with what is buffered
}

func newArchive(dir string, opt Options) *Archive {
	opt.Prefix = fileNamePart(opt.Prefix, "AMBLE")
	if opt.SegmentBytes <= 0 {
		opt.SegmentBytes = 1e9
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.NewIDs == nil {
		opt.NewIDs = warc.NewIDs
	}
	a := &Archive{dir: dir, opt: opt, machine: machineName(), names: map[uint32]string{}}
	a.encoders = make(chan *encoder, runtime.GOMAXPROCS(0))
	for range cap(a.encoders) {
		a.encoders <- nil
	}
	a.drawWarcinfo()
	return a
}

func (a *Archive) drawWarcinfo() {
	var id [1]warc.ID
	a.opt.NewIDs(id[:])
	a.warcinfo.Store(&id[0])
}

// Create begins an archive in dir, the folder of the segments (JOB/warc), which is made when missing and must hold no
// segment: else ErrExists.
func Create(dir string, opt Options) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("create archive: %w", err)
	}
	list, err := listSegments(dir)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("create archive %s: %w: it holds %s", dir, ErrExists, list[0].name)
	}
	return newArchive(dir, opt), nil
}

func (a *Archive) getBuffer() []byte {
	if b, ok := a.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 16<<10)
}

func (a *Archive) putBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= keepBytes {
		a.buffers.Put(&b)
	}
}

// Append writes captures in order to the open segment, rotating before one that would pass SegmentBytes, and returns
// where each lies. It makes no fsync. After an error nothing of es is claimed, what was written of it is cut off as far
// as the disk permits, and the archive accepts nothing more.
func (a *Archive) Append(es []*Encoded) ([]Position, error) {
	if err := a.usable(); err != nil {
		return nil, err
	}
	mark := a.mark()
	at, err := a.append(es)
	if err != nil {
		a.err = fmt.Errorf("append to archive: %w", err)
		a.rollBack(mark)
		return nil, a.err
	}
	return at, nil
}

func (a *Archive) usable() error {
	if a.closed {
		return fmt.Errorf("archive %s: %w", a.dir, fs.ErrClosed)
	}
	return a.err
}

func (a *Archive) append(es []*Encoded) ([]Position, error) {
	at := make([]Position, 0, len(es))
	for _, e := range es {
		if a.cur != nil && a.cur.captures && a.cur.size+e.Len() > a.opt.SegmentBytes {
			if err := a.cur.flush(); err != nil {
				return nil, err
			}
			a.full = append(a.full, a.cur)
			a.cur = nil
			a.drawWarcinfo()
		}
		if a.cur == nil {
			if err := a.begin(); err != nil {
				return nil, err
			}
		}
		s := a.cur
		if err := e.out.writeTo(s.buf); err != nil {
			return nil, err
		}
		entry := e.entry
		entry.Segment, entry.Serial, entry.Offset = s.name, s.serial, s.size
		had := len(s.indexBuf)
		s.indexBuf = appendEntry(s.indexBuf, &entry)
		s.indexSize += int64(len(s.indexBuf) - had)
		s.size += e.Len()
		s.captures = true
		at = append(at, Position{Serial: s.serial, Offset: entry.Offset, Length: entry.Length})
	}
	if a.cur == nil {
		return at, nil
	}
	return at, a.cur.flush()
}

// flush hands what is buffered to the system: first the segment, so that the index never runs ahead of it.
func (s *segment) flush() error {
	if err := s.buf.Flush(); err != nil {
		return err
	}
	_, err := s.index.Write(s.indexBuf)
	s.indexBuf = s.indexBuf[:0]
	return err
}

// begin begins the next segment. Its index is made first: a segment without one is not known to be this archive's.
func (a *Archive) begin() error {
	now := a.opt.Now()
	s := &segment{name: segmentName(a.opt.Prefix, now, a.next, a.machine), serial: a.next}
	var err error
	if s.index, err = os.Create(indexPath(a.dir, s.name)); err != nil {
		return err
	}
	path := filepath.Join(a.dir, s.name+openSuffix)
	if s.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return errors.Join(err, s.index.Close(), os.Remove(s.index.Name()))
	}
	s.buf = bufio.NewWriterSize(s.file, 128<<10)
	a.cur, a.next, a.begun = s, a.next+1, true
	a.mu.Lock()
	a.names[s.serial] = s.name
	a.mu.Unlock()

	id := *a.warcinfo.Load()
	member, err := WarcinfoMember(id, s.name, now, a.opt.Info)
	if err != nil {
		return err
	}
	if _, err := s.buf.Write(member); err != nil {
		return err
	}
	s.size = int64(len(member))
	s.indexBuf = appendIndexHeader(s.indexBuf, id, s.size)
	s.indexSize = int64(len(s.indexBuf))
	return nil
}

// WarcinfoMember makes a warcinfo record, compressed, for a file called name: info, and what every file of Amble says
// of itself.
func WarcinfoMember(id warc.ID, name string, now time.Time, info [][2]string) ([]byte, error) {
	var block []byte
	for _, f := range info {
		block = warc.AppendField(block, f[0], f[1])
	}
	block = warc.AppendField(block, "format", "WARC File Format 1.1")
	block = warc.AppendField(block, "conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/")
	block = warc.AppendField(block, "http-header-rewrites",
		"chunk framing removed: Transfer-Encoding renamed to X-Crawler-Transfer-Encoding, Content-Length of the stored body added")
	digest := sha256.Sum256(block)
	h := warc.Header{Type: warc.TypeWarcinfo, ID: id, Date: now, Filename: name, ContentType: warc.ContentFields,
		BlockDigest: &digest, Length: int64(len(block))}
	var out sink
	var comp warc.Compressor
	w := comp.Fast(&out)
	if _, err := w.Write(append(append(h.Append(nil), block...), warc.Trailer...)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.buf, nil
}

// mark is the state that a failed Append goes back to.
type mark struct {
	cur             *segment
	full            int
	size, indexSize int64
}

func (a *Archive) mark() mark {
	m := mark{cur: a.cur, full: len(a.full)}
	if a.cur != nil {
		m.size, m.indexSize = a.cur.size, a.cur.indexSize
	}
	return m
}

// rollBack takes off the disk what a failed Append wrote. What cannot be taken off now is when the archive is opened.
func (a *Archive) rollBack(m mark) {
	written := a.full[m.full:]
	if a.cur != nil {
		written = append(written, a.cur)
	}
	for _, s := range written {
		if s == m.cur {
			_ = s.file.Truncate(m.size)
			_ = s.index.Truncate(m.indexSize)
			continue
		}
		s.close()
		_ = os.Remove(s.file.Name())
		_ = os.Remove(s.index.Name())
		a.mu.Lock()
		delete(a.names, s.serial)
		a.mu.Unlock()
	}
	a.full, a.cur = a.full[:m.full], m.cur
}

func (s *segment) close() {
	_ = s.file.Close() // synced before, or given up
	_ = s.index.Close()
}

// Sync makes what was appended durable (segment, then directory when one was begun) and returns the ends to commit.
// Segments that were rotated out are finished: they lose their ".open" suffix.
func (a *Archive) Sync() (Ends, error) {
	if err := a.usable(); err != nil {
		return Ends{}, err
	}
	if err := a.sync(); err != nil {
		// What a failed fsync has lost is not known, so that nothing can be claimed later either.
		a.err = fmt.Errorf("sync archive: %w", err)
		return Ends{}, a.err
	}
	return a.ends, nil
}

func (a *Archive) sync() error {
	for len(a.full) > 0 {
		if err := a.finish(a.full[0]); err != nil {
			return err
		}
		a.full = a.full[1:]
	}
	if a.cur != nil {
		if a.ends.Segment != a.cur.name || a.ends.End != a.cur.size {
			if err := a.cur.file.Sync(); err != nil {
				return err
			}
		}
		a.ends = Ends{Segment: a.cur.name, Serial: a.cur.serial, End: a.cur.size}
	}
	if a.begun {
		if err := syncDir(a.dir); err != nil {
			return err
		}
		a.begun = false
	}
	return nil
}

// finish makes a segment durable and gives it its final name. A failed renaming costs nothing, so it is tried again by
// Close: another program that has the file open can forbid it.
func (a *Archive) finish(s *segment) error {
	if err := errors.Join(s.file.Sync(), s.index.Sync()); err != nil {
		return err
	}
	s.close()
	a.begun = true // the names have changed
	a.ends = Ends{Segment: s.name, Serial: s.serial, End: s.size}
	if a.rename(s.name) != nil {
		a.named = append(a.named, s.name)
	}
	return nil
}

func (a *Archive) rename(name string) error {
	path := filepath.Join(a.dir, name)
	return os.Rename(path+openSuffix, path)
}

// Close ends the open segment: its ".open" suffix goes. Only after the last commit. After an error of Append or Sync it
// leaves the files as they are. It may be called twice.
func (a *Archive) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	if a.cur != nil {
		a.full = append(a.full, a.cur)
		a.cur = nil
	}
	if a.err != nil {
		for _, s := range a.full {
			s.close()
		}
		return nil
	}
	if err := a.sync(); err != nil {
		for _, s := range a.full {
			s.close()
		}
		return fmt.Errorf("close archive: %w", err)
	}
	var errs []error
	for _, name := range a.named {
		if err := a.rename(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("close archive: finish segments: %w", errors.Join(errs...))
	}
	return nil
}

// ReadAt reads a stored capture back. The caller closes the Record's Payload.
func (a *Archive) ReadAt(p Position) (*Record, error) {
	a.mu.RLock()
	name, ok := a.names[p.Serial]
	a.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("read archive %s: no segment has the serial %05d: %w", a.dir, p.Serial, fs.ErrNotExist)
	}
	f, err := openSegment(a.dir, name)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	rec, err := readRecord(&a.readers, f, f, p.Offset, p.Length)
	if err != nil {
		return nil, fmt.Errorf("read archive %s: %w", f.Name(), err)
	}
	return rec, nil
}
