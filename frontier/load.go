package frontier

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"go.etcd.io/bbolt"

	"amble/frontier/canon"
)

// loaded is what one pass over the file gives.
type loaded struct {
	*index
	totals             totals
	ends               Ends
	counters           []byte
	urlTail, visitTail chunk

	report func(error) error
	last   []lastVisit
	// Of stored URLs what they contained; of members which path and run they count for, plus one.
	contents, ofQuery, ofRun sparse
	due                      map[Ordinal]retry
}

// lastVisit is what a URL's last visit says, as far as the index asks.
type lastVisit uint8

const (
	neverVisited lastVisit = iota
	lastStored
	lastGivenUp
	lastRetry
)

// load reads and checks the whole file: each checksum, that ids are dense and as many as meta says, and that each
// reference is to something that exists. report is told of what is wrong; load goes on while it returns nil.
func load(tx *bbolt.Tx, report func(error) error) (*loaded, error) {
	l := &loaded{index: newIndex(), report: report, due: map[Ordinal]retry{}}
	if err := checkFormat(tx); err != nil {
		return nil, err
	}
	if err := l.loadMeta(tx); err != nil {
		return nil, err
	}
	l.last = make([]lastVisit, l.totals.URLs)
	for _, step := range []func(*bbolt.Tx) error{
		l.loadHosts, l.loadOrigins, l.loadSeeds, l.loadVisits, l.loadURLs, l.checkSeeds, l.checkBlobs,
	} {
		if err := step(tx); err != nil {
			return nil, err
		}
	}
	l.last, l.due = nil, nil
	l.contents, l.ofQuery, l.ofRun = sparse{}, sparse{}, sparse{}
	return l, nil
}

func (l *loaded) loadMeta(tx *bbolt.Tx) (err error) {
	if l.hashSeed, err = readHashSeed(tx); err != nil {
		return err
	}
	l.traps.seed = l.hashSeed
	if l.counters, err = readMeta(tx, metaCounters); err != nil {
		return err
	}
	ends, err := readMeta(tx, metaEnds)
	if err != nil {
		return err
	}
	if l.ends, err = parseEnds(ends); err != nil {
		return fmt.Errorf("meta %s: %w", metaEnds, err)
	}
	all, err := readMeta(tx, metaTotals)
	if err != nil {
		return err
	}
	if l.totals, err = parseTotals(all); err != nil {
		return fmt.Errorf("meta %s: %w", metaTotals, err)
	}
	// A record takes a byte at the least: a number beyond that is no number of records, whatever its checksum says.
	if size := uint64(tx.Size()); max(l.totals.URLs, l.totals.Visits) > size {
		return fmt.Errorf("meta %s: %d URLs and %d visits in %d bytes", metaTotals, l.totals.URLs, l.totals.Visits, size)
	}
	return nil
}

// each calls fn with the values of a bucket whose keys must be 0, 1, 2, ...
func (l *loaded) each(tx *bbolt.Tx, id bucket, want uint64, fn func(n uint32, v []byte) error) error {
	var next uint64
	c := tx.Bucket(id.name).Cursor()
	for k, sealed := c.First(); k != nil; k, sealed = c.Next() {
		if len(k) != 4 || uint64(binary.BigEndian.Uint32(k)) != next {
			return fmt.Errorf("bucket %s: key %x in place of %d", id.name, k, next)
		}
		v, err := id.unseal(k, sealed)
		if err == nil {
			err = fn(uint32(next), v)
		}
		if err != nil {
			return fmt.Errorf("bucket %s: entry %d: %w", id.name, next, err)
		}
		next++
	}
	if next != want {
		return fmt.Errorf("bucket %s: %d entries in place of %d", id.name, next, want)
	}
	return nil
}

func (l *loaded) loadHosts(tx *bbolt.Tx) error {
	return l.each(tx, bucketHosts, l.totals.Hosts, func(_ uint32, v []byte) error {
		key := string(v)
		if _, ok := l.names.find(key); ok || key == "" {
			return fmt.Errorf("host %q is there twice or empty", key)
		}
		l.addHost(key)
		return nil
	})
}

func encodeOrigin(o originState) []byte {
	return append(binary.AppendUvarint(nil, uint64(o.host)), o.kind)
}

func (l *loaded) loadOrigins(tx *bbolt.Tx) error {
	return l.each(tx, bucketOrigins, l.totals.Origins, func(_ uint32, v []byte) error {
		d := decoder{p: v}
		host, kind := d.uint32(), d.byte()
		if err := d.done(); err != nil {
			return err
		}
		if int(host) >= len(l.hosts) || kind > originHTTPS|originOtherPort {
			return fmt.Errorf("refers to host %d of %d", host, len(l.hosts))
		}
		l.addOrigin(HostID(host), kind)
		return nil
	})
}

func (l *loaded) loadSeeds(tx *bbolt.Tx) error {
	return l.each(tx, bucketSeeds, l.totals.Seeds, func(n uint32, v []byte) error {
		s, ord, href, err := parseSeed(v)
		if err != nil {
			return err
		}
		if uint64(ord) >= l.totals.URLs || s.Implied >= int64(n) {
			return fmt.Errorf("refers to URL %d of %d, implied by seed %d", ord, l.totals.URLs, s.Implied)
		}
		if s.URL, err = canon.Parse(href); err != nil {
			return fmt.Errorf("%q: %w", href, err)
		}
		s.Number = n
		l.seeds = append(l.seeds, s)
		l.seedsAt = append(l.seedsAt, seedState{ord: ord})
		if _, ok := l.seedOf[ord]; ok {
			return fmt.Errorf("URL %d is a seed twice", ord)
		}
		l.seedOf[ord] = n
		return nil
	})
}

// checkSeeds makes sure that each seed's URL is the one in the log.
func (l *loaded) checkSeeds(*bbolt.Tx) error {
	for n, s := range l.seedsAt {
		if o, ok := l.seen.find(l.seeds[n].URL.Fingerprint(l.hashSeed)); !ok || Ordinal(o) != s.ord {
			if err := l.report(fmt.Errorf("bucket %s: seed %d is not URL %d of the log", bucketSeeds.name, n, s.ord)); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunks calls fn with the records of a log in order, and leaves its last chunk open in tail.
func (l *loaded) chunks(tx *bbolt.Tx, id bucket, width int, want uint64, tail *chunk, fn func(n uint64, record []byte) error) error {
	var next uint64
	c := tx.Bucket(id.name).Cursor()
	var lastFirst uint64
	var last chunkView
	for k, sealed := c.First(); k != nil; k, sealed = c.Next() {
		first, ok := logKey(k, width)
		if !ok || first != next {
			wrong := fmt.Errorf("bucket %s: chunk %x in place of %d", id.name, k, next)
			if !ok || first < next {
				return wrong
			}
			if err := l.report(wrong); err != nil {
				return err
			}
			next = first
		}
		v, err := id.parseChunk(k, sealed)
		if err != nil {
			if err := l.report(fmt.Errorf("bucket %s: chunk %d: %w", id.name, next, err)); err != nil {
				return err
			}
			continue
		}
		for i := range v.n {
			if err := fn(next, v.record(i)); err != nil {
				if err := l.report(fmt.Errorf("bucket %s: record %d: %w", id.name, next, err)); err != nil {
					return err
				}
			}
			next++
		}
		lastFirst, last = first, v
	}
	if next != want {
		if err := l.report(fmt.Errorf("bucket %s: %d records in place of %d", id.name, next, want)); err != nil {
			return err
		}
	}
	tail.load(lastFirst, last)
	return nil
}

func logKey(k []byte, width int) (uint64, bool) {
	switch {
	case len(k) != width:
		return 0, false
	case width == 4:
		return uint64(binary.BigEndian.Uint32(k)), true
	}
	return binary.BigEndian.Uint64(k), true
}

func (l *loaded) loadVisits(tx *bbolt.Tx) error {
	return l.chunks(tx, bucketPages, 8, l.totals.Visits, &l.visitTail, func(n uint64, record []byte) error {
		r, err := parseVisit(record)
		if err != nil {
			return err
		}
		if uint64(r.Ordinal) >= l.totals.URLs {
			return fmt.Errorf("refers to URL %d of %d", r.Ordinal, l.totals.URLs)
		}
		l.visits.set(r.Ordinal, n)
		switch r.Outcome {
		case Retry:
			l.due[r.Ordinal] = retry{due: microsUp(r.NotBefore), ord: uint32(r.Ordinal), attempt: uint16(min(r.Attempt, 1<<16-1))}
			l.last[r.Ordinal] = lastRetry
			return nil
		case Stored:
			l.last[r.Ordinal] = lastStored
			l.contents.set(r.Ordinal, uint32(contentsOf(&r)))
		default:
			l.last[r.Ordinal] = lastGivenUp
		}
		delete(l.due, r.Ordinal)
		return nil
	})
}

func (l *loaded) loadURLs(tx *bbolt.Tx) error {
	origin, start := OriginID(noID), 0
	var buf []byte
	into := newSeenLoader(&l.seen, l.totals.URLs, func(o uint32) error {
		return l.report(fmt.Errorf("bucket %s: record %d: its URL is there twice", bucketURLs.name, o))
	})
	err := l.chunks(tx, bucketURLs, 4, l.totals.URLs, &l.urlTail, func(n uint64, record []byte) error {
		if n >= l.totals.URLs {
			return fmt.Errorf("beyond the %d URLs that there are", l.totals.URLs)
		}
		o := Ordinal(n)
		r, err := parseURLHead(record, o)
		if err != nil {
			return err
		}
		if int(r.Origin) >= len(l.origins) || int(r.Seed) >= len(l.seeds) {
			return fmt.Errorf("refers to origin %d of %d and seed %d of %d", r.Origin, len(l.origins), r.Seed, len(l.seeds))
		}
		if r.Origin != origin {
			s := l.origins[r.Origin]
			buf = appendOrigin(buf[:0], l.names.get(s.host), s.kind)
			origin, start = r.Origin, len(buf)
		}
		buf = append(buf[:start], r.target...)
		u := canon.FromOrigin("", unsafe.String(unsafe.SliceData(buf), len(buf))) // until the next record
		if err := into.add(u.Fingerprint(l.hashSeed), uint32(o)); err != nil {
			return err
		}
		l.urls = uint32(o) + 1
		l.loadTraps(o, u, &r)
		host := HostID(l.origins[r.Origin].host)
		switch l.last[o] {
		case lastGivenUp:
			return nil
		case lastStored:
		case lastRetry:
			l.enqueueRetry(host, l.due[o])
			l.pending++
		case neverVisited:
			l.enqueue(host, r.Class, o)
			l.pending++
		}
		l.count(host, r.Seed, 1)
		return nil
	})
	if err != nil {
		return err
	}
	return into.done()
}

// checkBlobs reads the opaque state, which the next run begins with.
func (l *loaded) checkBlobs(tx *bbolt.Tx) error {
	for _, w := range []struct {
		id    bucket
		below int
	}{{bucketHblob, len(l.hosts)}, {bucketOblob, len(l.origins)}} {
		c := tx.Bucket(w.id.name).Cursor()
		for k, sealed := c.First(); k != nil; k, sealed = c.Next() {
			n, ok := logKey(k, 4)
			_, err := w.id.unseal(k, sealed)
			if err == nil && (!ok || n >= uint64(w.below)) {
				err = fmt.Errorf("belongs to none of %d", w.below)
			}
			if err != nil {
				if err := l.report(fmt.Errorf("bucket %s: entry %x: %w", w.id.name, k, err)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
