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

// conclude writes the last lines of a crawl: what was skipped, and last how it ended and how to go on. idle: there was
// nothing to go on with.
func conclude(c *cli, screen *screen, s scheduler.Status, idle bool, took time.Duration) error {
	err := outcome(s)
	if c.quiet && err == nil {
		return nil
	}
	if !c.quiet {
		if skipped := tally(s.Skipped); skipped != "" {
			screen.printf("amble: skipped: %s\n", skipped)
		}
		if troubles := tally(troubled(s.Classes)); troubles != "" {
			screen.printf("amble: requests that did not go well: %s\n", troubles)
		}
		screen.printf("amble: %s in %s requests to %s hosts, %s\n", size(s.Bytes), count(s.Requests), count(s.Hosts), span(took))
	}
	words := endWords(s)
	if idle && s.Queued == 0 {
		words = "nothing to do, the crawl had finished"
	}
	screen.printf("amble: %s: %s pages, %s failed, %s pending. %s\n", words, count(s.Pages), count(s.Failed), count(s.Queued), goOn(c, s))
	return err
}

// troubled are the classes of requests that gave no whole page.
func troubled(classes map[string]int64) map[string]int64 {
	bad := maps.Clone(classes)
	for _, good := range []capture.Class{capture.OK, capture.Redirect, capture.NotModified} {
		delete(bad, string(good))
	}
	return bad
}

// endWords says why a crawl ended.
func endWords(s scheduler.Status) string {
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
		return fmt.Sprintf("stopped, since no host may be asked within max-wait (next is %s at %s, %s)",
			s.NextHost, s.NextStart.Local().Format(time.DateTime), s.NextCause)
	}
	return s.State
}

// goOn says what to type next.
func goOn(c *cli, s scheduler.Status) string {
	job := c.jobFlag()
	raise := map[string]string{endMaxPages: " --max-pages N", endMaxBytes: " --max-bytes SIZE", endMaxTime: " --max-time DURATION"}[s.End]
	switch {
	case s.Queued > 0:
		return fmt.Sprintf("Go on: amble resume%s%s", job, raise)
	case s.Pages == 0 && s.Failed > 0:
		return fmt.Sprintf("Try again: amble resume%s --retry-failed", job)
	case s.Pages == 0:
		return fmt.Sprintf("See why: amble status%s", job)
	}
	return fmt.Sprintf("Use it: amble export%s --format jsonl -o pages.jsonl", job)
}
