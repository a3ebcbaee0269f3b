package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"amble/configs"
	"amble/scheduler"
)

func TestProgressFields(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	live := scheduler.Live{
		Status:         scheduler.Status{Pages: 1234, Queued: 56789, Failed: 3, Bytes: 12_300_000, NextHost: "a.example", NextCause: "crawl-delay"},
		PagesPerSecond: 8.25, InFlight: 2, Waiting: 7,
		WaitingFor: []scheduler.Wait{{Host: "b.example", Cause: "failures", Until: now.Add(190 * time.Second)}},
	}
	live.NextStart = scheduler.Moment{Time: now.Add(2500 * time.Millisecond)}
	whole := func(cfg configs.Config) string {
		return fit(progressFields(live, cfg, 65*time.Second, now), math.MaxInt)
	}
	for _, c := range []struct {
		name, want string
		change     func(*configs.Config)
	}{
		{"plain", "1,234 pages  8.2/s  56,789 queued  waits 2.5s for a.example (crawl-delay)  3 failed  12.3 MB  01:05  2 in flight  " +
			"hosts: 0 ready, 7 waiting  longest 3m10s for b.example (cannot connect)", func(*configs.Config) {}},
		{"limits", "1,234 pages  8.2/s  56,789 queued  waits 2.5s for a.example  3 failed  limit 5,000 pages, 100MB, 10m  12.3 MB  " +
			"01:05  2 in flight  hosts: 0 ready, 7 waiting  longest 3m10s for b.example (cannot connect)",
			func(cfg *configs.Config) {
				cfg.MaxPages, cfg.MaxBytes, cfg.MaxTime = 5000, 100e6, configs.Duration(10*time.Minute)
				live.NextCause = "start"
			}},
		{"its time has come", "1,234 pages  8.2/s  56,789 queued  waits for a.example (cannot connect)  3 failed  12.3 MB  01:05  2 in flight  " +
			"hosts: 0 ready, 7 waiting  longest 3m10s for b.example (cannot connect)", func(*configs.Config) {
			live.NextCause, live.NextStart = "failures", scheduler.Moment{Time: now.Add(-time.Second)}
		}},
		{"ready", "1,234 pages  8.2/s  56,789 queued  3 failed  12.3 MB  01:05  2 in flight  hosts: 4 ready, 7 waiting  " +
			"longest 3m10s for b.example (cannot connect)", func(*configs.Config) { live.Ready = 4 }},
		{"paused", `1,234 pages  8.2/s  56,789 queued  PAUSED: low disk\x1b[31m  3 failed  12.3 MB  01:05  2 in flight  hosts: 4 ready, 7 waiting`,
			func(*configs.Config) { live.Paused = "low disk\x1b[31m" }},
	} {
		var cfg configs.Config
		c.change(&cfg)
		if got := whole(cfg); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// From 40 columns up the line fits, whole fields only, and the first ones are there.
func TestProgressFits(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	live := scheduler.Live{
		Status:         scheduler.Status{Pages: 123456, Queued: 1234567, Failed: 3, NextHost: strings.Repeat("a", 60) + ".example", NextCause: "crawl-delay"},
		PagesPerSecond: 118.25, Waiting: 7,
	}
	live.NextStart = scheduler.Moment{Time: now.Add(9 * time.Second)}
	cfg := configs.Config{MaxPages: 1_000_000}
	fields := progressFields(live, cfg, 65*time.Second, now)
	for width := 40 - spareColumns; width < 250; width++ {
		line := fit(fields, width)
		if n := utf8.RuneCountInString(line); n > width {
			t.Fatalf("%d characters in %d", n, width)
		}
		for _, text := range strings.Split(line, fieldGap) {
			whole := false
			for _, f := range fields {
				for _, form := range f {
					whole = whole || form == text
				}
			}
			if !whole {
				t.Errorf("width %d: %q is no whole field", width, text)
			}
		}
		if !strings.HasPrefix(line, "123,456 ") || !strings.Contains(line, "118.2/s") {
			t.Errorf("width %d: %q", width, line)
		}
	}
	for width, want := range map[int]string{
		37: "123,456 pages  118.2/s  1234k queued",
		40: "123,456 pages  118.2/s  1,234,567 queued",
		66: "123,456 pages  118.2/s  1,234,567 queued  waits 9.0s (crawl-delay)",
		76: "123,456 pages  118.2/s  1,234,567 queued  waits 9.0s (crawl-delay)  3 failed",
	} {
		if got := fit(fields, width); got != want {
			t.Errorf("width %d: got %q, want %q", width, got, want)
		}
	}
}

// The progress line stays beneath what is written; without a terminal there is none, and no escape.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, live: true}
	s.rewrite("one")
	s.printf("log\n")
	s.rewrite("one")
	s.rewrite("two")
	s.rewrite("")
	s.printf("end\n")
	want := eraseLine + "one" + eraseLine + "log\none" + eraseLine + "two" + eraseLine + "end\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	plain := &screen{w: &out}
	plain.rewrite("one")
	plain.printf("log\n")
	if got := out.String(); got != "log\n" {
		t.Errorf("without a terminal: %q", got)
	}
}

// A terminal that was narrowed has broken the line into rows, which are erased all; what is drawn anew fits.
func TestScreenNarrowed(t *testing.T) {
	var out bytes.Buffer
	columns := 100
	s := &screen{w: &out, live: true, columns: func() int { return columns }, reflows: true}
	fields := []field{{strings.Repeat("a", 30)}, {strings.Repeat("b", 60), "b"}}
	long, short := fields[0][0]+fieldGap+fields[1][0], fields[0][0]+fieldGap+"b"
	s.show(fields)
	columns = 40
	s.printf("log\n")
	s.show(fields) // nothing has changed since
	s.rewrite("")
	want := eraseLine + long + lineUp + lineUp + eraseBelow + "log\n" + short + eraseLine
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	// Where a terminal cuts lines nothing stands above but what others wrote.
	out.Reset()
	columns, s.reflows = 100, false
	s.show(fields)
	columns = 40
	s.rewrite("")
	if got, want := out.String(), eraseLine+long+eraseLine; got != want {
		t.Errorf("without reflow: got %q, want %q", got, want)
	}
}
