package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
)

// followLog shows each line of the crawl log as a log line on stderr. It returns when ended is closed and the log is
// read to its end.
func followLog(ended <-chan struct{}, c *cli, s *screen) {
	log := newLogger(c, s)
	path := filepath.Join(c.job, "crawl.jsonl")
	f, err := openAtEnd(path, ended)
	if err != nil {
		log.Warn().Err(err).Msg("the crawl log cannot be followed")
		return
	}
	if f == nil {
		return
	}
	defer func() { f.Close() }()
	in := bufio.NewReader(f)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var partial []byte
	drain := func() {
		for {
			text, err := in.ReadBytes('\n')
			partial = append(partial, text...)
			if err != nil {
				return
			}
			logLine(log, partial)
			partial = partial[:0]
		}
	}
	for {
		drain()
		// A rotated log begins a new file under the old name.
		if next := rotated(f, path); next != nil {
			drain()
			f.Close()
			f, partial = next, nil
			in.Reset(f)
			continue
		}
		select {
		case <-ended:
			drain()
			return
		case <-tick.C:
		}
	}
}

// openAtEnd waits for the log to be there, and passes over what earlier runs wrote. It returns nil when the crawl ended
// without one.
func openAtEnd(path string, ended <-chan struct{}) (*os.File, error) {
	for {
		f, err := os.Open(path)
		if err == nil {
			_, err = f.Seek(0, io.SeekEnd)
			return f, err
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		select {
		case <-ended:
			return nil, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// rotated opens the file that has taken the place of f at path, nil when f is still there.
func rotated(f *os.File, path string) *os.File {
	now, err := os.Stat(path)
	was, werr := f.Stat()
	if err != nil || werr != nil || os.SameFile(now, was) {
		return nil
	}
	next, err := os.Open(path)
	if err != nil {
		return nil
	}
	return next
}

// newLogger writes for people on a terminal, and JSON elsewhere. Both quote what comes from sites.
func newLogger(c *cli, s *screen) zerolog.Logger {
	var w io.Writer = s
	if s.live {
		w = zerolog.ConsoleWriter{Out: s, NoColor: c.getenv("NO_COLOR") != "", TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).With().Timestamp().Logger()
}

func logLine(log zerolog.Logger, text []byte) {
	var l struct {
		Event      string  `json:"event"`
		Detail     string  `json:"detail"`
		URL        string  `json:"url"`
		Host       string  `json:"host"`
		Status     int     `json:"status"`
		Class      string  `json:"class"`
		TTFB       float64 `json:"ttfb_ms"`
		IntervalMS float64 `json:"interval_ms"`
		Cause      string  `json:"cause"`
		Attempt    int     `json:"attempt"`
	}
	if json.Unmarshal(text, &l) != nil {
		return
	}
	if l.Event != "" {
		event := log.Info()
		if l.Host != "" {
			event = event.Str("host", l.Host)
		}
		event.Str("detail", l.Detail).Msg(l.Event)
		return
	}
	log.Info().Str("url", l.URL).Int("status", l.Status).Str("class", l.Class).Float64("ttfb_ms", l.TTFB).
		Float64("interval_ms", l.IntervalMS).Str("cause", l.Cause).Int("attempt", l.Attempt).Msg("fetched")
}
