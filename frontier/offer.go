package frontier

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Offer shows the host's best URL at now without taking it. When only retries are waiting, ok is false and at says
// when the first is due; at is zero when the host has nothing at all.
//
// A retry that is due goes before a new URL, unless the URL taken before was a retry too: so a due retry waits for one
// other request of its host at most, and retries get at most every second one while new URLs wait. Among the due, the
// earliest goes first; new URLs go by class and then in order of discovery.
func (f *Frontier) Offer(h HostID, now time.Time) (it Item, ok bool, at time.Time, err error) {
	if err := f.err(); err != nil {
		return Item{}, false, time.Time{}, err
	}
	if int(h) >= len(f.hosts) {
		return Item{}, false, time.Time{}, nil
	}
	s := &f.hosts[h]
	ord, _, fresh := f.queues.peek(s.queue)
	attempt := 0
	if w := f.retries[h]; w != nil {
		first := (*w)[0]
		if first.due <= now.UnixMicro() && !(fresh && s.turn) {
			ord, fresh, attempt = first.ord, true, int(first.attempt)
		} else if !fresh {
			return Item{}, false, micros(first.due), nil
		}
	}
	if !fresh {
		return Item{}, false, time.Time{}, nil
	}
	if it, err = f.read(Ordinal(ord)); err != nil {
		return Item{}, false, time.Time{}, f.fail(fmt.Errorf("offer URL %d: %w", ord, err))
	}
	it.Attempt = attempt
	return it, true, time.Time{}, nil
}

// Take takes what Offer showed. It must be followed by Finish or Return.
func (f *Frontier) Take(it Item) {
	if int(it.Host) < len(f.hosts) {
		s := &f.hosts[it.Host]
		fl := inFlight{host: it.Host, seed: it.Seed, of: f.traps.member(it.Ordinal, it.URL.String(), hopCount(it.Path))}
		if w := f.retries[it.Host]; w != nil {
			if i := w.find(uint32(it.Ordinal)); i >= 0 {
				r := f.dropRetry(it.Host, i)
				fl.due, fl.attempt, fl.retry = r.due, r.attempt, true
				s.turn = true
				f.flight[it.Ordinal] = fl
				return
			}
		}
		if class, ok := f.queues.popIf(&s.queue, uint32(it.Ordinal)); ok {
			fl.class = class
			s.queued--
			s.turn = false
			f.flight[it.Ordinal] = fl
			return
		}
	}
	f.fail(fmt.Errorf("take URL %d: %w: it was not offered", it.Ordinal, ErrMisuse))
}

// Return puts a taken Item back to the head of its queue: nothing was sent.
func (f *Frontier) Return(it Item) {
	fl, ok := f.land(it.Ordinal, it.Host)
	if !ok {
		return
	}
	if fl.retry {
		f.enqueueRetry(fl.host, retry{due: fl.due, ord: uint32(it.Ordinal), attempt: fl.attempt})
		f.hosts[fl.host].turn = false
		return
	}
	s := &f.hosts[fl.host]
	f.queues.unpop(&s.queue, fl.class, uint32(it.Ordinal))
	s.queued++
}

// land takes a URL out of those in flight.
func (f *Frontier) land(o Ordinal, host HostID) (inFlight, bool) {
	fl, ok := f.flight[o]
	if !ok || fl.host != host {
		f.fail(fmt.Errorf("URL %d of host %d: %w: it was not taken", o, host, ErrMisuse))
		return inFlight{}, false
	}
	delete(f.flight, o)
	return fl, true
}

// Finish records a visit of an Item that was taken. With Retry the URL is offered again from NotBefore on, and its
// Attempt is then the Result's: the requests made for it so far, this one included. Times are kept to the microsecond.
func (f *Frontier) Finish(b *Batch, host HostID, r Result) {
	if b.f != f || b.committed || r.Outcome < Stored || r.Outcome > Retry {
		f.fail(fmt.Errorf("finish URL %d: %w: batch %d, outcome %d", r.Ordinal, ErrMisuse, b.seq, r.Outcome))
		return
	}
	fl, ok := f.land(r.Ordinal, host)
	if !ok {
		return
	}
	if r.Outcome == Stored {
		f.traps.stored(fl.of, contentsOf(&r))
	}
	r.Attempt = max(r.Attempt, 0)
	b.results = append(b.results, visit{r, host, fl.seed})
	b.bytes += 80
}

// DropHost skips all that waits for a host, with a reason; it returns how many. What is in flight and what an open
// batch still holds for the host is not among them. Reopen makes host-unreachable ones pending again.
func (f *Frontier) DropHost(b *Batch, h HostID, why Reason, now time.Time) (int64, error) {
	if err := f.err(); err != nil {
		return 0, err
	}
	if b.f != f || b.committed || int(h) >= len(f.hosts) {
		return 0, f.fail(fmt.Errorf("drop host %d: %w", h, ErrMisuse))
	}
	s := &f.hosts[h]
	ords := f.queues.drain(&s.queue, nil)
	s.queued = 0
	if w := f.retries[h]; w != nil {
		for _, r := range *w {
			ords = append(ords, r.ord)
		}
		delete(f.retries, h)
	}
	if len(ords) > 0 {
		b.drops = append(b.drops, drop{h, ords, why, now})
		b.bytes += 20 * len(ords)
	}
	return int64(len(ords)), nil
}

// GivenUp tells that another try may do better: the URL failed, its host or its robots.txt could not be reached or its
// address not be opened, or the last answer was 429 or a server error.
func (r *Result) GivenUp() bool {
	switch r.Outcome {
	case Failed:
		return true
	case Skipped:
		return r.Reason == ReasonHostUnreachable || r.Reason == ReasonRobotsUnreachable || r.Reason == ReasonAddress
	case Stored:
		return r.Status == 429 || r.Status >= 500
	}
	return false
}

// Reopen makes the URLs pending again whose last Result is GivenUp (resume --retry-failed), and returns how many. Their
// attempts count from 0. Visits of open batches are not looked at: call it before any.
func (f *Frontier) Reopen(b *Batch) (int64, error) {
	if err := f.err(); err != nil {
		return 0, err
	}
	if b.f != f || b.committed {
		return 0, f.fail(fmt.Errorf("reopen: %w", ErrMisuse))
	}
	before := len(b.reopened)
	err := f.view(func(tx *bbolt.Tx) error {
		return eachVisit(tx, func(n uint64, r *Result) error {
			if last, ok := f.visits.get(r.Ordinal); !ok || last != n {
				return nil
			}
			if !r.GivenUp() {
				return nil
			}
			rec, err := readURL(tx, r.Ordinal)
			if err != nil {
				return err
			}
			b.reopened = append(b.reopened, inQueue{r.Ordinal, HostID(f.origins[rec.Origin].host), rec.Seed})
			b.bytes += 10
			return nil
		})
	})
	if err != nil {
		b.reopened = b.reopened[:before]
		return 0, fmt.Errorf("reopen failed URLs: %w", err)
	}
	return int64(len(b.reopened) - before), nil
}
