package frontier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const pageSize = 4096

// remedy ends every report of damage.
const remedy = "nothing was changed; restore the file from a copy, or crawl into another folder (what is archived beside it can still be exported)"

func damaged(path, what string) error {
	return fmt.Errorf("frontier %s: %w: %s; %s", path, ErrDamaged, what, remedy)
}

// guard runs fn, which reads mapped pages. What a damaged file leads to (a fault beyond its end or on a bad disk, an
// assertion of bbolt) comes back as ErrDamaged.
func guard(path string, fn func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			err = damaged(path, fmt.Sprint(r))
		}
	}()
	return fn()
}

// file is an open bbolt file.
type file struct {
	db *bbolt.DB
	os *os.File // the one that holds the lock
}

// openFile opens and locks an existing file, after looking at its first pages: bbolt itself would begin an empty file
// anew.
func openFile(path string, readOnly bool) (*file, error) {
	if err := inspect(path); err != nil {
		return nil, err
	}
	f, err := openBolt(path, readOnly, initialMmapBytes)
	if err != nil && initialMmapBytes > 0 && errors.Is(err, errNoMemory) {
		f, err = openBolt(path, readOnly, 0) // address space is limited
	}
	return f, err
}

func openBolt(path string, readOnly bool, mmap int) (*file, error) {
	f := &file{}
	err := guard(path, func() (err error) {
		f.db, err = bbolt.Open(path, 0o644, &bbolt.Options{
			Timeout:         time.Nanosecond, // one try
			ReadOnly:        readOnly,
			PageSize:        pageSize,
			InitialMmapSize: mmap,
			FreelistType:    bbolt.FreelistMapType,
			PreLoadFreelist: true,
			NoStatistics:    true,
			OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
				w, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				f.os = w
				return w, err
			},
		})
		return err
	})
	if err == nil {
		err = checkEnd(path, f.os)
		if err != nil {
			f.db.Close()
		}
	} else if f.os != nil {
		f.os.Close() // bbolt has closed it already, unless it panicked
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("open frontier %s: %w", path, ErrLocked)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open frontier %s: %w", path, ErrMissing)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open frontier %s: %w", path, ErrForeign)
	case errors.Is(err, berrors.ErrChecksum):
		return nil, damaged(path, err.Error())
	case errors.Is(err, ErrDamaged):
		return nil, err
	}
	return nil, fmt.Errorf("open frontier %s: %w", path, err)
}

// A bbolt file begins with two pages that hold its root by turns: page header 16 bytes, then magic, version, page size
// and flags (uint32), root (2 uint64), freelist, pages in use, transaction and FNV-1a checksum (uint64), in the
// machine's byte order.
const (
	boltMagic    = 0xED0CDAED
	boltHeader   = 16
	boltPages    = boltHeader + 40
	boltTx       = boltHeader + 48
	boltChecksum = boltHeader + 56
	boltMetaSize = boltHeader + 64
)

// pagesInUse reads how many pages a bbolt file must have.
func pagesInUse(r io.ReaderAt) (pages uint64, isBolt bool) {
	var tx uint64
	for i := range int64(2) {
		var m [boltMetaSize]byte
		if n, _ := r.ReadAt(m[:], i*pageSize); n < len(m) {
			continue
		}
		if binary.NativeEndian.Uint32(m[boltHeader:]) != boltMagic {
			continue
		}
		isBolt = true
		sum := fnv.New64a()
		sum.Write(m[boltHeader:boltChecksum])
		if sum.Sum64() != binary.NativeEndian.Uint64(m[boltChecksum:]) {
			continue
		}
		if t := binary.NativeEndian.Uint64(m[boltTx:]); pages == 0 || t > tx {
			tx, pages = t, binary.NativeEndian.Uint64(m[boltPages:])
		}
	}
	return pages, isBolt
}

// inspect refuses what bbolt would initialise or crash on, by reading alone.
func inspect(path string) error {
	r, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open frontier %s: %w", path, ErrMissing)
	} else if err != nil {
		return fmt.Errorf("open frontier: %w", err)
	}
	defer r.Close()
	info, err := r.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("open frontier: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("open frontier %s: %w: not a regular file", path, ErrForeign)
	case info.Size() == 0:
		return damaged(path, "the file is empty")
	}
	pages, isBolt := pagesInUse(r)
	switch {
	case !isBolt:
		return fmt.Errorf("open frontier %s: %w", path, ErrForeign)
	case pages == 0:
		return damaged(path, "neither of its first two pages is whole")
	case uint64(info.Size()) < pages*pageSize:
		return damaged(path, fmt.Sprintf("the file is cut: %d bytes of %d", info.Size(), pages*pageSize))
	}
	return nil
}

// A file that was closed in order ends with its last page in use and a mark, so that an end that is lost or
// overwritten later is noticed at once, whatever lay there. While the file is written its size is in whole pages.
const endMarkBytes = 64

func endMark(pages uint64) []byte {
	m := append([]byte(formatMagic+"ends here "), make([]byte, endMarkBytes)...)[:endMarkBytes]
	binary.BigEndian.PutUint64(m[endMarkBytes-12:], pages)
	binary.BigEndian.PutUint32(m[endMarkBytes-4:], crc32.Checksum(m[:endMarkBytes-4], castagnoli))
	return m
}

func checkEnd(path string, r *os.File) error {
	info, err := r.Stat()
	if err != nil {
		return err
	}
	pages, rest := uint64(info.Size()/pageSize), info.Size()%pageSize
	if rest == 0 {
		return nil
	}
	m := make([]byte, rest)
	if _, err := r.ReadAt(m, int64(pages)*pageSize); err != nil {
		return err
	}
	if !bytes.Equal(m, endMark(pages)) {
		return damaged(path, "its end is cut or overwritten")
	}
	return nil
}

// markEnd cuts the file to the pages in use and marks its end. The lock is held and nothing is being written.
func (f *file) markEnd() error {
	pages, _ := pagesInUse(f.os)
	if !cutMapped || pages == 0 {
		return nil
	}
	info, err := f.os.Stat()
	if err != nil || uint64(info.Size()) < pages*pageSize {
		return err
	}
	if err := f.os.Truncate(int64(pages) * pageSize); err != nil {
		return err
	}
	if _, err := f.os.WriteAt(endMark(pages), int64(pages)*pageSize); err != nil {
		return errors.Join(err, f.os.Truncate(int64(pages)*pageSize))
	}
	return f.os.Sync()
}

// The file grows by an eighth within these bounds: bbolt's own step of 16 MiB is a lot beside a small crawl.
const (
	minGrowth = 256 << 10
	maxGrowth = 16 << 20
)

// setGrowth sets the step for the next commit.
func (f *file) setGrowth() {
	if pages, ok := pagesInUse(f.os); ok {
		f.db.AllocSize = growth(pages)
	}
}

// growth is a number of whole pages: a size between two would be taken for a cut end.
func growth(pages uint64) int {
	return min(max(int(min(pages, 1<<15))/8*pageSize, minGrowth), maxGrowth)
}

// createFile makes a file with empty buckets under its name at once: it is written and synced under another name first,
// so that a crash leaves either nothing there or the whole.
func createFile(path string, fill func(*bbolt.Tx) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("create frontier %s: %w", path, ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create frontier: %w", err)
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("create frontier: %w", err)
	}
	defer os.Remove(temp.Name())
	if err := errors.Join(temp.Chmod(0o644), temp.Close()); err != nil {
		return fmt.Errorf("create frontier: %w", err)
	}
	db, err := bbolt.Open(temp.Name(), 0o644, &bbolt.Options{PageSize: pageSize, FreelistType: bbolt.FreelistMapType, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("create frontier %s: %w", path, err)
	}
	if err := errors.Join(db.Update(fill), db.Sync(), db.Close()); err != nil {
		return fmt.Errorf("create frontier %s: %w", path, err)
	}
	if err := rename(temp.Name(), path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create frontier %s: %w", path, ErrExists)
	} else if err != nil {
		return fmt.Errorf("create frontier: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("create frontier: sync %s: %w", dir, err)
	}
	return nil
}

// rename never replaces a file where the file system knows hard links.
func rename(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(from, to)
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // has no such thing
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
