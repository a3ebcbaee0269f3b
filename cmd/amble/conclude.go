package main

import (
	"fmt"
	"maps"
	"time"

	"amble/fetcher/capture"
	"amble/scheduler"
)

// Why a crawl ended, in the words of the status contract.
const (
	endExhausted = "exhausted"
	endMaxPages  = "max_pages"
	endMaxBytes  = "max_bytes"
	endMaxTime   = "max_time"
	endSignal    = "signal"
	endWaiting   = "waiting"
)

// outcome is the error, and so the exit code, of a crawl that came to an end by itself.
func outcome(s scheduler.Status) error {
	switch {
	case s.End == endSignal, s.End == endWaiting:
		return errStopped
	case s.Seeds.Captured == 0:
		return errNoSeed
	}
	return nil
}

// ending is what conclude is told beside the status.
type ending struct {
	idle bool // no attempt was made
	took time.Duration
	// say gives the last line's words and what to type next in place of endWords and goOn; nil: those.
	say func(scheduler.Status) (words, next string)
}

// conclude writes the last lines of a crawl: what was skipped, and last how it ended and how to go on.
func conclude(c *cli, screen *screen, s scheduler.Status, e ending) error {
	err := outcome(s)
	if c.quiet && err == nil {
		return nil
	}
	if !c.quiet {
		if skipped := tally(s.Skipped); skipped != "" {
			screen.printf("amble: skipped: %s\n", skipped)
		}
		if troubles := tally(troubled(s.Classes)); troubles != "" {
			screen.printf("amble: attempts that did not go well: %s\n", troubles)
		}
		screen.printf("amble: %s in %s to %s, %s\n", size(s.Bytes), plural(s.Requests, "request"), plural(s.Hosts, "host"), span(e.took))
	}
	words, next := endWords(s, e.idle), goOn(c, s)
	if e.say != nil {
		words, next = e.say(s)
	}
	screen.printf("amble: %s: %s, %s failed, %s pending. %s\n", words, plural(s.Pages, "page"), count(s.Failed), count(s.Queued), next)
	return err
}

// attempts counts what was tried over all runs of a job.
func attempts(s scheduler.Status) (n int64) {
	for _, of := range s.Classes {
		n += of
	}
	return n
}

// troubled are the classes of requests that gave no whole page.
func troubled(classes map[string]int64) map[string]int64 {
	bad := maps.Clone(classes)
	for _, good := range []capture.Class{capture.OK, capture.Redirect, capture.NotModified} {
		delete(bad, string(good))
	}
	return bad
}

// endWords says why a crawl ended. idle: it had nothing to go on with.
func endWords(s scheduler.Status, idle bool) string {
	idle = idle && s.Queued == 0
	switch {
	case outcome(s) == errNoSeed && idle:
		return "nothing to do, the crawl had ended, but no seed was captured"
	case outcome(s) == errNoSeed:
		return "ended, but no seed was captured"
	case idle:
		return "nothing to do, the crawl had finished"
	}
	switch s.End {
	case endExhausted:
		return "finished"
	case endMaxPages:
		return "page limit reached"
	case endMaxBytes:
		return "byte limit reached"
	case endMaxTime:
		return "time limit reached"
	case endSignal:
		return "stopped"
	case endWaiting:
		if s.NextHost == "" {
			return "stopped, since no host may be asked for longer than max-wait"
		}
		return "stopped, since no host may be asked within max-wait (next is " + nextStart(s) + ")"
	}
	return s.State
}

// nextStart says which host could be asked next, when, and why not before.
func nextStart(s scheduler.Status) string {
	text := s.NextHost + " at " + moment(s.NextStart.Time)
	if why := causeWords(s.NextCause); why != "" {
		text += ", " + why
	}
	return text
}

// goOn says what to type next, at the end of a crawl and in its status.
func goOn(c *cli, s scheduler.Status) string {
	job := c.jobFlag()
	raise := map[string]string{endMaxPages: " --max-pages N", endMaxBytes: " --max-bytes SIZE", endMaxTime: " --max-time DURATION"}[s.End]
	nothing := s.Pages == 0 || s.Seeds.Captured == 0
	switch {
	case s.Queued > 0:
		return fmt.Sprintf("Go on: amble resume%s%s", job, raise)
	case nothing && s.Failed > 0:
		return fmt.Sprintf("Try again: amble resume%s --retry-failed", job)
	case nothing:
		return fmt.Sprintf("With other seeds: amble resume%s SEED...", job)
	}
	return fmt.Sprintf("Use it: amble export%s --format jsonl -o pages.jsonl", job)
}
