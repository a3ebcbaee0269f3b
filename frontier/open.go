package frontier

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Create makes a new frontier file. It fails with ErrExists when there is one.
func Create(path string, opt Options) (*Frontier, error) {
	if opt.ReadOnly {
		return nil, fmt.Errorf("create frontier %s: %w", path, ErrReadOnly)
	}
	if _, err := compileRules(opt.Rules); err != nil {
		return nil, fmt.Errorf("create frontier %s: %w", path, err)
	}
	var hashSeed [8]byte
	if _, err := rand.Read(hashSeed[:]); err != nil {
		return nil, fmt.Errorf("create frontier %s: %w", path, err)
	}
	err := createFile(path, func(tx *bbolt.Tx) error {
		for _, id := range allBuckets {
			if _, err := tx.CreateBucket(id.name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta.name)
		for _, m := range []struct{ key, value []byte }{
			{metaFormat, fmt.Appendf(nil, "%s%d", formatMagic, formatVersion)},
			{metaHashSeed, hashSeed[:]},
			{metaSeenKey, []byte(seenKey)},
			{metaTotals, totals{}.encode()},
			{metaEnds, Ends{}.encode()},
		} {
			if err := meta.Put(m.key, bucketMeta.seal(m.key, m.value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, _, err := Open(path, opt)
	return f, err
}

// Open reads an existing one, checks it, and rebuilds its index. Nothing is written when it fails. Its errors wrap
// ErrMissing, ErrForeign, ErrNewer, ErrLocked, ErrDamaged, or what the file system says.
func Open(path string, opt Options) (*Frontier, Recovery, error) {
	began := time.Now()
	rules, err := compileRules(opt.Rules)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("open frontier %s: %w", path, err)
	}
	h, err := openFile(path, opt.ReadOnly)
	if err != nil {
		return nil, Recovery{}, err
	}
	f := &Frontier{path: path, file: h, rules: rules, readOnly: opt.ReadOnly, flight: map[Ordinal]inFlight{}}
	var l *loaded
	err = guard(path, func() error {
		return h.db.View(func(tx *bbolt.Tx) (err error) {
			l, err = load(tx, func(err error) error { return err })
			return err
		})
	})
	if err != nil {
		h.db.Close()
		if !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) && !errors.Is(err, ErrDamaged) {
			return nil, Recovery{}, damaged(path, err.Error())
		}
		return nil, Recovery{}, fmt.Errorf("open frontier %s: %w", path, err)
	}
	f.index, f.totals, f.urlTail, f.visitTail = l.index, l.totals, l.urlTail, l.visitTail
	return f, Recovery{
		Ends: l.ends, Counters: l.counters, URLs: int64(f.urls), Pending: f.pending, Took: time.Since(began),
	}, nil
}

// Close closes the file; uncommitted batches are lost. It must not run beside Commit.
func (f *Frontier) Close() error {
	var err error
	if !f.readOnly && f.err() == nil {
		err = f.file.markEnd()
	}
	f.fail(fmt.Errorf("frontier %s is closed", f.path))
	if err := errors.Join(err, f.file.db.Close()); err != nil {
		return fmt.Errorf("close frontier %s: %w", f.path, err)
	}
	return nil
}

// readMeta reads one value of meta; it is nil when there is none.
func readMeta(tx *bbolt.Tx, key []byte) ([]byte, error) {
	sealed := tx.Bucket(bucketMeta.name).Get(key)
	if sealed == nil {
		return nil, nil
	}
	v, err := bucketMeta.unseal(key, sealed)
	if err != nil {
		return nil, fmt.Errorf("meta %s: %w", key, err)
	}
	return bytes.Clone(v), nil
}

// checkFormat tells whether this is a frontier, and one that this version reads.
func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta.name)
	if meta == nil {
		return ErrForeign
	}
	sealed := meta.Get(metaFormat)
	if len(sealed) < checksumBytes || !bytes.HasPrefix(sealed[checksumBytes:], []byte(formatMagic)) {
		return ErrForeign
	}
	v, err := readMeta(tx, metaFormat)
	if err != nil {
		return err
	}
	var version int
	if _, err := fmt.Sscanf(string(v), formatMagic+"%d", &version); err != nil {
		return fmt.Errorf("meta format %q is unreadable", v)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: format %d, this one reads up to %d", ErrNewer, version, formatVersion)
	}
	rule, err := readMeta(tx, metaSeenKey)
	if err != nil {
		return err
	}
	if string(rule) != seenKey {
		return fmt.Errorf("%w: seen-key rule %q", ErrNewer, rule)
	}
	for _, id := range allBuckets {
		if tx.Bucket(id.name) == nil {
			return fmt.Errorf("bucket %s is missing", id.name)
		}
	}
	return nil
}

func readHashSeed(tx *bbolt.Tx) (uint64, error) {
	v, err := readMeta(tx, metaHashSeed)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("meta %s: %w", metaHashSeed, errShort)
	}
	return binary.BigEndian.Uint64(v), nil
}
