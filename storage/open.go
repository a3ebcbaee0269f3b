package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"amble/storage/warc"
)

// Open goes on with the archive in dir: it cuts the open segment and its sidecar index back to ends, drops segments begun
// after it, finishes those before it, and rebuilds a sidecar that is missing or does not fit. It fails with ErrDamaged
// when a segment is shorter than ends, naming the file, or when more lies behind ends than a crash leaves, and leaves everything as it is when it fails before the cut.
//
// A finished segment that ends exactly at ends stays finished: the next Append begins another.
func Open(dir string, opt Options, ends Ends) (*Archive, error) {
	a := newArchive(dir, opt)
	if err := a.open(ends); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", dir, err)
	}
	return a, nil
}

func (a *Archive) open(ends Ends) error {
	if err := os.MkdirAll(a.dir, 0o777); err != nil {
		return err
	}
	list, err := listSegments(a.dir)
	if err != nil {
		return err
	}
	before, last, after, err := divide(list, ends)
	if err != nil {
		return err
	}
	// Everything that can be refused is, before anything is changed.
	if err := checkOwn(a.dir, after); err != nil {
		return err
	}
	if err := checkAge(a.dir, last, after, ends); err != nil {
		return err
	}
	for _, s := range before {
		if err := a.openFinished(s); err != nil {
			return err
		}
	}
	if last != nil {
		if err := a.openLast(*last, ends); err != nil {
			return err
		}
		a.next = ends.Serial + 1
	}
	for _, s := range after {
		if err := errors.Join(os.Remove(s.path(a.dir)), removeIfThere(indexPath(a.dir, s.name))); err != nil {
			return err
		}
	}
	a.ends = ends
	return syncDir(a.dir)
}

// divide tells the segments before the committed one from those begun after it.
func divide(list []segmentFile, ends Ends) (before []segmentFile, last *segmentFile, after []segmentFile, err error) {
	if ends.Segment == "" {
		return nil, nil, list, nil
	}
	for i := range list {
		switch s := &list[i]; {
		case s.name == ends.Segment:
			last = s
		case s.serial < ends.Serial:
			before = append(before, *s)
		case s.serial > ends.Serial:
			after = append(after, *s)
		default:
			return nil, nil, nil, fmt.Errorf("%w: %s stands where %s was committed; put that file back", ErrDamaged, s.name, ends.Segment)
		}
	}
	if last == nil {
		return nil, nil, nil, fmt.Errorf("%w: segment %s is missing, of which %d bytes were committed; put the file back", ErrDamaged, ends.Segment, ends.End)
	}
	if last.serial != ends.Serial {
		return nil, nil, nil, fmt.Errorf("%w: segment %s was committed with the serial %d", ErrDamaged, ends.Segment, ends.Serial)
	}
	if last.size < ends.End {
		return nil, nil, nil, fmt.Errorf("%w: %s has %d bytes, but %d were committed; put the whole file back", ErrDamaged, last.name, last.size, ends.End)
	}
	return before, last, after, nil
}

// checkOwn refuses to go on where a segment that is to be dropped may be another's: it is finished, not empty, and no
// index of ours stands beside it.
func checkOwn(dir string, after []segmentFile) error {
	for _, s := range after {
		if s.open || s.size == 0 {
			continue
		}
		if _, err := os.Stat(indexPath(dir, s.name)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was not written by this job as far as its database knows; move it to another folder", s.name)
		}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openFinished gives a segment before the committed one its final name, and an index where it has none of its own.
func (a *Archive) openFinished(s segmentFile) error {
	a.names[s.serial] = s.name
	if s.open {
		if err := a.rename(s.name); err != nil {
			return err
		}
		s.open = false
	}
	f, err := os.Open(s.path(a.dir))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	id, end, err := readWarcinfo(new(warc.Reader), f, s.size)
	if err != nil {
		// An export that reads this segment says so; it does not keep the crawl from going on.
		return nil
	}
	if index, err := os.Open(indexPath(a.dir, s.name)); err == nil {
		_, ok := newIndexReader(index, id, end)
		_ = index.Close() // only read
		if ok {
			return nil
		}
	}
	index, _, _, err := fitIndex(a.dir, f, s, id, end, s.size)
	if isCut(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return index.Close()
}

// openLast cuts the committed segment back and makes it the one to append to, unless it was finished there.
func (a *Archive) openLast(s segmentFile, ends Ends) error {
	a.names[s.serial] = s.name
	finished := !s.open && s.size == ends.End
	if !finished && !s.open {
		// It had been rotated out when the crawl was stopped before the commit.
		path := filepath.Join(a.dir, s.name)
		if err := os.Rename(path, path+openSuffix); err != nil {
			return err
		}
		s.open = true
	}
	f, err := os.OpenFile(s.path(a.dir), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			_ = f.Close() // nothing was written but the cut, which is synced
		}
	}()
	id, infoEnd, err := readWarcinfo(new(warc.Reader), f, ends.End)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, s.name, err)
	}
	index, size, captures, err := fitIndex(a.dir, f, s, id, infoEnd, ends.End)
	if isCut(err) {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, s.name, err)
	}
	if err != nil {
		return err
	}
	if finished {
		return index.Close()
	}
	if err := cut(f, s.size, ends.End); err != nil {
		return errors.Join(err, index.Close())
	}
	keep = true
	a.cur = &segment{
		name: s.name, serial: s.serial, file: f, buf: bufio.NewWriterSize(f, 128<<10), size: ends.End, captures: captures,
		index: index, indexSize: size,
	}
	a.warcinfo.Store(&id)
	return nil
}

// cut cuts a segment of size bytes back to end, where f then stands.
func cut(f *os.File, size, end int64) error {
	if size > end {
		if err := errors.Join(f.Truncate(end), f.Sync()); err != nil {
			return err
		}
	}
	_, err := f.Seek(end, io.SeekStart)
	return err
}

// fitIndex makes the index of segment s say what f holds up to limit, and no more. What it has of that stays; the rest
// is read from the segment. The file is returned open at its end, with its size and whether there are captures.
func fitIndex(dir string, f *os.File, s segmentFile, warcinfo warc.ID, infoEnd, limit int64) (_ *os.File, size int64, captures bool, err error) {
	index, err := os.OpenFile(indexPath(dir, s.name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, 0, false, err
	}
	defer func() {
		if err != nil {
			_ = index.Close() // the error that stands is the first
		}
	}()
	size, end := validIndex(index, f, warcinfo, infoEnd, limit)
	if err := index.Truncate(size); err != nil {
		return nil, 0, false, err
	}
	if _, err := index.Seek(size, io.SeekStart); err != nil {
		return nil, 0, false, err
	}
	w := bufio.NewWriterSize(index, 64<<10)
	var line []byte
	put := func() error {
		size += int64(len(line))
		_, err := w.Write(line)
		line = line[:0]
		return err
	}
	if size == 0 {
		line = appendIndexHeader(line, warcinfo, infoEnd)
		if err := put(); err != nil {
			return nil, 0, false, err
		}
	}
	var scan scanner
	scan.reset(f, s.name, s.serial, end, limit)
	for {
		e, err := scan.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, false, err
		}
		line = appendEntry(line, &e)
		if err := put(); err != nil {
			return nil, 0, false, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, 0, false, err
	}
	// So that entries which were cut off can never come back beside others of the same place.
	return index, size, limit > infoEnd, index.Sync()
}

// validIndex measures how much of an index fits its segment: size in the index, and where that ends in the segment.
func validIndex(index io.Reader, f io.ReaderAt, warcinfo warc.ID, infoEnd, limit int64) (size, end int64) {
	x, ok := newIndexReader(index, warcinfo, infoEnd)
	if !ok {
		return 0, infoEnd
	}
	var last Entry
	for {
		e, ok := x.next(limit)
		if !ok {
			break
		}
		last = e
	}
	if last.Length == 0 {
		return x.pos, x.end
	}
	z := warc.NewReader(io.NewSectionReader(f, last.Offset, last.Length), last.Offset)
	if rec, err := z.Next(); err == nil {
		if id, ok := warc.ParseID(rec.Get("WARC-Record-ID")); ok && id == last.ID {
			return x.pos, x.end
		}
	}
	return 0, infoEnd
}
