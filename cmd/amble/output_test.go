package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"amble/frontier"
	"amble/ratectl"
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
	some := scheduler.SeedCounts{Captured: 1}
	for _, c := range []struct {
		name   string
		job    string
		quiet  bool
		end    ending
		status scheduler.Status
		want   string // the last line
	}{
		{"finished", defaultJob, false, ending{}, scheduler.Status{End: "exhausted", Pages: 1234, Failed: 2, Seeds: some},
			"amble: finished: 1,234 pages, 2 failed, 0 pending. Use it: amble export --format jsonl -o pages.jsonl"},
		{"stopped", "my job", false, ending{}, scheduler.Status{End: "signal", Pages: 1, Queued: 10},
			"amble: stopped: 1 page, 0 failed, 10 pending. Go on: amble resume --job 'my job'"},
		{"limit", defaultJob, false, ending{}, scheduler.Status{End: "max_pages", Pages: 5, Queued: 10, Seeds: some},
			"amble: page limit reached: 5 pages, 0 failed, 10 pending. Go on: amble resume --max-pages N"},
		{"no seed", defaultJob, false, ending{}, scheduler.Status{End: "exhausted", Failed: 1, Seeds: scheduler.SeedCounts{Failed: 1}},
			"amble: ended, but no seed was captured: 0 pages, 1 failed, 0 pending. Try again: amble resume --retry-failed"},
		{"no seed, but pages", defaultJob, false, ending{}, scheduler.Status{End: "exhausted", Pages: 3, Seeds: scheduler.SeedCounts{Failed: 1}},
			"amble: ended, but no seed was captured: 3 pages, 0 failed, 0 pending. With other seeds: amble resume SEED..."},
		{"idle", defaultJob, false, ending{idle: true}, scheduler.Status{End: "exhausted", Pages: 5, Seeds: some},
			"amble: nothing to do, the crawl had finished: 5 pages, 0 failed, 0 pending. Use it: amble export --format jsonl -o pages.jsonl"},
		{"idle without a seed", defaultJob, false, ending{idle: true}, scheduler.Status{End: "exhausted", Failed: 1},
			"amble: nothing to do, the crawl had ended, but no seed was captured: 0 pages, 1 failed, 0 pending. Try again: amble resume --retry-failed"},
		{"demo", defaultJob, false, ending{say: demoEnd}, scheduler.Status{End: "waiting", Pages: 5, Queued: 1, Seeds: some},
			"amble: the demo's crawl is over: 5 pages, 0 failed, 1 pending. What its web says of it:"},
		{"quiet", defaultJob, true, ending{}, scheduler.Status{End: "exhausted", Pages: 5, Seeds: some}, ""},
		{"quiet but stopped", defaultJob, true, ending{}, scheduler.Status{End: "signal", Pages: 5, Queued: 1},
			"amble: stopped: 5 pages, 0 failed, 1 pending. Go on: amble resume"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			cli := &cli{stderr: &out, job: c.job, quiet: c.quiet}
			_ = conclude(cli, newScreen(cli), c.status, c.end)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			// The status of the job never sends to the status.
			out.Reset()
			cli.stdout = &out
			writeStatus(cli, c.status, false, time.Now())
			if strings.Contains(out.String(), "amble status") {
				t.Errorf("status points to itself:\n%s", out.String())
			}
		})
	}
}

func TestConcludeWaiting(t *testing.T) {
	next := scheduler.Moment{Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)}
	status := scheduler.Status{
		End: "waiting", Pages: 3, Requests: 1, Hosts: 1, Queued: 9, NextHost: "slow.example", NextStart: next, NextCause: "retry-after",
		Skipped: map[string]int64{"robots": 5, "scope": 12, "depth": 0}, Classes: map[string]int64{"ok": 3, "timeout-head": 2},
	}
	var out bytes.Buffer
	cli := &cli{stderr: &out, job: defaultJob}
	err := conclude(cli, newScreen(cli), status, ending{took: time.Minute})
	if !errors.Is(err, errStopped) {
		t.Errorf("waiting ends with %v", err)
	}
	for _, want := range []string{
		"skipped: 12 scope, 5 robots\n", "attempts that did not go well: 2 timeout-head\n", "0 B in 1 request to 1 host, 1m0s\n",
		"next is slow.example at 2026-03-04 05:06:07 " + next.Format("-07:00") + ", Retry-After)", "9 pending. Go on: amble resume\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if n := attempts(status); n != 5 {
		t.Errorf("%d attempts, want 5", n)
	}
}

func TestDescribePace(t *testing.T) {
	for floor, want := range map[time.Duration]string{
		0:                      "no pause between the requests to a host but what it asks for",
		500 * time.Millisecond: "at most one request per host each 500ms; each host starts at 1s and speeds up as it bears",
		2 * time.Second:        "at most one request per host each 2s, and fewer where a host does not bear that",
	} {
		if got := describePace(floor); got != want {
			t.Errorf("describePace(%s) = %q, want %q", floor, got, want)
		}
	}
	// It is the controller's own start.
	var host ratectl.State
	if d, _ := host.Interval(ratectl.Config{Floor: 500 * time.Millisecond, Ceiling: 30 * time.Second}); d != firstInterval {
		t.Errorf("a host starts at %s, and the user is told %s", d, firstInterval)
	}
}

func TestSignalsHeard(t *testing.T) {
	begin := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	type heard struct {
		signal os.Signal
		after  time.Duration // from the first
	}
	for _, c := range []struct {
		name    string
		signals []heard
		want    []int
	}{
		{"one", []heard{{os.Interrupt, 0}}, []int{1}},
		{"passed on by a wrapper", []heard{{os.Interrupt, 0}, {os.Interrupt, 149 * time.Millisecond}}, []int{1, 0}},
		{"twice", []heard{{os.Interrupt, 0}, {os.Interrupt, 150 * time.Millisecond}}, []int{1, 2}},
		{"twice, each passed on", []heard{{os.Interrupt, 0}, {os.Interrupt, 1}, {os.Interrupt, time.Second}, {os.Interrupt, time.Second + 1}}, []int{1, 0, 2, 0}},
		{"another signal", []heard{{os.Interrupt, 0}, {syscall.SIGTERM, 1}}, []int{1, 2}},
	} {
		var h signalsHeard
		for i, s := range c.signals {
			if got := h.count(s.signal, begin.Add(s.after)); got != c.want[i] {
				t.Errorf("%s: signal %d counts as %d, want %d", c.name, i, got, c.want[i])
			}
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 9999: "9999", 56789: "56k", 9_999_999: "9999k", 12_345_678: "12M", 5e12: "5000G"} {
		if got := roughly(n); got != want {
			t.Errorf("roughly(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 hosts", 1: "1 host", 2: "2 hosts", 1000: "1,000 hosts"} {
		if got := plural(n, "host"); got != want {
			t.Errorf("plural(%d) = %s, want %s", n, got, want)
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
