package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseHead(t *testing.T) {
	raw := "HTTP/1.1 200 OK\r\n" +
		"  stray: before any field\r\n" +
		"content-TYPE:text/html; charset=utf-8 \r\n" +
		"Set-Cookie: a=1\r\n" +
		"X-Folded: one\r\n\ttwo\r\n   three  \r\n" +
		"no field at all\r\n" +
		" continues nothing\r\n" +
		"Set-Cookie:\tb=2\r\n" +
		"X-Empty:\r\n" +
		"X-CR: a\rb\r\n" +
		"X-Blank : x\r\n" +
		"X-8Bit: caf\xe9\r\n" +
		"In Valid: x\r\n" +
		"\r\n"
	h, err := readHead(bufio.NewReaderSize(strings.NewReader(raw+"body"), 16))
	if err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Set-Cookie": {"a=1", "b=2"}, "X-Folded": {"one two three"},
		"X-Empty": {""}, "X-Cr": {"a b"}, "X-Blank": {"x"}, "X-8bit": {"caf\xe9"},
	}
	if diff := cmp.Diff(want, h.header); diff != "" {
		t.Error(diff)
	}
	if string(h.raw) != raw || h.status != 200 || h.minor != 1 {
		t.Errorf("raw %q, status %d, minor %d", h.raw, h.status, h.minor)
	}
}

func TestFraming(t *testing.T) {
	tests := []struct {
		head string
		want framing
		bad  bool
	}{
		{"HTTP/1.1 200 OK\nContent-Length: 5\n\n", framing{length: 5}, false},
		{"HTTP/1.1 200 OK\nContent-Length: 5, 5\n\n", framing{length: 5}, false},
		{"HTTP/1.1 200 OK\nContent-Length: 005\nContent-Length: 5\n\n", framing{length: 5}, false},
		{"HTTP/1.1 200 OK\nContent-Length: 5, 6\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nContent-Length: 5,\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nContent-Length:\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nContent-Length: -1\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nContent-Length: 0x5\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\n\n", framing{length: -1, last: true}, false},
		{"HTTP/1.1 200 OK\nConnection: close\nContent-Length: 0\n\n", framing{length: 0, last: true}, false},
		{"HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 1\n\n", framing{length: 1}, false},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n", framing{length: -1, chunked: true}, false},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: x\n\n", framing{length: -1, chunked: true, last: true}, false},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked, chunked\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n", framing{}, true},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: deflate\n\n", framing{}, true},
		{"HTTP/1.1 204 No\nContent-Length: 5, 6\n\n", framing{length: -1, none: true}, false},
		{"HTTP/1.1 304 No\nTransfer-Encoding: chunked\n\n", framing{length: -1, none: true}, false},
		{"HTTP/1.0 304 No\n\n", framing{length: -1, none: true, last: true}, false},
	}
	for _, tt := range tests {
		h, err := parseHead([]byte(tt.head))
		if err != nil {
			t.Fatal(err)
		}
		fr, err := h.framing()
		if (err != nil) != tt.bad || err == nil && fr != tt.want {
			t.Errorf("%q: %+v, %v", tt.head, fr, err)
		}
	}
}

// TestChunkedModel: whatever the chunks, extensions, trailers and reads, the body is their sum,
// and what follows is left alone.
func TestChunkedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 200), 0, 20).Draw(t, "chunks")
		eol := rapid.SampledFrom([]string{"\r\n", "\n"}).Draw(t, "eol")
		ext := rapid.SampledFrom([]string{"", ";a", ";a=\"b\"", " ;c=d", "  "}).Draw(t, "ext")
		format := rapid.SampledFrom([]string{"%x", "%X", "0000%x"}).Draw(t, "format")
		trailer := rapid.SampledFrom([]string{"", "X: y" + eol, "X: y" + eol + "Z: a" + eol}).Draw(t, "trailer")
		var wire, want bytes.Buffer
		for _, c := range chunks {
			fmt.Fprintf(&wire, format+ext+eol, len(c))
			wire.Write(c)
			wire.WriteString(eol)
			want.Write(c)
		}
		wire.WriteString("0" + ext + eol + trailer + eol + "next")
		var r io.Reader = &wire
		if rapid.Bool().Draw(t, "byte by byte") {
			r = iotest.OneByteReader(r)
		}
		cut := int64(-1)
		room := int64(1 << 20)
		if want.Len() > 0 && rapid.Bool().Draw(t, "cut") {
			cut = rapid.Int64Range(0, int64(want.Len())-1).Draw(t, "room")
			room = cut
		}
		var got bytes.Buffer
		br := bufio.NewReaderSize(r, 64)
		b := &bodyReader{br: br, dst: &got, room: room}
		err := b.read(framing{chunked: true, length: -1})
		if cut >= 0 {
			if !errors.Is(err, errTooLong) || !bytes.Equal(got.Bytes(), want.Bytes()[:cut]) {
				t.Fatalf("cut at %d: %v, %d bytes", cut, err, got.Len())
			}
			return
		}
		if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || b.n != int64(want.Len()) {
			t.Fatalf("%v, %d bytes of %d", err, got.Len(), want.Len())
		}
		if rest, _ := io.ReadAll(br); string(rest) != "next" {
			t.Fatalf("left %q", rest)
		}
	})
}

// TestEveryCut cuts one exchange at each of its bytes: never whole before its end, and always
// what had come.
func TestEveryCut(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	wire := head + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
	whole := strings.Index(wire, "0\r\n\r\n") + len("0\r\n")
	for n := range wire {
		br := bufio.NewReader(strings.NewReader(wire[:n]))
		h, err := readHead(br)
		if n < len(head) {
			if _, protocol := err.(protocolError); err == nil || protocol {
				t.Errorf("cut at %d: %v", n, err)
			}
			continue
		}
		fr, ferr := h.framing()
		var got bytes.Buffer
		err = (&bodyReader{br: br, dst: &got, room: 100}).read(fr)
		if err == errTrailer {
			err = nil
		}
		if ferr != nil || (err == nil) != (n >= whole) || !strings.HasPrefix("hello world", got.String()) {
			t.Errorf("cut at %d: %v, %v, %q", n, ferr, err, got.String())
		}
	}
}

// FuzzResponse reads arbitrary bytes as a response. Where net/http reads the same bytes as a
// whole response too, both must see the same.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\nrest",
		"HTTP/1.0 302 Found\nLocation: /x\n\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 1, 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1;e=f\r\nx\r\n0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		br := bufio.NewReader(bytes.NewReader(wire))
		h, err := readHead(br)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(wire, h.raw) || h.status < 100 || h.status > 999 {
			t.Fatalf("raw %q, status %d", h.raw, h.status)
		}
		fr, err := h.framing()
		if err != nil {
			return
		}
		var got bytes.Buffer
		const room = 1 << 10
		b := &bodyReader{br: br, dst: &got, room: room}
		if !fr.none {
			err = b.read(fr)
		}
		if got.Len() > room || b.n != int64(got.Len()) || err == nil && !fr.none && fr.length >= 0 && fr.length != b.n {
			t.Fatalf("%d bytes counted as %d, length %d", got.Len(), b.n, fr.length)
		}
		if err != nil {
			return
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), nil)
		if err != nil {
			return // net/http refuses lines that are no field
		}
		if res.StatusCode != h.status {
			t.Fatalf("status %d, net/http %d", h.status, res.StatusCode)
		}
		if res.ProtoMinor == 0 && fr.chunked || h.status < 200 {
			return // net/http does not know the coding in HTTP/1.0, and reads no body after 1xx
		}
		theirs, err := io.ReadAll(res.Body)
		if err == nil && !bytes.Equal(theirs, got.Bytes()) {
			t.Fatalf("body %q, net/http %q", got.Bytes(), theirs)
		}
	})
}
