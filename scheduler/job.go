package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"amble/frontier"
	"amble/storage"
)

// Errors of Start and ReadStatus. Match them with errors.Is.
var (
	ErrJobExists  = errors.New("the job exists already")
	ErrJobMissing = errors.New("there is no job")
	ErrJobForeign = errors.New("the folder is no Amble job")
	ErrJobLocked  = errors.New("the job is in use")
)

// The files of a job, by the names that DESIGN gives them.
const (
	fileConfig  = "amble.yaml"
	fileDB      = "amble.db"
	fileStatus  = "status.json"
	fileControl = "control.addr"
	dirArchive  = "warc"
	dirSpool    = "spool"
	// The database is made under this name and renamed when the seeds are in it, so that a job either has its seeds
	// or was never begun.
	fileDBNew = "amble.db.creating"
)

// ConfigPath is where the configuration in force of the job in dir is kept.
func ConfigPath(dir string) string { return filepath.Join(dir, fileConfig) }

// control is JOB/control.addr: who runs the job.
type control struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Addr    string    `json:"addr"` // of the local API; empty: none
}

// jobState tells whether dir holds a job, and whether it was begun. Only what an interrupted creation can have left,
// or a configuration that somebody put there, counts as not begun: it holds nothing that could be lost.
func jobState(dir string) (exists, begun bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, fileDB)); err == nil {
		return true, true, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, false, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == fileConfig || strings.HasPrefix(name, fileDBNew):
			exists = true
		case name == dirArchive || isCrawlLog(name):
			return false, false, fmt.Errorf("%s holds a crawl, but its %s is missing: %w; put that file back, or export what was archived; a new crawl needs another folder (--job)", dir, fileDB, ErrJobForeign)
		default:
			return false, false, fmt.Errorf("%s is not empty and holds no job (no %s): %w; name another folder with --job", dir, fileDB, ErrJobForeign)
		}
	}
	return exists, false, nil
}

func isCrawlLog(name string) bool {
	return strings.HasPrefix(name, "crawl") && strings.HasSuffix(name, ".jsonl")
}

// createJob makes the folder and a frontier with the seeds in it.
func createJob(dir string, cfg Config, seeds []frontier.Seed) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the job: %w", err)
	}
	tmp := filepath.Join(dir, fileDBNew)
	// What a creation left that was cut short.
	if err := removeFrom(dir, func(name string) bool { return strings.HasPrefix(name, fileDBNew) }); err != nil {
		return fmt.Errorf("make the job: %w", err)
	}
	f, err := frontier.Create(tmp, frontier.Options{Rules: cfg.rules()})
	if err != nil {
		return fmt.Errorf("make the job: %w", err)
	}
	c, _ := readCounters(nil)
	err = addSeeds(f, &c, seeds, cfg.Sitemaps)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make the job: %w", errors.Join(err, os.Remove(tmp)))
	}
	if err := os.Rename(tmp, filepath.Join(dir, fileDB)); err != nil {
		return fmt.Errorf("make the job: %w", err)
	}
	return syncDir(dir)
}

// addSeeds takes seeds in and commits them, in batches, with the counters.
func addSeeds(f *frontier.Frontier, c *counters, seeds []frontier.Seed, sitemaps string) error {
	for {
		b := f.NewBatch()
		for len(seeds) > 0 && b.Bytes() < maxBatchBytes {
			s := seeds[0]
			seeds = seeds[1:]
			s.Implied = -1
			if _, v := f.AddSeed(b, s); v.New {
				c.Seeds.Pending++
			} else if v.Skip != "" {
				c.Seeds.Failed++
				if v.First {
					c.Skipped[v.Skip]++
				}
			}
		}
		b.SetCounters(c.blob(c.Elapsed))
		if err := f.Commit(b); err != nil {
			return err
		}
		f.Applied(b)
		if len(seeds) == 0 {
			return nil
		}
	}
}

// removeJob removes what makes up a job, and nothing else that may lie in the folder.
func removeJob(dir string) error {
	exists, _, err := jobState(dir)
	if err != nil || !exists {
		return err
	}
	if err := storage.Remove(filepath.Join(dir, dirArchive)); err != nil {
		return fmt.Errorf("remove the old job: %w", err)
	}
	err = removeFrom(dir, func(name string) bool {
		return slices.Contains([]string{fileStatus, fileControl, dirSpool, fileConfig}, name) ||
			strings.HasPrefix(name, fileDBNew) || isCrawlLog(name)
	})
	if err == nil {
		// Last: while the database is there the folder is a job, and the removal can be repeated.
		err = removeFrom(dir, func(name string) bool { return name == fileDB })
	}
	if err != nil {
		return fmt.Errorf("remove the old job: %w", err)
	}
	return nil
}

func removeFrom(dir string, match func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if match(e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// openFrontier opens the job's database and says who holds it when it is locked.
func openFrontier(dir string, opt frontier.Options) (*frontier.Frontier, frontier.Recovery, error) {
	f, rec, err := frontier.Open(filepath.Join(dir, fileDB), opt)
	if errors.Is(err, frontier.ErrLocked) {
		who := "another process"
		if b, rerr := os.ReadFile(filepath.Join(dir, fileControl)); rerr == nil {
			var c control
			if json.Unmarshal(b, &c) == nil && c.PID != 0 {
				who = fmt.Sprintf("process %d, since %s", c.PID, c.Started.Format("2006-01-02 15:04:05 -07:00"))
			}
		}
		err = fmt.Errorf("%s: %w by %s; wait for it, or end it with its Ctrl-C", dir, ErrJobLocked, who)
	}
	return f, rec, err
}

// writeAtomically replaces a small file as a whole. durable also survives a power cut.
func writeAtomically(path string, data []byte, durable bool) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if durable {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

func (s Status) write(dir string, durable bool) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := writeAtomically(filepath.Join(dir, fileStatus), append(b, '\n'), durable); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// ReadStatus reads the status of a job without a running crawl's help: the database when its lock is free, else
// status.json, which then is at most some seconds old (Updated). live says that a process holds the job.
func ReadStatus(dir string) (s Status, live bool, err error) {
	exists, begun, err := jobState(dir)
	if err != nil {
		return s, false, err
	}
	if !exists {
		return s, false, fmt.Errorf("%s: %w there; start one with amble crawl, or name its folder with --job", dir, ErrJobMissing)
	}
	if !begun {
		return s, false, fmt.Errorf("%s: %w: its creation was interrupted before anything was fetched; start it again with amble crawl", dir, ErrJobMissing)
	}
	f, rec, err := openFrontier(dir, frontier.Options{ReadOnly: true})
	if errors.Is(err, ErrJobLocked) {
		b, rerr := os.ReadFile(filepath.Join(dir, fileStatus))
		if rerr != nil {
			return s, true, fmt.Errorf("%w, and it has written no status yet: %w", err, rerr)
		}
		if err := json.Unmarshal(b, &s); err != nil {
			return s, true, fmt.Errorf("read %s: %w", filepath.Join(dir, fileStatus), err)
		}
		return s, true, nil
	}
	if err != nil {
		return s, false, err
	}
	defer f.Close() //nolint:errcheck // read only
	c, err := readCounters(rec.Counters)
	if err != nil {
		return s, false, err
	}
	s = c.status()
	s.fillFrom(f)
	s.Job = dir
	s.State = "stopped"
	if s.Queued == 0 {
		s.State, s.End = "finished", "exhausted"
	}
	s.Archive = archiveEnds(rec.Ends)
	if st, err := os.Stat(filepath.Join(dir, fileDB)); err == nil {
		s.Updated = Moment{st.ModTime()}
	}
	return s, false, nil
}

// Check verifies a job that is not running (amble status --check): the database with its checksums and references, and
// every record of the archive as far as it is committed.
func Check(dir string) (faults []error, err error) {
	if _, _, err := ReadStatus(dir); err != nil {
		return nil, err
	}
	f, rec, err := openFrontier(dir, frontier.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	faults = f.Verify()
	if rec.Ends.Segment != "" {
		_, damaged := storage.Check(dir, archiveEnds(rec.Ends))
		faults = append(faults, damaged...)
	}
	return faults, f.Close()
}

func (s *Status) fillFrom(f *frontier.Frontier) {
	s.Queued = f.Pending()
	s.Hosts = int64(f.Hosts())
}

func archiveEnds(e frontier.Ends) storage.Ends {
	return storage.Ends{Segment: e.Segment, Serial: e.SegmentSerial, End: e.SegmentEnd}
}
