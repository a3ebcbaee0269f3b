package storage

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nlnwa/gowarc/v3"

	"amble/storage/warc"
)

func bytesOf(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// kinds are exchanges of all kinds that are stored differently.
func kinds(t testing.TB) map[string]exchange {
	text := []byte(strings.Repeat("<p>The quick brown fox jumps over the lazy dog.\n", 400))
	zipped := gzipped(t, text)
	big := bytesOf(3<<20, 7)
	length := func(b []byte) string { return fmt.Sprintf("\r\nContent-Length: %d", len(b)) }
	return map[string]exchange{
		"text":            {url: "http://a.example/text", head: "HTTP/1.1 200 OK\r\nContent-Type: text/html" + length(text), body: text},
		"binary":          {url: "http://a.example/binary", head: "HTTP/1.1 200 OK\r\nContent-Type: image/png" + length(zipped), body: bytesOf(9000, 1)},
		"empty":           {url: "http://a.example/empty", head: "HTTP/1.1 200 OK\r\nContent-Length: 0", body: []byte{}},
		"no body":         {url: "http://a.example/204", head: "HTTP/1.1 204 No Content"},
		"304":             {url: "http://a.example/304", head: "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nTransfer-Encoding: chunked"},
		"empty reason":    {url: "http://a.example/reason", head: "HTTP/1.1 200 \r\nContent-Length: 2", body: []byte("ok")},
		"chunked":         {url: "http://a.example/chunked", head: "HTTP/1.1 200 OK\r\ntransfer-encoding:  chunked\r\nX-A: 1", body: text, chunked: true},
		"chunked empty":   {url: "http://a.example/chunked0", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", body: []byte{}, chunked: true},
		"chunked length":  {url: "http://a.example/both", head: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked", body: text, chunked: true},
		"gzip":            {url: "http://a.example/gzip", head: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip" + length(zipped), body: zipped},
		"gzip chunked":    {url: "http://a.example/gzc", head: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked", body: zipped, chunked: true},
		"latin1":          {url: "http://a.example/latin1", head: "HTTP/1.1 200 OK\r\nX-City: M\xfcnchen\r\nContent-Length: 9", body: []byte("Gr\xfc\xdfe \xe4\xf6\xfc")},
		"redirect":        {url: "http://a.example/redirect", head: "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0"},
		"cut":             {url: "http://a.example/cut", head: "HTTP/1.1 200 OK\r\nContent-Length: 99999999", body: text[:777], truncated: "length"},
		"cut chunked":     {url: "http://a.example/cutc", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", body: text[:777], chunked: true, truncated: "disconnect"},
		"3 MB":            {url: "http://a.example/big", head: "HTTP/1.1 200 OK\r\nContent-Type: application/zip" + length(big), body: big},
		"3 MB chunked":    {url: "http://a.example/bigc", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", body: big, chunked: true},
		"without request": {url: "http://a.example/noreq", head: "HTTP/1.1 200 OK\r\nContent-Length: 2", body: []byte("ok"), noRequest: true},
	}
}

func TestRoundTrip(t *testing.T) {
	for name, x := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			job, a := newJob(t, testOptions())
			m := Meta{
				Via: "http://a.example/", Hops: "LR", Depth: 1, Seed: "http://a.example/", Charset: "utf-8", Lang: "en",
				Title: "T\u00eft \u2028 le\r\nX: y\x00", Canonical: "http://a.example/c", RobotsMeta: "noindex", RedirectTo: "http://a.example/x",
				MediaType: "text/html", Bytes: 12, ContentDigest: [32]byte{1, 2}, HasContent: true, DecodedCut: true, Attempt: 2,
				Outlinks: []string{"http://a.example/1", "http://b.example/2"},
			}
			e := encode(t, a, x, m)
			if want := sha256.Sum256(x.body); e.PayloadDigest != want {
				t.Errorf("payload digest %x, want %x", e.PayloadDigest, want)
			}
			at, err := a.Append([]*Encoded{e})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := a.ReadAt(at[0])
			if err != nil {
				t.Fatal(err)
			}
			checkRecord(t, rec, x, m, e)

			ends := syncArchive(t, a)
			r, err := OpenReader(job, &ends)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			entry, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if rec, err = r.Record(&entry); err != nil {
				t.Fatal(err)
			}
			checkRecord(t, rec, x, m, e)
			if entry.Offset != at[0].Offset || entry.Length != at[0].Length || entry.End() != ends.End {
				t.Errorf("entry %+v does not fit %+v and %+v", entry, at[0], ends)
			}
		})
	}
}

func checkRecord(t *testing.T, rec *Record, x exchange, m Meta, e *Encoded) {
	t.Helper()
	body, err := io.ReadAll(rec.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Payload.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, x.body) {
		t.Errorf("payload of %d bytes differs from the %d received", len(body), len(x.body))
	}
	if rec.PayloadBytes != int64(len(x.body)) || rec.PayloadDigest != e.PayloadDigest {
		t.Errorf("payload said to be %d bytes, %x", rec.PayloadBytes, rec.PayloadDigest)
	}
	m.ID = e.entry.ID.String()
	m.Title = "T\u00eft   le  X: y"
	if d := cmp.Diff(m, rec.Meta); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	head := appendStoredHead(nil, []byte(x.head+"\r\n\r\n"), headStatus([]byte(x.head)), int64(len(x.body)))
	if string(rec.Head) != string(head) {
		t.Errorf("head %q, want %q", rec.Head, head)
	}
	if rec.URL.String() != x.url || !rec.Start.Equal(testTime) || rec.Truncated != x.truncated || rec.Addr.String() != "192.0.2.7" {
		t.Errorf("url %s, start %s, truncated %q, address %s", rec.URL, rec.Start, rec.Truncated, rec.Addr)
	}
	if rec.TTFB.Microseconds() != 12345 || rec.Total.Milliseconds() != 80 {
		t.Errorf("ttfb %s, total %s", rec.TTFB, rec.Total)
	}
	if got := len(rec.RequestHead) > 0; got == x.noRequest {
		t.Errorf("request %q", rec.RequestHead)
	}
}

func TestStoredHead(t *testing.T) {
	const end = "\r\n\r\n"
	tests := []struct{ name, in, want string }{
		{"as received", "HTTP/1.1 200 OK\r\nB: 2\r\na: 1\r\na: 1" + end, "HTTP/1.1 200 OK\r\nB: 2\r\na: 1\r\na: 1" + end},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1" + end, "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nA: 1\r\nContent-Length: 5" + end},
		{"case and blanks", "HTTP/1.1 200 OK\r\ntRANSFER-encoding :\tChunked " + end, "HTTP/1.1 200 OK\r\nX-Crawler-tRANSFER-encoding :\tChunked \r\nContent-Length: 5" + end},
		{"folded", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked" + end, "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding:\r\n chunked\r\nContent-Length: 5" + end},
		{"void length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked" + end, "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 9\r\nX-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 5" + end},
		{"no body by status", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked" + end, "HTTP/1.1 304 Not Modified\r\nX-Crawler-Transfer-Encoding: chunked" + end},
		{"LF alone", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "HTTP/1.1 200 OK\nX-Crawler-Transfer-Encoding: chunked\nContent-Length: 5\n\n"},
		{"only in a value", "HTTP/1.1 200 OK\r\nX: Transfer-Encoding: chunked" + end, "HTTP/1.1 200 OK\r\nX: Transfer-Encoding: chunked" + end},
		{"identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity" + end, "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity" + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := appendStoredHead([]byte("kept "), []byte(tt.in), headStatus([]byte(tt.in)), 5)
			if string(got) != "kept "+tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// WA-01: one payload digest however the body was framed.
func TestPayloadDigestWithoutFraming(t *testing.T) {
	_, a := newJob(t, testOptions())
	body := []byte("hello world")
	sum := sha1.Sum(body)
	if got := base32.StdEncoding.EncodeToString(sum[:]); got != "FKXGYNOJJ7H3IFO35FPUBC445EPOQRXN" {
		t.Fatalf("the body is not the case's: %s", got)
	}
	plain := encode(t, a, exchange{url: "http://a.example/1", head: "HTTP/1.1 200 OK\r\nContent-Length: 11", body: body}, Meta{})
	chunked := encode(t, a, exchange{url: "http://a.example/2", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", body: body, chunked: true}, Meta{})
	want := sha256.Sum256(body)
	if plain.PayloadDigest != want || chunked.PayloadDigest != want {
		t.Errorf("digests %x and %x, want %x", plain.PayloadDigest, chunked.PayloadDigest, want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	_, a := newJob(t, testOptions())
	b := newBudget(t)
	c := page(1).capture(t, b)
	c.Head = nil
	if _, err := a.Encode(c, Meta{}, b); !errors.Is(err, ErrNoResponse) {
		t.Errorf("without a head: %v", err)
	}
	for _, head := range []string{"HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", warc.MaxHeaderBytes) + "\r\n\r\n"} {
		c.Head = []byte(head)
		if _, err := a.Encode(c, Meta{}, b); err == nil || !strings.Contains(err.Error(), "response head") {
			t.Errorf("head of %d bytes: %v", len(head), err)
		}
	}
	if _, err := a.Encode(page(1).capture(t, b), Meta{Title: strings.Repeat("x", maxMetadataBytes)}, b); err == nil || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("endless title: %v", err)
	}
	if _, err := a.Encode(page(1).capture(t, b), Meta{Kind: "feed"}, b); err == nil || !strings.Contains(err.Error(), `"feed"`) {
		t.Errorf("unknown kind: %v", err)
	}
}

// WA-02 and WA-04 (c): the files pass a strict reader of another's make, every digest included, and hold one record in
// each gzip member.
func TestStrictReader(t *testing.T) {
	job, a := newJob(t, testOptions())
	n := 1
	for _, x := range kinds(t) {
		appendAll(t, a, x)
		n += 3
		if x.noRequest {
			n--
		}
	}
	syncArchive(t, a)
	closeArchive(t, a)
	files, err := filepath.Glob(filepath.Join(job, DirName, "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if got := strictRead(t, files[0]); got != n {
		t.Errorf("%d records, want %d", got, n)
	}
	list := members(t, files[0])
	if len(list) != n {
		t.Errorf("%d members, want %d", len(list), n)
	}
	for i, m := range list {
		if c := bytes.Count(m, []byte("WARC-Record-ID: ")); c != 1 || !bytes.HasSuffix(m, []byte("\r\n\r\n")) {
			t.Errorf("member %d: %d records, ends in %q", i, c, m[max(0, len(m)-4):])
		}
	}
	checkLinks(t, files[0])
}

// strictRead reads a file with gowarc and counts the records.
func strictRead(t *testing.T, path string) int {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := 0; ; n++ {
		rec, err := r.Next()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		for _, v := range rec.Validation {
			t.Errorf("record %d at %d: %v", n, rec.Offset, v)
		}
		vs, err := rec.WarcRecord.ValidateDigest()
		if err != nil {
			t.Errorf("record %d (%s): digest: %v", n, rec.WarcRecord.Type(), err)
		}
		for _, v := range vs {
			t.Errorf("record %d: %v", n, v)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLinks asserts how the records of a capture belong together.
func checkLinks(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := warc.NewReader(f, 0)
	z.Strict = true
	var info, response, date, uri string
	for {
		rec, err := z.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Type() {
		case warc.TypeWarcinfo:
			info = rec.Get("WARC-Record-ID")
			if got := rec.Get("WARC-Filename"); got != filepath.Base(path) {
				t.Errorf("WARC-Filename %q", got)
			}
			continue
		case warc.TypeResponse:
			response, date, uri = rec.Get("WARC-Record-ID"), rec.Get("WARC-Date"), rec.TargetURI()
			if date != "2026-12-01T14:00:00.123456Z" {
				t.Errorf("WARC-Date %q", date)
			}
			if got := rec.Get("Content-Type"); got != warc.ContentResponse {
				t.Errorf("Content-Type %q", got)
			}
		default:
			if rec.Get("WARC-Concurrent-To") != response || rec.Get("WARC-Payload-Digest") != "" {
				t.Errorf("%s of %s: fields %v", rec.Type(), uri, rec.Fields)
			}
		}
		if rec.Get("WARC-Warcinfo-ID") != info || rec.Get("WARC-Date") != date || rec.TargetURI() != uri ||
			rec.Get("WARC-IP-Address") != "192.0.2.7" || !strings.HasPrefix(rec.Get("WARC-Block-Digest"), "sha256:") {
			t.Errorf("%s of %s: fields %v", rec.Type(), uri, rec.Fields)
		}
	}
}

// More outlinks than a record may hold: what is archived can be read back.
func TestManyOutlinks(t *testing.T) {
	_, a := newJob(t, testOptions())
	links := make([]string, 20_000)
	for i := range links {
		links[i] = fmt.Sprintf("http://a.example/%s/%d", strings.Repeat("x", 1000), i)
	}
	at, err := a.Append([]*Encoded{encode(t, a, page(1), Meta{Outlinks: links})})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := a.ReadAt(at[0])
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Payload.Close()
	if got := rec.Meta.Outlinks; len(got) < 8000 || len(got) == len(links) || !slices.Equal(got, links[:len(got)]) {
		t.Errorf("%d outlinks", len(got))
	}
}

func TestEncodeConcurrently(t *testing.T) {
	_, a := newJob(t, testOptions())
	b := newBudget(t)
	type made struct {
		i int
		e *Encoded
	}
	out := make(chan made)
	const n = 40
	for i := range n {
		c := page(i).capture(t, b)
		go func() { // ends when its capture is taken below
			e, err := a.Encode(c, Meta{MediaType: "text/html"}, b)
			if err != nil {
				t.Error(err)
			}
			out <- made{i, e}
		}()
	}
	es := make([]*Encoded, n)
	for range n {
		m := <-out
		es[m.i] = m.e
	}
	at, err := a.Append(es)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range es {
		e.Close()
		e.Close()
		rec, err := a.ReadAt(at[i])
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(rec.Payload)
		if err != nil || !bytes.Equal(body, page(i).body) {
			t.Errorf("capture %d differs: %v", i, err)
		}
		if err := rec.Payload.Close(); err != nil {
			t.Error(err)
		}
	}
}
