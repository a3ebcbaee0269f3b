package frontier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"amble/frontier/canon"
)

// view reads the file in a transaction of its own: a long one would keep pages from being used again.
func (f *Frontier) view(fn func(*bbolt.Tx) error) error {
	return guard(f.path, func() error { return f.file.db.View(fn) })
}

// readRecord finds the n-th record of a log and lets fn parse it in place.
func readRecord(tx *bbolt.Tx, id bucket, key []byte, n uint64, fn func([]byte) error) error {
	c := tx.Bucket(id.name).Cursor()
	k, sealed := c.Seek(key)
	if k == nil {
		k, sealed = c.Last()
	} else if !bytes.Equal(k, key) {
		k, sealed = c.Prev()
	}
	first, ok := logKey(k, len(key))
	if !ok || first > n {
		return fmt.Errorf("bucket %s: record %d: %w", id.name, n, ErrDamaged)
	}
	v, err := id.parseChunk(k, sealed)
	if err == nil && n-first >= uint64(v.n) {
		err = errors.New("not in the log")
	}
	if err == nil {
		err = fn(v.record(int(n - first)))
	}
	if err != nil {
		return fmt.Errorf("bucket %s: record %d: %w: %w", id.name, n, err, ErrDamaged)
	}
	return nil
}

func readURL(tx *bbolt.Tx, o Ordinal) (r urlRecord, err error) {
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], uint32(o))
	err = readRecord(tx, bucketURLs, key[:], uint64(o), func(p []byte) (err error) {
		r, err = parseURLRecord(p, o)
		return err
	})
	return r, err
}

// eachVisit goes through the page log.
func eachVisit(tx *bbolt.Tx, fn func(n uint64, r *Result) error) error {
	c := tx.Bucket(bucketPages.name).Cursor()
	for k, sealed := c.First(); k != nil; k, sealed = c.Next() {
		first, ok := logKey(k, 8)
		if !ok {
			return fmt.Errorf("bucket %s: key %x: %w", bucketPages.name, k, ErrDamaged)
		}
		v, err := bucketPages.parseChunk(k, sealed)
		if err != nil {
			return fmt.Errorf("bucket %s: chunk %d: %w: %w", bucketPages.name, first, err, ErrDamaged)
		}
		for i := range v.n {
			r, err := parseVisit(v.record(i))
			if err != nil {
				return fmt.Errorf("bucket %s: record %d: %w: %w", bucketPages.name, first+uint64(i), err, ErrDamaged)
			}
			if err := fn(first+uint64(i), &r); err != nil {
				return err
			}
		}
	}
	return nil
}

// uncommitted finds a URL in the batches that are not applied yet.
func (f *Frontier) uncommitted(o Ordinal) (urlRecord, bool) {
	for _, b := range f.open {
		if i := int(o) - int(b.firstURL); i >= 0 && i < len(b.urlEnds) {
			from := 0
			if i > 0 {
				from = b.urlEnds[i-1]
			}
			r, err := parseURLRecord(b.urlData[from:b.urlEnds[i]], o)
			return r, err == nil
		}
	}
	return urlRecord{}, false
}

// read reads a URL as an Item.
func (f *Frontier) read(o Ordinal) (Item, error) {
	r, ok := f.uncommitted(o)
	if !ok {
		err := f.view(func(tx *bbolt.Tx) (err error) {
			r, err = readURL(tx, o)
			return err
		})
		if err != nil {
			return Item{}, err
		}
	}
	if int(r.Origin) >= len(f.origins) {
		return Item{}, fmt.Errorf("URL %d is of origin %d of %d: %w", o, r.Origin, len(f.origins), ErrDamaged)
	}
	it := Item{
		Ordinal: o, Host: HostID(f.origins[r.Origin].host), Origin: r.Origin,
		URL: canon.FromOrigin(f.originText(r.Origin), r.Target),
		Via: r.Via, Path: r.Path, Depth: int(r.Depth), Seed: r.Seed, Flags: r.Flags,
	}
	if r.Path != "" {
		it.Hop = r.Path[len(r.Path)-1]
	}
	if r.LastMod != 0 {
		it.LastMod = time.Unix(r.LastMod, 0).UTC()
	}
	if n, ok := f.seedOf[o]; ok && r.Flags&FlagSeed == 0 {
		// Found as a link before it was given as a seed: what is found on it from now on is the seed's.
		it.Via, it.Hop, it.Path, it.Depth, it.Seed = NoOrdinal, 0, "", 0, n
		if f.seeds[n].Sitemap {
			it.Flags |= FlagSitemap
		}
	}
	return it, nil
}

// Item reads a URL of the log back, and its last Result (nil when never visited). Attempt is the last Result's.
func (f *Frontier) Item(o Ordinal) (Item, *Result, error) {
	if uint32(o) >= f.urls {
		return Item{}, nil, fmt.Errorf("URL %d: there are %d", o, f.urls)
	}
	it, err := f.read(o)
	if err != nil {
		return Item{}, nil, err
	}
	n, ok := f.visits.get(o)
	if !ok {
		return it, nil, nil
	}
	var r Result
	err = f.view(func(tx *bbolt.Tx) error {
		return readRecord(tx, bucketPages, key64(n), n, func(p []byte) (err error) {
			r, err = parseVisit(p)
			return err
		})
	})
	if err == nil && r.Ordinal != o {
		err = fmt.Errorf("visit %d is of URL %d, not %d: %w", n, r.Ordinal, o, ErrDamaged)
	}
	if err != nil {
		return Item{}, nil, err
	}
	it.Attempt = r.Attempt
	return it, &r, nil
}

// Find looks a URL up, by its fingerprint and then by its text.
func (f *Frontier) Find(u canon.URL) (Ordinal, bool, error) {
	o, ok := f.seen.find(f.fingerprint(u))
	if !ok {
		return NoOrdinal, false, nil
	}
	it, err := f.read(Ordinal(o))
	if err != nil {
		return NoOrdinal, false, err
	}
	if it.URL != u {
		return NoOrdinal, false, nil
	}
	return it.Ordinal, true, nil
}

// Seeds lists them by number, those of open batches included. Read-only.
func (f *Frontier) Seeds() []Seed { return f.seeds }

// SeedOrdinal is the URL of a seed.
func (f *Frontier) SeedOrdinal(number uint32) (Ordinal, bool) {
	if int(number) >= len(f.seedsAt) {
		return NoOrdinal, false
	}
	return f.seedsAt[number].ord, true
}

// Queued is the number of URLs of a host that wait (retries included), Pending over all hosts, in flight and in open
// batches included: a URL is pending from its Admit until its last visit is applied.
func (f *Frontier) Queued(h HostID) int64 {
	if int(h) >= len(f.hosts) {
		return 0
	}
	n := int64(f.hosts[h].queued)
	if w := f.retries[h]; w != nil {
		n += int64(len(*w))
	}
	return n
}

func (f *Frontier) Pending() int64 { return f.pending }
func (f *Frontier) URLs() int64    { return int64(f.urls) }

// Hosts and Origins are how many there are, those of open batches included; ids run from 0.
func (f *Frontier) Hosts() int   { return len(f.hosts) }
func (f *Frontier) Origins() int { return len(f.origins) }

// HostKey is the pace key; Origin is "scheme://host[:port]" and the host it belongs to. The id must be one of this
// Frontier's.
func (f *Frontier) HostKey(h HostID) string { return f.names.get(uint32(h)) }

func (f *Frontier) Origin(o OriginID) (string, HostID) {
	return f.originText(o), HostID(f.origins[o].host)
}

func (f *Frontier) FindHost(key string) (HostID, bool) {
	id, ok := f.names.find(key)
	return HostID(id), ok
}

func (f *Frontier) FindOrigin(o string) (OriginID, bool) {
	if !strings.Contains(o, "://") {
		return 0, false
	}
	u, err := canon.Parse(o)
	if err != nil || u.Origin() != strings.TrimSuffix(o, "/") {
		return 0, false
	}
	h, ok := f.FindHost(u.PaceKey())
	if !ok {
		return 0, false
	}
	return f.findOrigin(h, originKind(u))
}

// HostBlob and OriginBlob read the last committed state back; nil when there is none.
func (f *Frontier) HostBlob(h HostID) ([]byte, error) { return f.blob(bucketHblob, uint32(h)) }

func (f *Frontier) OriginBlob(o OriginID) ([]byte, error) { return f.blob(bucketOblob, uint32(o)) }

func (f *Frontier) blob(id bucket, n uint32) (v []byte, err error) {
	key := key32(n)
	err = f.view(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(id.name).Get(key)
		if sealed == nil {
			return nil
		}
		p, err := id.unseal(key, sealed)
		if err != nil {
			return fmt.Errorf("bucket %s: entry %d: %w: %w", id.name, n, err, ErrDamaged)
		}
		v = slices.Clone(p)
		return nil
	})
	return v, err
}

// maxReports bounds what Verify lists.
const maxReports = 100

// Verify checks every checksum and cross-reference and bbolt's own consistency (status --check), and returns what is
// wrong, the first 100. It builds a second index, and so needs as much memory again.
func (f *Frontier) Verify() []error {
	var wrong []error
	report := func(err error) error {
		wrong = append(wrong, err)
		if len(wrong) >= maxReports {
			return errors.New("more is wrong than is listed")
		}
		return nil
	}
	err := f.view(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			if len(wrong) < maxReports { // the channel must be read to its end
				wrong = append(wrong, err)
			}
		}
		_, err := load(tx, report)
		return err
	})
	if err != nil {
		wrong = append(wrong, err)
	}
	return wrong
}
