package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Errors of misuse and of what cannot be written. Each stops the Frontier.
var (
	ErrMisuse   = errors.New("frontier used against its order")
	ErrReadOnly = errors.New("frontier is open for reading only")
)

// Batch collects the changes of one transaction.
type Batch struct {
	f   *Frontier
	seq uint64 // from 1

	firstURL Ordinal
	urlData  []byte
	urlEnds  []int
	urlTo    []destination

	hosts   []string // pace keys, consecutive ids
	origins []originState
	fromID  struct{ host, origin uint32 }
	seeds   []seedChange
	newSeed int

	results  []visit
	drops    []drop
	reopened []inQueue

	hostBlobs, originBlobs []blob

	ends     *Ends
	counters []byte
	bytes    int

	committed  bool
	firstVisit uint64 // number of its first page record
}

// destination is the queue of a new URL.
type destination struct {
	host  HostID
	class uint8
}

type seedChange struct {
	seed Seed
	ord  Ordinal
}

type visit struct {
	Result
	host HostID
	seed uint32
}

type drop struct {
	host HostID
	ords []uint32
	why  Reason
	at   time.Time
}

type inQueue struct {
	ord  Ordinal
	host HostID
	seed uint32
}

type blob struct {
	id   uint32
	data []byte
}

// NewBatch begins one. Batches are committed and applied in the order of NewBatch; at most two are open, and only the
// newest takes new URLs.
func (f *Frontier) NewBatch() *Batch {
	f.batches++
	b := &Batch{f: f, seq: f.batches, firstURL: Ordinal(f.urls)}
	b.fromID.host, b.fromID.origin = uint32(len(f.hosts)), uint32(len(f.origins))
	f.open = append(f.open, b)
	return b
}

// Len is the number of results in it, Bytes about what it will write.
func (b *Batch) Len() int   { return len(b.results) }
func (b *Batch) Bytes() int { return b.bytes }

// SetHostBlob and SetOriginBlob store opaque state (rate controller, robots.txt) in the same transaction.
// The blob is copied; of two for one id the later counts.
func (b *Batch) SetHostBlob(id HostID, data []byte) {
	b.hostBlobs = append(b.hostBlobs, blob{uint32(id), slices.Clone(data)})
	b.bytes += len(data)
}

func (b *Batch) SetOriginBlob(id OriginID, data []byte) {
	b.originBlobs = append(b.originBlobs, blob{uint32(id), slices.Clone(data)})
	b.bytes += len(data)
}

// SetArchive fills in where the i-th Result of the batch (in order of Finish, from 0) lies in the archive. With
// SetOriginBlob, SetEnds and SetCounters it may be called by the goroutine that calls Commit, before Commit: positions
// are known only once the records are written.
func (b *Batch) SetArchive(i int, p Position) { b.results[i].Archive = p }

// SetEnds and SetCounters go into the same transaction.
func (b *Batch) SetEnds(e Ends)           { b.ends = &e }
func (b *Batch) SetCounters(state []byte) { b.counters = slices.Clone(state) }

func (b *Batch) empty() bool {
	return len(b.urlEnds)+len(b.hosts)+len(b.origins)+len(b.seeds)+len(b.results)+len(b.drops)+len(b.reopened)+
		len(b.hostBlobs)+len(b.originBlobs) == 0 && b.ends == nil && b.counters == nil
}

// Commit writes the batch durably. It may run in another goroutine than the rest, one call at a time, in order.
// After an error the frontier accepts nothing more.
func (f *Frontier) Commit(b *Batch) error {
	if err := f.err(); err != nil {
		return err
	}
	if f.readOnly {
		return fmt.Errorf("commit to frontier %s: %w", f.path, ErrReadOnly)
	}
	if b.f != f || b.seq != f.committed+1 {
		return f.fail(fmt.Errorf("commit to frontier %s: %w: batch %d after %d", f.path, ErrMisuse, b.seq, f.committed))
	}
	b.firstVisit = f.visitTail.next()
	if !b.empty() {
		f.file.setGrowth()
		err := guard(f.path, func() error { return f.file.db.Update(func(tx *bbolt.Tx) error { return f.write(tx, b) }) })
		if err != nil {
			return f.fail(fmt.Errorf("commit to frontier %s: %w", f.path, err))
		}
	}
	f.committed++
	b.committed = true
	return nil
}

// write is the transaction. It only appends, but for the open chunk of each log, blobs, seeds and meta.
func (f *Frontier) write(tx *bbolt.Tx, b *Batch) error {
	bk := func(id bucket) *bbolt.Bucket { return tx.Bucket(id.name) }
	put := func(id bucket, key, value []byte) error { return bk(id).Put(key, id.seal(key, value)) }

	hosts, origins := bk(bucketHosts), bk(bucketOrigins)
	hosts.FillPercent, origins.FillPercent = 1, 1
	for i, key := range b.hosts {
		if err := put(bucketHosts, key32(b.fromID.host+uint32(i)), []byte(key)); err != nil {
			return err
		}
	}
	for i, o := range b.origins {
		if err := put(bucketOrigins, key32(b.fromID.origin+uint32(i)), encodeOrigin(o)); err != nil {
			return err
		}
	}
	if err := f.writeURLs(bk(bucketURLs), b); err != nil {
		return err
	}
	if err := f.writeVisits(bk(bucketPages), b); err != nil {
		return err
	}
	for i := range b.seeds {
		value, err := encodeSeed(&b.seeds[i].seed, b.seeds[i].ord)
		if err != nil {
			return err
		}
		if err := put(bucketSeeds, key32(b.seeds[i].seed.Number), value); err != nil {
			return err
		}
	}
	for _, w := range []struct {
		id    bucket
		blobs []blob
	}{{bucketHblob, b.hostBlobs}, {bucketOblob, b.originBlobs}} {
		slices.SortStableFunc(w.blobs, func(x, y blob) int { return cmp.Compare(x.id, y.id) })
		for _, x := range w.blobs {
			if err := put(w.id, key32(x.id), x.data); err != nil {
				return err
			}
		}
	}
	if b.ends != nil {
		if err := put(bucketMeta, metaEnds, b.ends.encode()); err != nil {
			return err
		}
	}
	if b.counters != nil {
		if err := put(bucketMeta, metaCounters, b.counters); err != nil {
			return err
		}
	}
	f.totals.URLs = f.urlTail.next()
	f.totals.Visits = f.visitTail.next()
	f.totals.Hosts += uint64(len(b.hosts))
	f.totals.Origins += uint64(len(b.origins))
	f.totals.Seeds += uint64(b.newSeed)
	return put(bucketMeta, metaTotals, f.totals.encode())
}

// appender puts records into a log's chunks.
type appender struct {
	to   *bbolt.Bucket
	id   bucket
	tail *chunk
	key  func(uint64) []byte
}

func (a *appender) add(record []byte) error {
	if !a.tail.fits(len(record)) {
		if len(a.tail.ends) == 0 {
			return fmt.Errorf("record of %d bytes is too long for the log", len(record))
		}
		if err := a.flush(); err != nil {
			return err
		}
		a.tail.reset(a.tail.next())
	}
	a.tail.add(record)
	return nil
}

func (a *appender) flush() error {
	key := a.key(a.tail.first)
	return a.to.Put(key, a.tail.encode(a.id, key))
}

func (f *Frontier) writeURLs(to *bbolt.Bucket, b *Batch) error {
	if len(b.urlEnds) == 0 {
		return nil
	}
	to.FillPercent = 1
	if f.urlTail.next() != uint64(b.firstURL) {
		return fmt.Errorf("%w: URLs of batch %d begin at %d after %d", ErrMisuse, b.seq, b.firstURL, f.urlTail.next())
	}
	a := appender{to, bucketURLs, &f.urlTail, func(n uint64) []byte { return key32(uint32(n)) }}
	from := 0
	for _, end := range b.urlEnds {
		if err := a.add(b.urlData[from:end]); err != nil {
			return err
		}
		from = end
	}
	return a.flush()
}

func (f *Frontier) writeVisits(to *bbolt.Bucket, b *Batch) error {
	n := 0
	to.FillPercent = 1
	a := appender{to, bucketPages, &f.visitTail, key64}
	var buf []byte
	add := func(r *Result) error {
		n++
		buf = appendVisit(buf[:0], r)
		return a.add(buf)
	}
	for i := range b.results {
		if err := add(&b.results[i].Result); err != nil {
			return err
		}
	}
	for _, d := range b.drops {
		r := Result{Outcome: Skipped, Reason: d.why, Time: d.at}
		for _, o := range d.ords {
			r.Ordinal = Ordinal(o)
			if err := add(&r); err != nil {
				return err
			}
		}
	}
	for _, q := range b.reopened {
		if err := add(&Result{Ordinal: q.ord, Outcome: Retry}); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	if f.visitTail.next() >= noID {
		return errors.New("page log is full")
	}
	return a.flush()
}

// Applied takes a committed batch into the index and returns the hosts that have got something to offer by it.
// The slice is valid until the next call.
func (f *Frontier) Applied(b *Batch) []HostID {
	f.woken = f.woken[:0]
	if !b.committed || len(f.open) == 0 || f.open[0] != b {
		f.fail(fmt.Errorf("apply to frontier %s: %w: batch %d after %d", f.path, ErrMisuse, b.seq, f.applied))
		return f.woken
	}
	f.open = slices.Delete(f.open, 0, 1)
	f.applied++

	for i, to := range b.urlTo {
		f.enqueue(to.host, to.class, b.firstURL+Ordinal(i))
		f.woken = append(f.woken, to.host)
	}
	n := b.firstVisit
	for i := range b.results {
		r := &b.results[i]
		f.visits.set(r.Ordinal, n)
		n++
		switch r.Outcome {
		case Retry:
			f.enqueueRetry(r.host, retry{due: microsUp(r.NotBefore), ord: uint32(r.Ordinal), attempt: uint16(min(r.Attempt, 1<<16-1))})
			f.woken = append(f.woken, r.host)
			continue
		case Failed, Skipped:
			f.count(r.host, r.seed, -1)
		}
		f.pending--
	}
	for _, d := range b.drops {
		for _, o := range d.ords {
			f.visits.set(Ordinal(o), n)
			n++
		}
		f.hosts[d.host].load -= uint32(len(d.ords))
		f.pending -= int64(len(d.ords))
	}
	for _, q := range b.reopened {
		f.visits.set(q.ord, n)
		n++
		f.enqueueRetry(q.host, retry{ord: uint32(q.ord)})
		f.count(q.host, q.seed, 1)
		f.pending++
		f.woken = append(f.woken, q.host)
	}
	slices.Sort(f.woken)
	f.woken = slices.Compact(f.woken)
	return f.woken
}
