package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"amble/fetcher/capture"
	"amble/frontier/canon"
	"amble/storage/warc"
)

var testTime = time.Date(2026, 12, 1, 14, 0, 0, 123456000, time.UTC)

// fixedIDs draws ids that count.
func fixedIDs() func([]warc.ID) {
	var n atomic.Uint64
	return func(ids []warc.ID) {
		for i := range ids {
			ids[i] = warc.ID{6: 0x40, 8: 0x80}
			binary.BigEndian.PutUint32(ids[i][12:], uint32(n.Add(1)))
		}
	}
}

func testOptions() Options {
	return Options{
		SegmentBytes: 1e9,
		Info:         [][2]string{{"software", "Amble/test"}, {"robots", "classic"}},
		Now:          func() time.Time { return testTime },
		NewIDs:       fixedIDs(),
	}
}

// exchange is a capture to be made.
type exchange struct {
	url       string
	head      string // without the empty line
	body      []byte
	chunked   bool
	truncated string
	noRequest bool
}

func (x exchange) capture(t testing.TB, budget *capture.Budget) *capture.Capture {
	t.Helper()
	u, err := canon.Parse(x.url)
	if err != nil {
		t.Fatal(err)
	}
	head := x.head + "\r\n\r\n"
	c := &capture.Capture{
		URL: u, Start: testTime, End: testTime.Add(80 * time.Millisecond),
		Addr:   netip.MustParseAddrPort("[::ffff:192.0.2.7]:80"),
		Phases: capture.Phases{TTFB: 12345 * time.Microsecond, Total: 80 * time.Millisecond},
		Sent:   true, Head: []byte(head), Status: headStatus([]byte(head)), Header: parseHeader(head),
		Chunked: x.chunked, Truncated: x.truncated,
	}
	if !x.noRequest {
		c.RequestHead = []byte("GET " + u.RequestTarget() + " HTTP/1.1\r\nHost: " + u.Host() + "\r\nUser-Agent: Amble/1\r\nAccept-Encoding: gzip\r\n\r\n")
	}
	if x.body != nil {
		c.Body = budget.NewSpool()
		if _, err := c.Body.Write(x.body); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Body.Close() })
	}
	return c
}

func parseHeader(head string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Add(name, strings.TrimSpace(value))
		}
	}
	return h
}

func page(i int) exchange {
	body := fmt.Sprintf("<html><title>Page %d</title>%s</html>", i, strings.Repeat(fmt.Sprintf("<p>text %d", i*7919), 20+i%7))
	return exchange{
		url:  fmt.Sprintf("http://www.example.com/page/%d", i),
		head: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d", len(body)),
		body: []byte(body),
	}
}

func newBudget(testing.TB) *capture.Budget { return capture.NewBudget("", 64<<20) }

func encode(t testing.TB, a *Archive, x exchange, m Meta) *Encoded {
	t.Helper()
	b := newBudget(t)
	if m.MediaType == "" {
		m.MediaType = "text/html"
	}
	e, err := a.Encode(x.capture(t, b), m, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func appendAll(t testing.TB, a *Archive, xs ...exchange) []Position {
	t.Helper()
	var es []*Encoded
	for _, x := range xs {
		es = append(es, encode(t, a, x, Meta{}))
	}
	at, err := a.Append(es)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func syncArchive(t testing.TB, a *Archive) Ends {
	t.Helper()
	ends, err := a.Sync()
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

func pages(from, to int) []exchange {
	var xs []exchange
	for i := from; i < to; i++ {
		xs = append(xs, page(i))
	}
	return xs
}

// newJob makes an archive in a new job folder.
func newJob(t testing.TB, opt Options) (job string, a *Archive) {
	t.Helper()
	job = t.TempDir()
	a, err := Create(filepath.Join(job, DirName), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return job, a
}

func closeArchive(t testing.TB, a *Archive) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// readAll reads the whole archive with OpenReader.
func readAll(t testing.TB, job string, end *Ends) []Entry {
	t.Helper()
	es, err := tryReadAll(job, end)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

func tryReadAll(job string, end *Ends) ([]Entry, error) {
	r, err := OpenReader(job, end)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var es []Entry
	for {
		e, err := r.Next()
		if err == io.EOF {
			return es, nil
		}
		if err != nil {
			return es, err
		}
		rec, err := r.Record(&e)
		if err != nil {
			return es, err
		}
		if _, err := io.Copy(io.Discard, rec.Payload); err != nil {
			return es, err
		}
		if err := rec.Payload.Close(); err != nil {
			return es, err
		}
		es = append(es, e)
	}
}

func urlsOf(es []Entry) []string {
	var us []string
	for _, e := range es {
		us = append(us, e.URL)
	}
	return us
}

func wantPages(t testing.TB, es []Entry, n int) {
	t.Helper()
	got := urlsOf(es)
	if len(got) != n {
		t.Fatalf("%d captures, want %d: %q", len(got), n, got)
	}
	for i, u := range got {
		if want := page(i).url; u != want {
			t.Fatalf("capture %d is %s, want %s", i, u, want)
		}
	}
}

// members splits a file into its gzip members with the standard library.
func members(t testing.TB, path string) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	br := bytes.NewReader(raw)
	var list [][]byte
	for br.Len() > 0 {
		z, err := gzip.NewReader(br)
		if err != nil {
			t.Fatalf("%s: member %d: %v", path, len(list), err)
		}
		z.Multistream(false)
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: member %d: %v", path, len(list), err)
		}
		list = append(list, b)
	}
	return list
}

func dirNames(t testing.TB, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
