package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func member(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func record(version, kind, eol, block string) string {
	head := []string{version, "WARC-Type: " + kind, "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
		"content-length: " + itoa(len(block)), "", ""}
	return strings.Join(head, eol) + block
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

type read struct {
	Type, Version, Block string
	Offset               int64
}

func readRecords(z *Reader) ([]read, error) {
	var list []read
	for {
		rec, err := z.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		b, err := io.ReadAll(rec)
		if err != nil {
			return list, err
		}
		list = append(list, read{rec.Type(), rec.Version, string(b), rec.Offset})
	}
}

func TestReader(t *testing.T) {
	one := record("WARC/1.1", "response", "\r\n", "one") + Trailer
	two := record("WARC/1.0", "request", "\r\n", "") + Trailer
	lf := record("WARC/1.0", "Resource", "\n", "a\nb") + "\n\n"
	m1, m2 := member(t, one), member(t, two)
	tests := []struct {
		name   string
		file   string
		want   []read
		strict bool // taken by a strict reader too
	}{
		{"empty", "", nil, true},
		{"members", m1 + m2, []read{{"response", "1.1", "one", 0}, {"request", "1.0", "", int64(len(m1))}}, true},
		{"plain", one + two, []read{{"response", "1.1", "one", 0}, {"request", "1.0", "", int64(len(one))}}, true},
		{"one member for all", member(t, one+two), []read{{"response", "1.1", "one", 0}, {"request", "1.0", "", 0}}, false},
		{"LF", lf + lf, []read{{"resource", "1.0", "a\nb", 0}, {"resource", "1.0", "a\nb", int64(len(lf))}}, false},
		{"too many line ends", one + "\r\n\r\n" + two, []read{{"response", "1.1", "one", 0}, {"request", "1.0", "", int64(len(one)) + 4}}, false},
		{"no line ends at the end", member(t, record("WARC/1.1", "response", "\r\n", "one")), []read{{"response", "1.1", "one", 0}}, false},
		{"folded", "WARC/1.0\r\nWARC-Type:\r\n response\r\nContent-Length: 0" + Trailer + Trailer, []read{{"response", "1.0", "", 0}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readRecords(NewReader(strings.NewReader(tt.file), 0))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			z := NewReader(strings.NewReader(tt.file), 0)
			z.Strict = true
			if _, err := readRecords(z); (err == nil) != tt.strict {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	good := member(t, record("WARC/1.1", "response", "\r\n", "hello")+Trailer)
	flipped := []byte(good)
	flipped[len(flipped)-6] ^= 1
	base := int64(len(good))
	tests := []struct {
		name, file string
		want       string
		cut        bool
	}{
		{"no WARC", "<html>\n", "version line", false},
		{"cut plain header", "WARC/1.1\r\nWARC-Type: x\r\n", "header is cut", true},
		{"no length", "WARC/1.1\r\nWARC-Type: x\r\n\r\n", "Content-Length", false},
		{"negative length", "WARC/1.1\r\nContent-Length: -1\r\n\r\n", "Content-Length", false},
		{"huge length", "WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "Content-Length", false},
		{"no colon", "WARC/1.1\r\nabc\r\n\r\n", "without a name", false},
		{"cut block", "WARC/1.1\r\nContent-Length: 7\r\n\r\nabc", "ends 4 bytes early", true},
		{"cut member", good[:len(good)-12], "", true},
		{"cut checksum", good[:len(good)-3], "", true},
		{"bad checksum", string(flipped), "checksum", false},
		{"garbage behind", "\x00\x00\x00\x00\n", "version line", false},
		{"bad gzip header", "\x1f\x8b\x08\xff", "", true},
		{"endless line", "WARC/1.1\r\nA: " + strings.Repeat("x", MaxHeaderBytes), "longer than", false},
		{"endless fields", "WARC/1.1\r\n" + strings.Repeat("A: b\r\n", MaxHeaderBytes/6), "longer than", false},
		{"bomb", member(t, "WARC/1.1\r\nA: "+strings.Repeat("x", 4<<20)), "longer than", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := NewReader(strings.NewReader(good+tt.file), 0)
			list, err := readRecords(z)
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("records %v, error %v", list, err)
			}
			if se.Offset != base || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), itoa(int(base))) {
				t.Errorf("%v", err)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) != tt.cut {
				t.Errorf("cut is not %t: %v", tt.cut, err)
			}
			if _, again := z.Next(); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestReaderOffsets(t *testing.T) {
	var file string
	var ends []int64
	for i := range 50 {
		file += member(t, record("WARC/1.1", "response", "\r\n", strings.Repeat("block ", i*i))+Trailer)
		ends = append(ends, int64(len(file)))
	}
	z := NewReader(strings.NewReader(file), 1000)
	z.Strict = true
	for i, end := range ends {
		if _, err := z.Next(); err != nil {
			t.Fatal(err)
		}
		if err := z.Finish(); err != nil {
			t.Fatal(err)
		}
		if z.Offset() != end+1000 {
			t.Fatalf("record %d ends at %d, want %d", i, z.Offset(), end+1000)
		}
	}
}

func TestHeader(t *testing.T) {
	d := [32]byte{0xab, 1}
	h := Header{
		Type: TypeRevisit, ID: ID{15: 1}, Date: time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600)),
		TargetURI: "http://a.example/\r\nX: y\x7f\xff", ContentType: ContentResponse, WarcinfoID: ID{15: 2}, ConcurrentTo: ID{15: 3},
		IPAddress: netip.MustParseAddr("fe80::1%eth0"), BlockDigest: &d, PayloadDigest: &d, Truncated: "time", Filename: "f",
		Profile: "http://netpreserve.org/warc/1.1/revisit/server-not-modified", RefersTo: ID{15: 4}, RefersToTargetURI: "http://b.example/",
		RefersToDate: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), IdentifiedPayload: "text/html", IdentifiedLanguage: "eng", Length: 42,
	}
	const digest = "sha256:ab01" + "000000000000000000000000000000000000000000000000000000000000"
	want := strings.Join([]string{
		"WARC/1.1", "WARC-Type: revisit", "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>",
		"WARC-Date: 2026-01-02T02:04:05.000006Z", "WARC-Filename: f", "WARC-Target-URI: http://a.example/  X: y \ufffd",
		"WARC-Warcinfo-ID: <urn:uuid:00000000-0000-0000-0000-000000000002>",
		"WARC-Concurrent-To: <urn:uuid:00000000-0000-0000-0000-000000000003>",
		"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified",
		"WARC-Refers-To: <urn:uuid:00000000-0000-0000-0000-000000000004>", "WARC-Refers-To-Target-URI: http://b.example/",
		"WARC-Refers-To-Date: 2025-01-01T00:00:00.000000Z", "WARC-IP-Address: fe80::1", "WARC-Block-Digest: " + digest,
		"WARC-Payload-Digest: " + digest, "WARC-Truncated: time", "WARC-Identified-Payload-Type: text/html",
		"WARC-Identified-Content-Language: eng", "Content-Type: application/http;msgtype=response", "Content-Length: 42", "", "",
	}, "\r\n")
	if d := cmp.Diff(want, string(h.Append(nil))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDates(t *testing.T) {
	for _, s := range []string{"0001-01-01T00:00:00.000000Z", "2026-12-31T23:59:59.999999Z", "9999-10-10T10:10:10.100000Z"} {
		d, err := ParseDate(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendDate(nil, "D", d.Add(999))); got != "D: "+s+"\r\n" {
			t.Errorf("%s became %q", s, got)
		}
	}
	far := time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, want := string(appendDate(nil, "D", far)), "D: "+far.Format(DateFormat)+"\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, s := range []string{"2026-12-31T23:59:59Z", "2026-12-31T23:59:59.123456789Z"} {
		if _, err := ParseDate(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestValues(t *testing.T) {
	var ids [2]ID
	NewIDs(ids[:])
	if ids[0] == ids[1] || ids[0][6]>>4 != 4 || ids[0][8]>>6 != 2 {
		t.Errorf("ids %v", ids)
	}
	s := ids[0].String()
	for _, form := range []string{s, "urn:uuid:" + s, "<urn:uuid:" + s + ">", "<URN:UUID:" + strings.ToUpper(s) + ">"} {
		if got, ok := ParseID(form); !ok || got != ids[0] {
			t.Errorf("%s: %v, %t", form, got, ok)
		}
	}
	for _, form := range []string{"", "<>", s[1:], s + "0", strings.ReplaceAll(s, "-", "x"), "g" + s[1:]} {
		if _, ok := ParseID(form); ok {
			t.Errorf("%q is taken for an id", form)
		}
	}
	d := [32]byte{1, 31: 0xfe}
	for _, form := range []string{FormatDigest(d), strings.ToUpper(FormatDigest(d)), strings.Replace(FormatDigest(d), "sha256", "sha-256", 1)} {
		if got, ok := ParseDigest(form); !ok || got != d {
			t.Errorf("%s: %x, %t", form, got, ok)
		}
	}
	for _, form := range []string{"", "sha1:" + FormatDigest(d)[7:], FormatDigest(d)[:70], "sha256:" + strings.Repeat("g", 64)} {
		if _, ok := ParseDigest(form); ok {
			t.Errorf("%q is taken for a digest", form)
		}
	}
	for in, want := range map[string]string{" a ": "a", "a\r\nb": "a  b", "\u2028": "", "\xff": "\ufffd", "\u0085ö": "ö", "": ""} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) is %q, want %q", in, got, want)
		}
	}
}

// FuzzReader: no file makes a reader panic, loop, or pass the end of the file.
func FuzzReader(f *testing.F) {
	one := record("WARC/1.1", "response", "\r\n", "one") + Trailer
	f.Add([]byte(one+one), false)
	f.Add([]byte(member(f, one)+member(f, one)), true)
	f.Add([]byte(member(f, one+one)), false)
	f.Add([]byte(member(f, one))[:40], true)
	f.Add([]byte("WARC/1.0\nA:\n b\nContent-Length: 3\n\nabc\n\n"), false)
	f.Fuzz(func(t *testing.T, b []byte, strict bool) {
		z := NewReader(bytes.NewReader(b), 0)
		z.Strict = strict
		for n, last := 0, int64(0); ; n++ {
			rec, err := z.Next()
			if err != nil {
				var se *SyntaxError
				if err != io.EOF && !errors.As(err, &se) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if rec.Offset < last || rec.Offset > int64(len(b)) || n > 1<<20 {
				t.Fatalf("record %d at %d behind %d", n, rec.Offset, last)
			}
			last = rec.Offset
			if got, err := io.Copy(io.Discard, rec); err == nil && got != rec.Length {
				t.Fatalf("%d bytes of a block of %d", got, rec.Length)
			}
		}
	})
}
