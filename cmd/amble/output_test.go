package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"amble/frontier"
	"amble/scheduler"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("disk full"), 1},
		{fmt.Errorf("x: %w", scheduler.ErrJobLocked), 1},
		{fmt.Errorf("x: %w", frontier.ErrDamaged), 1},
		{usagef("x"), 2},
		{fmt.Errorf("x: %w", usagef("y")), 2},
		{fmt.Errorf("x: %w", scheduler.ErrJobExists), 2},
		{fmt.Errorf("x: %w", scheduler.ErrJobMissing), 2},
		{fmt.Errorf("x: %w", scheduler.ErrJobForeign), 2},
		{fmt.Errorf("x: %w", frontier.ErrNewer), 2},
		{errStopped, 3},
		{errNoSeed, 4},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v exits with %d, want %d", c.err, got, c.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	some := scheduler.SeedCounts{Captured: 1, Failed: 1}
	for _, c := range []struct {
		status scheduler.Status
		want   error
	}{
		{scheduler.Status{End: "exhausted", Seeds: some}, nil},
		{scheduler.Status{End: "max_pages", Seeds: some, Queued: 5}, nil},
		{scheduler.Status{End: "signal", Seeds: some, Queued: 5}, errStopped},
		{scheduler.Status{End: "waiting", Queued: 5}, errStopped},
		{scheduler.Status{End: "exhausted", Seeds: scheduler.SeedCounts{Failed: 2}}, errNoSeed},
	} {
		if got := outcome(c.status); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%+v: %v, want %v", c.status, got, c.want)
		}
	}
}

func TestConclude(t *testing.T) {
	for _, c := range []struct {
		name   string
		job    string
		quiet  bool
		idle   bool
		status scheduler.Status
		want   string // the last line
	}{
		{"finished", defaultJob, false, false, scheduler.Status{End: "exhausted", Pages: 1234, Failed: 2, Seeds: scheduler.SeedCounts{Captured: 1}},
			"amble: finished: 1,234 pages, 2 failed, 0 pending. Use it: amble export --format jsonl -o pages.jsonl"},
		{"stopped", "my job", false, false, scheduler.Status{End: "signal", Pages: 1, Queued: 10},
			"amble: stopped: 1 pages, 0 failed, 10 pending. Go on: amble resume --job 'my job'"},
		{"limit", defaultJob, false, false, scheduler.Status{End: "max_pages", Pages: 5, Queued: 10, Seeds: scheduler.SeedCounts{Captured: 1}},
			"amble: page limit reached: 5 pages, 0 failed, 10 pending. Go on: amble resume --max-pages N"},
		{"nothing", defaultJob, false, false, scheduler.Status{End: "exhausted", Failed: 1, Seeds: scheduler.SeedCounts{Failed: 1}},
			"amble: finished: 0 pages, 1 failed, 0 pending. Try again: amble resume --retry-failed"},
		{"idle", defaultJob, false, true, scheduler.Status{End: "exhausted", Pages: 5, Seeds: scheduler.SeedCounts{Captured: 1}},
			"amble: nothing to do, the crawl had finished: 5 pages, 0 failed, 0 pending. Use it: amble export --format jsonl -o pages.jsonl"},
		{"quiet", defaultJob, true, false, scheduler.Status{End: "exhausted", Pages: 5, Seeds: scheduler.SeedCounts{Captured: 1}}, ""},
		{"quiet but stopped", defaultJob, true, false, scheduler.Status{End: "signal", Pages: 5, Queued: 1},
			"amble: stopped: 5 pages, 0 failed, 1 pending. Go on: amble resume"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			cli := &cli{stderr: &out, job: c.job, quiet: c.quiet}
			_ = conclude(cli, newScreen(cli), c.status, c.idle, time.Minute)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestConcludeWaiting(t *testing.T) {
	next := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	var out bytes.Buffer
	cli := &cli{stderr: &out, job: defaultJob}
	err := conclude(cli, newScreen(cli), scheduler.Status{
		End: "waiting", Pages: 3, Queued: 9, NextHost: "slow.example", NextStart: next, NextCause: "retry-after",
		Skipped: map[string]int64{"robots": 5, "scope": 12, "depth": 0},
	}, false, time.Minute)
	if !errors.Is(err, errStopped) {
		t.Errorf("waiting ends with %v", err)
	}
	for _, want := range []string{"skipped: 12 scope, 5 robots\n", "next is slow.example at 2026-03-04 05:06:07, retry-after", "9 pending. Go on: amble resume\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

func TestProgressLine(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	live := scheduler.Live{
		Status:         scheduler.Status{Pages: 1234, Queued: 56789, Failed: 3, NextHost: "a.example", NextStart: now.Add(2500 * time.Millisecond), NextCause: "crawl-delay"},
		PagesPerSecond: 8.25, InFlight: 2, Waiting: 7,
		WaitingFor: []scheduler.Wait{{Host: "b.example", Cause: "retry-after", Until: now.Add(190 * time.Second)}},
	}
	want := "01:05 1,234 pages 8.2/s 56,789 queued 3 failed 2 in flight 0 ready 7 waiting: " +
		"a.example 2.5s crawl-delay; longest b.example 3m10s retry-after"
	if got := progressLine(live, 65*time.Second, now); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	live.Ready = 4
	if got := progressLine(live, 65*time.Second, now); !strings.HasSuffix(got, "4 ready 7 waiting; longest b.example 3m10s retry-after") {
		t.Errorf("with hosts that are ready: %s", got)
	}
	live.Paused = "low disk\x1b[31m"
	if got := progressLine(live, 65*time.Second, now); !strings.HasSuffix(got, `PAUSED: low disk\x1b[31m`) {
		t.Errorf("paused: %s", got)
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

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0s", 400 * time.Millisecond: "0.4s", 28 * time.Second: "28s", 190 * time.Second: "3m10s", 5*time.Hour + 2*time.Minute: "5h2m",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{5 * time.Second: "00:05", 3723 * time.Second: "1:02:03"} {
		if got := clock(d); got != want {
			t.Errorf("clock(%s) = %s, want %s", d, got, want)
		}
	}
	if got := cut("abcdef", 4); got != "abc…" {
		t.Errorf("cut: %q", got)
	}
	if got := shellQuote("it's"); got != `'it'\''s'` {
		t.Errorf("shellQuote: %s", got)
	}
	if got := printable("a\x1b[2Jé\u202e\n"); got != `a\x1b[2Jé\u202e`+"\n" {
		t.Errorf("printable: %q", got)
	}
}

func TestReadable(t *testing.T) {
	const doc = `<!doctype html><html><head><title>no</title><script>var x = "<p>no"</script></head><body>
<h1>One &amp; two</h1><p>some <b>bold</b>, <a href=x>linked</a>
text</p><style>no</style><ul><li>a<li>b</ul><noscript>no</noscript></body></html>`
	const want = "One & two\nsome bold, linked text\na\nb\n"
	if got := readable(doc); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		"24h":                  now.Add(-24 * time.Hour),
		"2d":                   now.Add(-48 * time.Hour),
	} {
		if got, err := parseSince(in, now); err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := parseSince("yesterday", now); err == nil {
		t.Error("yesterday is read as a time")
	}
}
