package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"amble/storage"
)

// drainTime is how long what is in flight may take to end after the first signal.
const drainTime = 10 * time.Second

// run is the shell around core: it reads the clock, and starts and ends every goroutine of the crawl.
func (c *Crawl) run(ctx context.Context) (err error) {
	workers := c.cfg.Workers
	// Both channels hold all that can be in flight, so neither side ever waits for the other.
	jobs, results := make(chan *job, workers), make(chan *result, workers)
	toCommit, committed := make(chan *batch, 1), make(chan error, 1)
	fetchCtx, stopFetching := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w := &worker{
		fetch: c.fetch, archive: c.archive, budget: c.budget, address: c.core.address,
		product: c.cfg.Product, maxBody: c.cfg.Fetch.MaxBody, decoding: semaphore.NewWeighted(decodingBytes),
	}
	for range workers {
		wg.Go(func() { // ends when jobs is closed
			for j := range jobs {
				results <- w.do(fetchCtx, j)
			}
		})
	}
	k := &committer{archive: c.archive, log: c.log, f: c.front, ends: c.ends}
	wg.Go(func() { // ends when toCommit is closed
		for b := range toCommit {
			committed <- k.commit(b)
		}
	})
	defer func() {
		stopFetching()
		close(jobs)
		close(toCommit)
		wg.Wait()
		c.ends = k.ends
		for len(results) > 0 { // only after an error of ours
			r := <-results
			r.drop()
			err = errors.Join(err, r.capture.Body.Close())
		}
	}()

	core := c.core
	second := time.NewTicker(time.Second)
	defer second.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	done, abort := ctx.Done(), c.abort
	var drainBy, pausedSince time.Time
	var draining bool
	var statusErr error
	for {
		now := time.Now()
		for {
			j, err := core.next(now)
			if err != nil {
				return err
			}
			if j == nil {
				break
			}
			jobs <- j
		}
		due, wake := core.closing(now)
		if due {
			toCommit <- core.closeBatch(now)
		}
		if core.end == endTime && !draining {
			// The time is over for what is in flight too, as after a signal.
			draining, drainBy = true, now.Add(drainTime)
		}
		if end := c.ended(now, pausedSince); end != "" {
			return c.finish(now, end, toCommit, committed)
		}
		if t := core.wakeAt(now); !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
		if !drainBy.IsZero() && (wake.IsZero() || drainBy.Before(wake)) {
			wake = drainBy
		}
		if wake.IsZero() {
			wake = now.Add(time.Hour)
		}
		timer.Reset(max(0, wake.Sub(now)))
		select {
		case r := <-results:
			if err := core.done(r, time.Now()); err != nil {
				return err
			}
		case err := <-committed:
			if err != nil {
				return err
			}
			c.archived(k)
			if err := core.applied(time.Now()); err != nil {
				return err
			}
		case <-timer.C:
			if !drainBy.IsZero() && !time.Now().Before(drainBy) {
				stopFetching()
				drainBy = time.Time{}
			}
		case now := <-second.C:
			paused := scarcity(c.dir, c.cfg.MinFreeDisk, c.cfg.MinFreeMemory, core.paused != "")
			if paused != "" && core.paused == "" {
				pausedSince = now
				core.say(ofCrawl, "paused: "+paused+"; it goes on by itself when there is more")
			}
			core.paused = paused
			c.show(now)
			err := c.Live().Status.write(c.dir, false)
			if err != nil && statusErr == nil {
				core.say(ofCrawl, err.Error()) // once: the next second would say the same
			}
			statusErr = err
		case <-done:
			done = nil
			if core.end == "" {
				core.end = endSignal
			}
			if !draining {
				draining, drainBy = true, time.Now().Add(drainTime)
			}
		case <-abort:
			abort = nil
			if core.end == "" {
				core.end = endSignal
			}
			stopFetching()
		}
	}
}

// ended says why the run is over, empty while it is not.
func (c *Crawl) ended(now, pausedSince time.Time) string {
	core := c.core
	switch {
	case core.inflight > 0 || core.open != nil || core.closed != nil:
		return ""
	case core.end != "" && core.end != endSignal && core.f.Pending() == 0, core.exhausted():
		return endExhausted
	case core.end != "":
		return core.end
	case core.paused != "":
		if l := c.cfg.Limits.MaxWait; l > 0 && now.Sub(pausedSince) > l {
			return endWaiting
		}
		return ""
	case core.stuck(now):
		return endWaiting
	}
	return core.limit(now)
}

// finish commits the end itself.
func (c *Crawl) finish(now time.Time, end string, toCommit chan<- *batch, committed <-chan error) error {
	core := c.core
	core.end, core.count.End = end, end
	core.event("stop", "", "", fmt.Sprintf("%s, %d pages, %d URLs pending", end, core.count.Pages, core.f.Pending()), now)
	core.flushHosts(now)
	toCommit <- core.closeBatch(now)
	if err := <-committed; err != nil {
		return err
	}
	core.count.Elapsed = core.elapsed(now)
	core.began = now
	return core.applied(now)
}

// archived notes how far the archive is committed, for those who read beside us.
func (c *Crawl) archived(k *committer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Archive = storage.Ends{Segment: k.ends.Segment, Serial: k.ends.SegmentSerial, End: k.ends.SegmentEnd}
}
