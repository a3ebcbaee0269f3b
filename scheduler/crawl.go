package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"amble/fetcher"
	"amble/fetcher/capture"
	"amble/frontier"
	"amble/ratectl"
	"amble/storage"
)

// Mode says what Start does with the job folder.
type Mode uint8

const (
	ModeNew       Mode = iota // refuse an existing job
	ModeOverwrite             // remove an existing job first (only a folder that is one)
	ModeResume                // go on; refuse a missing job
)

// Crawl is one run of a job.
type Crawl struct {
	dir     string
	cfg     Config
	core    *core
	fetch   *fetcher.Fetcher
	budget  *capture.Budget
	archive *storage.Archive
	log     *crawlLog
	front   *frontier.Frontier
	ends    frontier.Ends
	started time.Time

	abort     chan struct{}
	abortOnce sync.Once

	mu   sync.Mutex // guards live
	live Live
}

// Start opens or makes the job in dir, takes the seeds in, and locks it. configYAML is written to JOB/amble.yaml.
// version is the program's, for the crawl log.
//
// It fails with ErrJobExists, ErrJobMissing, ErrJobForeign, ErrJobLocked, or what the frontier and the archive say
// of damage; then nothing was changed.
func Start(dir string, mode Mode, cfg Config, seeds []frontier.Seed, configYAML []byte, version string) (*Crawl, error) {
	exists, begun, err := jobState(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case mode == ModeResume && !exists:
		return nil, fmt.Errorf("%s: %w there; start one with amble crawl, or name its folder with --job", dir, ErrJobMissing)
	case mode == ModeNew && begun:
		return nil, fmt.Errorf("%s: %w; go on with it by amble resume, name another folder with --job, or replace it with --overwrite", dir, ErrJobExists)
	case mode == ModeResume && !begun:
		return nil, fmt.Errorf("%s: %w: its creation was interrupted before anything was fetched; start it again with amble crawl", dir, ErrJobMissing)
	}
	if mode == ModeOverwrite && begun {
		// What somebody holds, or what never was a job, is not removed; a damaged one is.
		f, _, err := openFrontier(dir, frontier.Options{})
		if errors.Is(err, ErrJobLocked) || errors.Is(err, frontier.ErrForeign) || errors.Is(err, frontier.ErrNewer) {
			return nil, err
		}
		if err == nil {
			err = f.Close()
			if err != nil {
				return nil, err
			}
		}
		if err := removeJob(dir); err != nil {
			return nil, err
		}
		begun = false
	}
	fresh := !begun
	if fresh {
		if err := createJob(dir, cfg, seeds); err != nil {
			return nil, err
		}
	}
	return openJob(dir, fresh, cfg, seeds, configYAML, version)
}

func openJob(dir string, fresh bool, cfg Config, seeds []frontier.Seed, configYAML []byte, version string) (_ *Crawl, err error) {
	var undo []func() error
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				err = errors.Join(err, undo[i]())
			}
		}
	}()
	f, rec, err := openFrontier(dir, frontier.Options{Rules: cfg.rules()})
	if err != nil {
		return nil, err
	}
	undo = append(undo, f.Close)
	c := &Crawl{dir: dir, cfg: cfg, front: f, ends: rec.Ends, abort: make(chan struct{}), started: time.Now()}
	// The archive first: it refuses a database that is older than what lies beside it, before anything is cut.
	c.archive, err = storage.Open(filepath.Join(dir, dirArchive), cfg.Archive, archiveEnds(rec.Ends))
	if err != nil {
		return nil, err
	}
	undo = append(undo, c.archive.Close)
	c.log, err = openCrawlLog(dir, rec.Ends.Log, rec.Ends.LogEnd)
	if err != nil {
		return nil, err
	}
	undo = append(undo, c.log.close)
	spool := filepath.Join(dir, dirSpool)
	if err := errors.Join(os.RemoveAll(spool), os.MkdirAll(spool, 0o700)); err != nil {
		return nil, fmt.Errorf("make the spool folder: %w", err)
	}
	c.budget = capture.NewBudget(spool, cfg.BodyMemory)
	c.fetch, err = fetcher.New(cfg.Fetch, c.budget)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() error { c.fetch.Close(); return nil })
	count, err := readCounters(rec.Counters)
	if err != nil {
		return nil, err
	}
	if !fresh {
		if err := addSeeds(f, &count, seeds, cfg.Sitemaps); err != nil {
			return nil, err
		}
	}
	if err := writeAtomically(filepath.Join(dir, fileConfig), configYAML, true); err != nil {
		return nil, fmt.Errorf("write the configuration in force: %w", err)
	}
	who, err := json.Marshal(control{PID: os.Getpid(), Started: c.started})
	if err != nil {
		return nil, err
	}
	if err := writeAtomically(filepath.Join(dir, fileControl), append(who, '\n'), false); err != nil {
		return nil, fmt.Errorf("write %s: %w", fileControl, err)
	}
	c.core = newCore(cfg, f, c.archive, count, !fresh, c.started)
	if err := c.core.begin(rec, version, c.started); err != nil {
		return nil, err
	}
	c.show(c.started)
	return c, nil
}

func newCore(cfg Config, f *frontier.Frontier, a *storage.Archive, count counters, resumed bool, now time.Time) *core {
	c := &core{
		cfg: cfg, f: f, archive: a, count: count, resumed: resumed, began: now, flushed: now,
		address: newAddressPace(cfg.AddressInterval), seeds: f.Seeds(), seedFloor: map[string]time.Duration{}, said: map[notice]int{},
		notify: cfg.Notify, hostsAtStart: f.Hosts(),
	}
	allOwn, anyOwn := true, false
	for _, s := range c.seeds {
		own := cfg.Own.Covers(s.URL.Hostname())
		allOwn, anyOwn = allOwn && own, anyOwn || own
		if s.Floor != nil {
			key := s.URL.PaceKey()
			c.seedFloor[key] = max(c.seedFloor[key], *s.Floor)
		}
	}
	c.gov = ratectl.NewGovernor(cfg.Rate, allOwn && cfg.Rate == 0)
	c.gov.SetEager(anyOwn)
	return c
}

// begin queues every host that has something to do and logs the start.
func (c *core) begin(rec frontier.Recovery, version string, now time.Time) error {
	name := "start"
	if c.count.Runs > 0 {
		name = "resume"
	}
	c.count.Runs++
	c.count.End = ""
	if c.cfg.RetryFailed {
		if err := c.reopen(now); err != nil { // first of all, as Reopen wants it
			return err
		}
	}
	c.event(name, "", "", fmt.Sprintf("amble %s, %d URLs known, %d pending", version, rec.URLs, c.f.Pending()), now)
	for id := range c.f.Hosts() {
		if c.f.Queued(frontier.HostID(id)) == 0 {
			continue
		}
		if err := c.wake(frontier.HostID(id), now); err != nil {
			return err
		}
	}
	return nil
}

// reopen makes what failed or could not be reached pending again, seeds included.
func (c *core) reopen(now time.Time) error {
	for _, s := range c.seeds {
		ord, ok := c.f.SeedOrdinal(s.Number)
		if !ok {
			continue
		}
		it, res, err := c.f.Item(ord)
		if err != nil {
			return err
		}
		if res != nil && res.GivenUp() && it.Flags&frontier.FlagSeed != 0 && !c.fellBack(s.Number) {
			c.count.Seeds.Failed--
			c.count.Seeds.Pending++
		}
	}
	n, err := c.f.Reopen(c.openBatch(now).fb)
	c.count.Failed = 0
	delete(c.count.Skipped, frontier.ReasonHostUnreachable)
	delete(c.count.Skipped, frontier.ReasonRobotsUnreachable)
	delete(c.count.Skipped, frontier.ReasonAddress)
	if n > 0 {
		c.event("retry-failed", "", "", fmt.Sprintf("%d URLs pending again", n), now)
	}
	return err
}

// fellBack tells that another seed took the place of this one.
func (c *core) fellBack(n uint32) bool {
	return slices.ContainsFunc(c.seeds, func(s frontier.Seed) bool { return s.Implied == int64(n) })
}

// Abort cancels what is in flight; Run still commits what it has and returns.
func (c *Crawl) Abort() { c.abortOnce.Do(func() { close(c.abort) }) }

// Live is what a progress line shows. It is safe to call while Run runs.
func (c *Crawl) Live() Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// Pending is how many URLs wait: 0 at the start of a resume means that there is nothing to do.
func (c *Crawl) Pending() int64 { return c.Live().Queued }

// close ends the job's files in the order in which they depend on each other.
func (c *Crawl) close() error {
	c.fetch.Close()
	err := errors.Join(c.archive.Close(), c.log.close(), c.front.Close())
	if rerr := os.Remove(filepath.Join(c.dir, fileControl)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(c.dir, dirSpool)))
}

// Run crawls until the end. Cancelling ctx is the first signal: nothing new starts, what is in flight may end within
// 10 s. Abort is the second.
func (c *Crawl) Run(ctx context.Context) (Status, error) {
	err := c.run(ctx)
	now := time.Now()
	c.show(now)
	s := c.Live().Status
	s.State = "stopped"
	if err == nil && s.Queued == 0 {
		s.State = "finished"
	}
	err = errors.Join(err, c.close())
	return s, errors.Join(err, s.write(c.dir, true))
}
