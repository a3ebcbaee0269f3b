package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"amble/fetcher/capture"
	"amble/ratectl"
)

// crawlLogBytes is where crawl.jsonl is put aside as crawl-N.jsonl and begun anew.
const crawlLogBytes = 1 << 30

const crawlLogName = "crawl.jsonl"

// requestLine is a line of the crawl log about one request. Every key stands on every line.
type requestLine struct {
	Start      string        `json:"start"`
	Host       string        `json:"host"`
	Origin     string        `json:"origin"`
	Addr       string        `json:"addr"`
	URL        string        `json:"url"`
	Status     int           `json:"status"`
	Class      capture.Class `json:"class"`
	Mime       string        `json:"mime"`
	DialMS     float64       `json:"dial_ms"`
	TTFBMS     float64       `json:"ttfb_ms"`
	TotalMS    float64       `json:"total_ms"`
	Bytes      int64         `json:"bytes"`
	Via        string        `json:"via"`
	Hops       string        `json:"hops"`
	Seed       string        `json:"seed"`
	Attempt    int           `json:"attempt"`
	Resent     bool          `json:"resent"`
	IntervalMS float64       `json:"interval_ms"`
	NotBefore  string        `json:"not_before"`
	Next       string        `json:"next"`
	Cause      ratectl.Cause `json:"cause"`
	Signals    []string      `json:"signals"`
	Rules      string        `json:"rules"`
	Sent       bool          `json:"sent"`
	Outcome    string        `json:"outcome"`
	RedirectTo string        `json:"redirect_to"`
	Error      string        `json:"error"`
}

// eventLine is a line of the crawl log about something that is no request.
type eventLine struct {
	Event  string `json:"event"` // start, resume, stop, robots, seed-redirect, park, override
	Start  string `json:"start"`
	Host   string `json:"host"`
	Origin string `json:"origin"`
	Detail string `json:"detail"`
}

func logTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// appendLine adds v as one line of JSON. JSON strings hold no raw control characters, so one event stays one line
// whatever a site sends.
func appendLine(b []byte, v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return append(append(b, line...), '\n')
}

// crawlLog appends to JOB/crawl.jsonl. Its end is part of each transaction: what lies behind it after a crash was
// never acknowledged, and is cut off.
type crawlLog struct {
	dir string
	f   *os.File
	end int64
	// put aside so far: the name in the frontier's Ends is this number, because crawl.jsonl always is the newest.
	rotated int
	limit   int64
}

func (l *crawlLog) path() string { return filepath.Join(l.dir, crawlLogName) }

func (l *crawlLog) aside(n int) string {
	return filepath.Join(l.dir, fmt.Sprintf("crawl-%05d.jsonl", n))
}

// openCrawlLog cuts the log back to the committed end.
func openCrawlLog(dir, committed string, end int64) (*crawlLog, error) {
	l := &crawlLog{dir: dir, limit: crawlLogBytes, end: end}
	if committed != "" {
		n, err := strconv.Atoi(committed)
		if err != nil {
			return nil, fmt.Errorf("open the crawl log: its committed name is %q", committed)
		}
		l.rotated = n
	}
	// A rotation that was not committed is undone.
	if _, err := os.Stat(l.aside(l.rotated + 1)); err == nil {
		if err := os.Rename(l.aside(l.rotated+1), l.path()); err != nil {
			return nil, fmt.Errorf("open the crawl log: %w", err)
		}
	}
	f, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the crawl log: %w", err)
	}
	st, err := f.Stat()
	if err == nil && st.Size() < end {
		err = fmt.Errorf("%s has %d bytes where %d were committed: it was cut or replaced; restore it, or move it away and put an empty file of that length in its place", l.path(), st.Size(), end)
	}
	if err == nil && st.Size() > end {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the crawl log: %w", err), f.Close())
	}
	l.f = f
	return l, nil
}

// append writes whole lines durably.
func (l *crawlLog) append(lines []byte) error {
	if l.end+int64(len(lines)) > l.limit && l.end > 0 {
		if err := l.rotate(); err != nil {
			return fmt.Errorf("rotate the crawl log: %w", err)
		}
	}
	if _, err := l.f.Write(lines); err != nil {
		// Half a line must not stay for the next run to append to.
		return errors.Join(fmt.Errorf("write the crawl log: %w", err), l.f.Truncate(l.end))
	}
	l.end += int64(len(lines))
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("write the crawl log: %w", err)
	}
	return nil
}

func (l *crawlLog) rotate() error {
	if err := l.f.Close(); err != nil {
		return err
	}
	if err := os.Rename(l.path(), l.aside(l.rotated+1)); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	l.f, l.end = f, 0
	l.rotated++
	return nil
}

func (l *crawlLog) name() string { return strconv.Itoa(l.rotated) }

func (l *crawlLog) close() error {
	if err := l.f.Close(); err != nil {
		return fmt.Errorf("close the crawl log: %w", err)
	}
	return nil
}
