package scheduler

import (
	"time"

	"amble/frontier"
	"amble/storage"
)

// A batch closes at the first of these.
const (
	maxBatchResults = 500
	maxBatchBytes   = 4 << 20
	maxBatchAge     = 100 * time.Millisecond
)

// batch is what one transaction makes durable: archive records, lines of the crawl log, and the frontier's changes.
type batch struct {
	fb     *frontier.Batch
	opened time.Time
	// urgent: a 429, 503 or Retry-After is in it, which must not be forgotten.
	urgent bool
	log    []byte
	// results is how many were finished, records what goes to the archive.
	results  int
	records  []*storage.Encoded
	archived int64
	// placed says what wants to know where records[i] comes to lie.
	placed []placement
	rules  []keptRules
}

type placement struct {
	result int // index of a frontier.Result, -1 for none
	rules  int // index in batch.rules of the robots.txt that it is, -1 for none
}

type keptRules struct {
	origin *origin
	saved  savedRules
}

// openBatch is the batch that changes go into now.
func (c *core) openBatch(now time.Time) *batch {
	if c.open == nil {
		c.open = &batch{fb: c.f.NewBatch(), opened: now}
	}
	return c.open
}

// finish records a visit; r is the result whose records belong to it, nil when nothing is archived.
func (b *batch) finish(f *frontier.Frontier, h frontier.HostID, res frontier.Result, r *result) {
	f.Finish(b.fb, h, res)
	if r != nil {
		r.place = b.results
	}
	b.results++
}

// add takes a result's records over.
func (b *batch) add(r *result) {
	if r.encoded == nil {
		return
	}
	p := placement{result: r.place, rules: -1}
	if n := len(b.rules) - 1; r.job.kind == jobRules && n >= 0 && b.rules[n].origin == r.job.origin && !b.rules[n].saved.Allow {
		p.rules = n
	}
	b.records = append(b.records, r.encoded)
	b.placed = append(b.placed, p)
	b.archived += r.encoded.Len()
	r.encoded = nil
}

// keepRules has an origin's rules written into the frontier, once it is known where they lie. Until then nothing is
// fetched under them: the crawl log names the rules in force by their place in the archive.
func (b *batch) keepRules(o *origin) {
	o.state = rulesSettling
	b.rules = append(b.rules, keptRules{o, o.saved})
	b.urgent = true
}

func (b *batch) bytes() int64 { return b.archived + int64(b.fb.Bytes()+len(b.log)) }

func (b *batch) full() bool { return b.results >= maxBatchResults || b.bytes() >= maxBatchBytes }

// closing says when the open batch is to be closed: at once when it is full or urgent or nothing else is going on.
func (c *core) closing(now time.Time) (due bool, at time.Time) {
	b := c.open
	if b == nil || c.closed != nil {
		return false, time.Time{}
	}
	at = b.opened.Add(maxBatchAge)
	quiet := c.inflight == 0 && (len(c.heap) == 0 || c.heap[0].next.After(now))
	return b.full() || b.urgent || quiet || c.end != "" || !at.After(now), at
}

// closeBatch hands the open batch out for committing.
func (c *core) closeBatch(now time.Time) *batch {
	if len(c.dirty) > 0 && now.Sub(c.flushed) >= hostFlush || c.end != "" {
		c.flushHosts(now)
	}
	b := c.open
	b.fb.SetCounters(c.count.blob(c.elapsed(now)))
	c.open, c.closed = nil, b
	return b
}

// applied takes a committed batch into the index.
func (c *core) applied(now time.Time) error {
	b := c.closed
	c.closed = nil
	for _, k := range b.rules {
		k.origin.saved, k.origin.state = k.saved, rulesKnown
		if err := c.wake(k.origin.host.id, now); err != nil {
			return err
		}
	}
	for _, id := range c.f.Applied(b.fb) {
		if err := c.wake(id, now); err != nil {
			return err
		}
	}
	return nil
}

// committer writes batches durably, one at a time: records, crawl log, then the transaction that makes both count.
type committer struct {
	archive *storage.Archive
	log     *crawlLog
	f       *frontier.Frontier
	ends    frontier.Ends
}

func (k *committer) commit(b *batch) error {
	if len(b.records) > 0 {
		at, err := k.archive.Append(b.records)
		for _, r := range b.records {
			r.Close()
		}
		if err != nil {
			return err
		}
		for i, p := range b.placed {
			if p.result >= 0 {
				b.fb.SetArchive(p.result, frontier.Position(at[i]))
			}
			if p.rules >= 0 {
				s := &b.rules[p.rules].saved
				s.Serial, s.Offset, s.Length = at[i].Serial, at[i].Offset, at[i].Length
			}
		}
		e, err := k.archive.Sync()
		if err != nil {
			return err
		}
		k.ends.Segment, k.ends.SegmentSerial, k.ends.SegmentEnd = e.Segment, e.Serial, e.End
	}
	for _, k := range b.rules {
		b.fb.SetOriginBlob(k.origin.id, k.saved.blob())
	}
	if len(b.log) > 0 {
		if err := k.log.append(b.log); err != nil {
			return err
		}
	}
	k.ends.Log, k.ends.LogEnd = k.log.name(), k.log.end
	b.fb.SetEnds(k.ends)
	return k.f.Commit(b.fb)
}
