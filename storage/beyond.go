package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// maxUncommitted is more captures than a crash can leave behind the committed end: two batches of some hundred each.
const maxUncommitted = 4096

// checkAge refuses to cut off what no crash can have left: then the database is older than the archive, a copy from
// before most likely, and what lies behind its end was committed once.
func checkAge(dir string, last *segmentFile, after []segmentFile, ends Ends) error {
	r := &Reader{dir: dir}
	var captures int64
	if last != nil && last.size > ends.End {
		captures += countFrom(r, *last, ends.End)
	}
	for _, s := range after {
		captures += countFrom(r, s, 0)
	}
	if captures > maxUncommitted {
		return fmt.Errorf("%w: %d captures lie behind the end that the job's database knows, so that the database is older than the archive; put the newer database back, or move the archive away to keep it", ErrDamaged, captures)
	}
	return nil
}

// countFrom counts the captures of a segment that begin at from or later, as far as they can be read.
func countFrom(r *Reader, s segmentFile, from int64) (n int64) {
	sr, err := r.openSegment(s, true)
	if err != nil {
		return 0
	}
	defer sr.close()
	for {
		e, err := sr.next()
		if err != nil {
			return n
		}
		if e.Offset >= from {
			n++
		}
	}
}

// Remove removes the segments in dir and their indexes, and dir itself when nothing else lies in it. What is not of an
// archive stays.
func Remove(dir string) error {
	list, err := listSegments(dir)
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := errors.Join(os.Remove(s.path(dir)), removeIfThere(indexPath(dir, s.name))); err != nil {
			return err
		}
	}
	if rest, err := os.ReadDir(dir); err != nil || len(rest) > 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.Remove(dir)
}
