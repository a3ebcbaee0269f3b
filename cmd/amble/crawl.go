package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"amble/configs"
	"amble/frontier"
	"amble/scheduler"
)

func newCrawlCommand(c *cli) *cobra.Command {
	o := &crawlOptions{}
	cmd := &cobra.Command{
		Use:   "crawl [SEED...] [flags]",
		Short: "Crawl from seeds into a new job",
		Long: `Crawl from seeds into a new job (--job DIR). A job that is there already is left alone: resume it, or give
--overwrite.

A seed is a URL; without a scheme it is https, then http. --seeds reads a list, one a line: blank lines and lines that
begin with # are passed over, and after a TAB come keys for that seed alone (depth=, scope=, max-pages=, floor=,
priority=, label.NAME=). Bad lines are named by number on stderr, and the good ones crawled.

Ctrl-C stops within 10 s and loses nothing; a second one at once. ` + "`amble resume`" + ` goes on.

` + exitCodeHelp,
		Example: `  amble crawl --contact you@example.org https://example.org/
  amble crawl --contact you@example.org --scope page --seeds urls.txt
  amble crawl --own intranet.example --floor 0 http://intranet.example/`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCrawl(cmd.Context(), c, o, args) },
	}
	addCrawlFlags(cmd, o, false)
	return cmd
}

func newResumeCommand(c *cli) *cobra.Command {
	o := &crawlOptions{}
	cmd := &cobra.Command{
		Use:   "resume [SEED...] [flags]",
		Short: "Go on with a job",
		Long: `Go on with the job in --job DIR, with its configuration and what flags say over it. Seeds given here are added.
Limits hold over all runs of a job together: give a higher one to go on beyond it.

` + exitCodeHelp,
		RunE: func(cmd *cobra.Command, args []string) error { return runResume(cmd.Context(), c, o, args) },
	}
	addCrawlFlags(cmd, o, true)
	return cmd
}

// runCrawl begins a job and crawls to its end.
func runCrawl(ctx context.Context, c *cli, o *crawlOptions, args []string) error {
	_, err := crawlNew(ctx, c, o, args)
	return err
}

// crawlNew is runCrawl that also tells how the crawl ended.
func crawlNew(ctx context.Context, c *cli, o *crawlOptions, args []string) (scheduler.Status, error) {
	var none scheduler.Status
	exists := fileExists(filepath.Join(c.job, "amble.db"))
	if exists && !o.dryRun {
		if err := refuseJob(c, o.overwrite); err != nil {
			return none, err
		}
	}
	loaded, seeds, err := prepare(c, o, args, !exists)
	if err != nil {
		return none, err
	}
	if len(seeds) == 0 {
		return none, usagef("no seed: give a URL, or --seeds FILE; for example: amble crawl --contact you@example.org https://example.org/")
	}
	if err := loaded.Validate(seeds, false); err != nil {
		return none, usageError{err}
	}
	if o.dryRun {
		return none, dryRun(ctx, c, loaded, seeds)
	}
	mode := scheduler.ModeNew
	if o.overwrite {
		mode = scheduler.ModeOverwrite
	}
	return start(ctx, c, mode, o, loaded, seeds)
}

// runResume goes on with one.
func runResume(ctx context.Context, c *cli, o *crawlOptions, args []string) error {
	if !fileExists(filepath.Join(c.job, "amble.db")) {
		return usagef("no job in %s: `amble crawl%s SEED...` begins one", c.job, c.jobFlag())
	}
	loaded, seeds, err := prepare(c, o, args, true)
	if err != nil {
		return err
	}
	if err := loaded.Validate(seeds, true); err != nil {
		return usageError{err}
	}
	_, err = start(ctx, c, scheduler.ModeResume, o, loaded, seeds)
	return err
}

// refuseJob says why no crawl begins in a folder that has a database already: it is another program's, it is being
// crawled, or it is a job, which overwrite permits to remove.
func refuseJob(c *cli, overwrite bool) error {
	s, live, err := scheduler.ReadStatus(c.job)
	switch {
	case errors.Is(err, frontier.ErrForeign), errors.Is(err, frontier.ErrNewer) && !overwrite:
		return fmt.Errorf("%w; name another folder with --job", err)
	case overwrite:
		return nil // whether somebody holds the job is asked under its lock
	case errors.Is(err, scheduler.ErrJobLocked):
		return usageError{err}
	case live:
		return usagef("%s is being crawled by process %d, since %s: `amble status%s` says how far it is, --job DIR begins a crawl elsewhere",
			c.job, s.PID, moment(s.Started.Time), c.jobFlag())
	}
	return jobExists(c)
}

func jobExists(c *cli) error {
	return usagef("%s holds a job already: `amble resume%s` goes on with it, --job DIR begins one elsewhere, --overwrite removes it first",
		c.job, c.jobFlag())
}

// prepare loads the configuration and reads the seeds, reporting the bad ones.
func prepare(c *cli, o *crawlOptions, args []string, withJob bool) (*configs.Loaded, []frontier.Seed, error) {
	loaded, err := c.load(o, withJob)
	if err != nil {
		return nil, nil, err
	}
	seeds, bad, err := readSeeds(args, o.seedsFile, c.stdin, loaded.ForHost)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range bad {
		c.notef("bad seed: %s", printable(b.String()))
	}
	if len(bad) > 0 && (o.strictSeeds || len(seeds) == 0) {
		return nil, nil, usagef("%s; nothing was fetched", plural(int64(len(bad)), "bad seed"))
	}
	return loaded, seeds, nil
}

func dryRun(ctx context.Context, c *cli, loaded *configs.Loaded, seeds []frontier.Seed) error {
	cfg, err := loaded.Scheduler(c.version)
	if err != nil {
		return usageError{err}
	}
	c.notef("dry run: %s", describeScope(loaded.Config))
	answers, err := scheduler.Try(ctx, cfg, seeds)
	if err != nil {
		return err
	}
	for _, a := range answers {
		word := "fetch"
		if !a.Allowed {
			word = "skip"
		}
		fmt.Fprintf(c.stdout, "%s\t%s\t%s\n", word, a.Seed.URL, printable(a.Reason))
	}
	return nil
}

// start runs a job, shows its progress and tells how it ended.
func start(ctx context.Context, c *cli, mode scheduler.Mode, o *crawlOptions, loaded *configs.Loaded, seeds []frontier.Seed) (scheduler.Status, error) {
	var none scheduler.Status
	cfg, err := loaded.Scheduler(c.version)
	if err != nil {
		return none, usageError{err}
	}
	screen := newScreen(c)
	cfg.RetryFailed = o.retryFailed
	cfg.Notify = func(line string) { screen.printf("amble: %s\n", printable(line)) }
	began := time.Now()
	crawl, err := scheduler.Start(c.job, mode, cfg, seeds, loaded.YAML(), c.version)
	if errors.Is(err, scheduler.ErrJobExists) {
		return none, jobExists(c)
	}
	if err != nil {
		return none, err
	}
	if !c.quiet {
		c.notef("job %s: %s", c.job, describeScope(loaded.Config))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	before := attempts(crawl.Live().Status)
	ended := make(chan struct{})
	var shows sync.WaitGroup
	shows.Go(func() { watchSignals(ended, screen, crawl, stop) })
	if !c.quiet {
		shows.Go(func() { showProgress(ended, screen, crawl, loaded.Config) })
	}
	if c.verbose {
		shows.Go(func() { followLog(ended, c, screen) })
	}
	status, err := crawl.Run(ctx)
	close(ended)
	shows.Wait()
	if err != nil {
		return none, fmt.Errorf("%w; what was committed is safe: amble resume%s goes on when that is mended", err, c.jobFlag())
	}
	return status, conclude(c, screen, status, ending{
		idle: mode == scheduler.ModeResume && attempts(status) == before, took: time.Since(began), say: o.say,
	})
}

// watchSignals makes the first SIGINT or SIGTERM a request to stop and the second an abort. The goroutine ends when
// ended is closed.
func watchSignals(ended <-chan struct{}, screen *screen, crawl *scheduler.Crawl, stop context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var heard signalsHeard
	for {
		var s os.Signal
		select {
		case <-ended:
			return
		case s = <-signals:
		}
		switch heard.count(s, time.Now()) {
		case 0:
		case 1:
			flight := ""
			if n := crawl.Live().InFlight; n > 0 {
				flight = "; " + plural(int64(n), "request") + " in flight may end within 10 s (once more: at once)"
			}
			screen.printf("amble: stopping%s\n", flight)
			stop()
		default:
			screen.printf("amble: stopping at once\n")
			crawl.Abort()
		}
	}
}

// sameSignal is how long a signal that comes again counts as the same one: the terminal sends Ctrl-C to a program and to
// the wrapper around it, which passes it on.
const sameSignal = 150 * time.Millisecond

// signalsHeard counts signals to stop.
type signalsHeard struct {
	n    int
	last os.Signal
	at   time.Time
}

// count gives the number of a signal, from 1, and 0 when it is the last one over again.
func (h *signalsHeard) count(s os.Signal, now time.Time) int {
	if h.n > 0 && s == h.last && now.Sub(h.at) < sameSignal {
		return 0
	}
	h.n++
	h.last, h.at = s, now
	return h.n
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
