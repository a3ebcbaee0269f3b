package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amble/fetcher/capture"
	"amble/frontier/canon"
	"amble/storage"
	"amble/storage/warc"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testTime = time.Date(2026, 12, 1, 14, 0, 0, 120000000, time.UTC)

// shot is a capture of the test job.
type shot struct {
	url, head string
	body      []byte
	meta      storage.Meta
	truncated string
	after     time.Duration // from testTime
}

func ok(mime string, body []byte, more ...string) string {
	return strings.Join(append([]string{"HTTP/1.1 200 OK", "Content-Type: " + mime, fmt.Sprintf("Content-Length: %d", len(body))}, more...), "\r\n") + "\r\n\r\n"
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func shots() []shot {
	const seed = "http://www.example.com/"
	html := []byte("<html lang=en><title>Home</title><p>Grüße</html>")
	latin := []byte("<title>M\xfcnchen</title>")
	return []shot{
		{url: "http://www.example.com/robots.txt", head: ok("text/plain", []byte("User-agent: *\n")), body: []byte("User-agent: *\n"),
			meta: storage.Meta{Kind: storage.KindRobots, Hops: "P", Seed: seed, MediaType: "text/plain", Bytes: 14, HasContent: true}},
		{url: seed, head: ok("text/html; charset=utf-8", html, `ETag: "v1"`, "Last-Modified: Mon, 30 Nov 2026 00:00:00 GMT"), body: html,
			meta: storage.Meta{Seed: seed, MediaType: "text/html", Charset: "utf-8", Lang: "en", Title: "Home", Bytes: int64(len(html)),
				HasContent: true, ContentDigest: [32]byte{0xaa}, Canonical: seed, Attempt: 1}},
		{url: "http://www.example.com/a,b?q=\"1\"", head: "HTTP/1.1 301 Moved\r\nLocation: /latin\r\nContent-Length: 0\r\n\r\n", after: time.Minute,
			meta: storage.Meta{Via: seed, Hops: "L", Depth: 1, Seed: seed, RedirectTo: "http://www.example.com/latin"}},
		{url: "http://www.example.com/latin", head: ok("text/html", latin), body: latin, after: 2 * time.Minute,
			meta: storage.Meta{Via: seed, Hops: "LR", Depth: 1, Seed: seed, MediaType: "text/html", Charset: "windows-1252", Title: "=HYPERLINK(\"http://evil.example\")",
				Bytes: int64(len(latin)), HasContent: true}},
		{url: "https://sub.example.com:8443/x.png", head: ok("image/png", []byte("\x89PNG\x00")), body: []byte("\x89PNG\x00"), after: time.Hour,
			meta: storage.Meta{Via: seed, Hops: "LE", Depth: 1, Seed: "https://sub.example.com:8443/", MediaType: "image/png", Bytes: 5, HasContent: true}},
		{url: "http://www.example.com/missing", head: "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n", body: []byte("none"), after: 2 * time.Hour,
			meta: storage.Meta{Via: seed, Hops: "L", Depth: 1, Seed: seed, MediaType: "text/html", Bytes: 4, HasContent: true, RobotsMeta: "NoIndex, follow"}},
		{url: "http://www.example.com/gz", head: ok("text/html", gzipped("<p>zipped"), "Content-Encoding: gzip"), body: gzipped("<p>zipped"), truncated: "length", after: 3 * time.Hour,
			meta: storage.Meta{Via: seed, Hops: "L", Depth: 1, Seed: seed, MediaType: "text/html", Charset: "utf-8", Bytes: 9, HasContent: true}},
		{url: seed, head: ok("text/html", []byte("new")), body: []byte("new"), after: 24 * time.Hour,
			meta: storage.Meta{Seed: seed, MediaType: "text/html", Title: "-1+1", Bytes: 3, HasContent: true, DecodedCut: true}},
	}
}

// newJob archives shots in segments of segmentBytes and gives the job's folder and the committed end.
func newJob(t testing.TB, shots []shot, segmentBytes int64) (string, storage.Ends) {
	t.Helper()
	job := t.TempDir()
	n := uint32(0)
	a, err := storage.Create(filepath.Join(job, storage.DirName), storage.Options{
		Prefix: "TEST", SegmentBytes: segmentBytes, Now: func() time.Time { return testTime },
		NewIDs: func(ids []warc.ID) {
			for i := range ids {
				n++
				ids[i] = warc.ID{6: 0x40, 8: 0x80}
				binary.BigEndian.PutUint32(ids[i][12:], n)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	budget := capture.NewBudget("", 64<<20)
	for _, s := range shots {
		u, err := canon.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		c := &capture.Capture{URL: u, Start: testTime.Add(s.after), Addr: netip.MustParseAddrPort("192.0.2.1:80"), Sent: true,
			Phases: capture.Phases{TTFB: 12600 * time.Microsecond, Total: 20 * time.Millisecond}, Truncated: s.truncated,
			RequestHead: []byte("GET " + u.RequestTarget() + " HTTP/1.1\r\nHost: " + u.Host() + "\r\n\r\n"), Head: []byte(s.head), Header: http.Header{}}
		if strings.Contains(s.head, "Content-Encoding: gzip") {
			c.Header.Set("Content-Encoding", "gzip")
		}
		if s.body != nil {
			c.Body = budget.NewSpool()
			if _, err := c.Body.Write(s.body); err != nil {
				t.Fatal(err)
			}
		}
		e, err := a.Encode(c, s.meta, budget)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Append([]*storage.Encoded{e}); err != nil {
			t.Fatal(err)
		}
		e.Close()
		if err := c.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ends, err := a.Sync()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return job, ends
}

func runString(t testing.TB, job string, opt Options) (string, Stats) {
	t.Helper()
	var out bytes.Buffer
	opt.Stdout = &out
	stats, err := Run(context.Background(), job, opt)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Bytes != int64(out.Len()) || len(stats.Files) != 0 {
		t.Errorf("stats %+v of %d bytes", stats, out.Len())
	}
	return out.String(), stats
}

var machine = regexp.MustCompile(`(TEST-\d{17}-\d{5})-[\w.-]+?\.warc\.gz`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = machine.ReplaceAllString(got, "$1-HOST.warc.gz")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// steady takes what depends on the machine's name and on the compressor out of the golden files; TestWhereRecordsLie
// checks those columns.
var steady = regexp.MustCompile(`("warc_record_(?:offset|length)":)\d+`)

func TestJSONLGolden(t *testing.T) {
	job, ends := newJob(t, shots(), 1e9)
	got, stats := runString(t, job, Options{Format: "jsonl", End: &ends, Body: true})
	if stats.Captures != 7 || stats.Withheld != 1 {
		t.Errorf("stats %+v", stats)
	}
	golden(t, "captures.jsonl", steady.ReplaceAllString(got, "${1}0"))
}

func TestCSVGolden(t *testing.T) {
	job, ends := newJob(t, shots(), 1e9)
	got, stats := runString(t, job, Options{Format: "csv", End: &ends})
	if stats.Captures != 7 {
		t.Errorf("stats %+v", stats)
	}
	if n := strings.Count(got, "\r\n"); n != 8 || !strings.HasSuffix(got, "\r\n") {
		t.Errorf("%d lines end in CRLF", n)
	}
	golden(t, "captures.csv", regexp.MustCompile(`,\d+,\d+\r\n`).ReplaceAllString(got, ",0,0\r\n"))
}

// Every line has every key of the contract in its order, with one type, and csv says the same.
func TestTablesAgree(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	lines, _ := runString(t, job, Options{Format: "jsonl"})
	table, _ := runString(t, job, Options{Format: "csv"})
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	contract := strings.Fields("id url host fetched_at status mime charset lang title bytes content_digest payload_digest depth via hops seed " +
		"redirect_to canonical robots_meta etag last_modified ttfb_ms truncated warc_filename warc_record_offset warc_record_length")
	if d := cmp.Diff(contract, rows[0]); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		for j, key := range contract {
			k, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			v, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			_, number := v.(json.Number)
			if isNumber := slices.Contains([]string{"status", "bytes", "depth", "ttfb_ms", "warc_record_offset", "warc_record_length"}, key); number != isNumber {
				t.Errorf("line %d: %s is %T", i, key, v)
			}
			cell := rows[i+1][j]
			if k != key || fmt.Sprint(v) != strings.TrimPrefix(cell, "'") {
				t.Errorf("line %d: %v is %v, want %s, in csv %q", i, k, v, key, cell)
			}
		}
	}
}

// The columns lead to the record.
func TestWhereRecordsLie(t *testing.T) {
	job, _ := newJob(t, shots(), 3000)
	lines, _ := runString(t, job, Options{Format: "jsonl"})
	for line := range strings.Lines(lines) {
		var row struct {
			ID       string `json:"id"`
			URL      string `json:"url"`
			Payload  string `json:"payload_digest"`
			Filename string `json:"warc_filename"`
			Offset   int64  `json:"warc_record_offset"`
			Length   int64  `json:"warc_record_length"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(job, storage.DirName, row.Filename)
		if _, err := os.Stat(path); err != nil {
			path += ".open"
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(raw[row.Offset : row.Offset+row.Length]))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"WARC-Type: response\r\n", "<urn:uuid:" + row.ID + ">", "WARC-Target-URI: " + row.URL + "\r\n", "WARC-Payload-Digest: " + row.Payload + "\r\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: the record does not say %q", row.URL, want)
			}
		}
	}
}

func TestBodies(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	for _, include := range []bool{false, true} {
		lines, stats := runString(t, job, Options{Format: "jsonl", Body: true, IncludeNoindex: include})
		want := map[string][2]string{
			"http://www.example.com/latin":       {"<title>München</title>", ""},
			"https://sub.example.com:8443/x.png": {"", base64.StdEncoding.EncodeToString([]byte("\x89PNG\x00"))},
			"http://www.example.com/missing":     {"", ""},
			"http://www.example.com/gz":          {"<p>zipped", ""},
		}
		withheld := int64(1)
		if include {
			want["http://www.example.com/missing"], withheld = [2]string{"none", ""}, 0
		}
		if stats.Withheld != withheld {
			t.Errorf("withheld %d", stats.Withheld)
		}
		for line := range strings.Lines(lines) {
			var row struct {
				URL  string  `json:"url"`
				Body *string `json:"body"`
				Raw  *string `json:"body_base64"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.Body == nil || row.Raw == nil {
				t.Fatalf("%v: %s", err, line)
			}
			if w, ok := want[row.URL]; ok && w != [2]string{*row.Body, *row.Raw} {
				t.Errorf("%s: %q, %q", row.URL, *row.Body, *row.Raw)
			}
		}
	}
}
