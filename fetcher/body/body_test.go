package body

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

var wide = Limits{MaxBytes: 64 << 20}

// coded applies one content coding; "raw" is deflate without the zlib wrapper.
func coded(tb testing.TB, coding string, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&buf)
	case "deflate":
		w = zlib.NewWriter(&buf)
	case "raw":
		w, err = flate.NewWriter(&buf, flate.DefaultCompression)
	case "br":
		w = brotli.NewWriter(&buf)
	case "zstd":
		w, err = zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1))
	default:
		tb.Fatalf("no coding %q", coding)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// page is n bytes of text that compresses about as a page does.
func page(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the crawler <p>asks</p> a host <a href=\"/page/ what it bears and </a> never faster than that")
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(" \n0123456789"[rng.IntN(12)])
	}
	return b.Bytes()[:n]
}

func TestReadAll(t *testing.T) {
	text := page(20_000)
	small := []byte("hello world")
	twice := append(coded(t, "gzip", small), coded(t, "gzip", text)...)
	tests := []struct {
		name   string
		coded  []byte
		values []string
		want   []byte
	}{
		{"no field", text, nil, text},
		{"identity", text, []string{"identity"}, text},
		{"empty value", text, []string{""}, text},
		{"gzip", coded(t, "gzip", text), []string{"gzip"}, text},
		{"gzip in upper case", coded(t, "gzip", text), []string{" GZip\t"}, text},
		{"x-gzip", coded(t, "gzip", text), []string{"x-gzip"}, text},
		{"deflate", coded(t, "deflate", text), []string{"deflate"}, text},
		{"deflate without zlib", coded(t, "raw", text), []string{"deflate"}, text},
		{"br", coded(t, "br", text), []string{"br"}, text},
		{"zstd", coded(t, "zstd", text), []string{"zstd"}, text},
		{"gzip, then br, in one field", coded(t, "br", coded(t, "gzip", text)), []string{"gzip, br"}, text},
		{"gzip, then zstd, in two fields", coded(t, "zstd", coded(t, "gzip", text)), []string{"gzip", "zstd"}, text},
		{"gzip twice", coded(t, "gzip", coded(t, "gzip", text)), []string{"gzip,gzip"}, text},
		{"identity and empty elements", coded(t, "gzip", text), []string{"identity,, gzip,"}, text},
		{"two members", twice, []string{"gzip"}, append(small[:len(small):len(small)], text...)},
		{"empty member first", append(coded(t, "gzip", nil), coded(t, "gzip", text)...), []string{"gzip"}, text},
		{"zeros after the member", append(coded(t, "gzip", text), make([]byte, 512)...), []string{"gzip"}, text},
		{"text after the member", append(coded(t, "gzip", text), "\r\n"...), []string{"gzip"}, text},
		{"one octet after the member", append(coded(t, "gzip", text), 0x1f), []string{"gzip"}, text},
		{"octets after zlib", append(coded(t, "deflate", text), "xyz"...), []string{"deflate"}, text},
		{"octets after deflate", append(coded(t, "raw", text), "xyz"...), []string{"deflate"}, text},
		{"octets after br", append(coded(t, "br", text), "xyz"...), []string{"br"}, text},
		{"two frames", append(coded(t, "zstd", small), coded(t, "zstd", text)...), []string{"zstd"}, append(small[:len(small):len(small)], text...)},
		{"text called gzip", text, []string{"gzip"}, text},
		{"short text called gzip", []byte("ok"), []string{"gzip"}, []byte("ok")},
		{"UTF-8 called gzip", []byte("\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe"), []string{"gzip"}, []byte("\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe")},
	}
	for _, coding := range []string{"gzip", "x-gzip", "deflate", "br", "zstd", "identity"} {
		tests = append(tests, struct {
			name   string
			coded  []byte
			values []string
			want   []byte
		}{"empty body as " + coding, nil, []string{coding}, nil})
	}
	readers := []struct {
		name string
		wrap func(io.Reader) io.Reader
	}{
		{"whole", func(r io.Reader) io.Reader { return r }},
		{"single octets", iotest.OneByteReader},
		{"data with EOF", iotest.DataErrReader},
	}
	for _, tt := range tests {
		for _, rd := range readers {
			t.Run(tt.name+"/"+rd.name, func(t *testing.T) {
				got, err := ReadAll(nil, rd.wrap(bytes.NewReader(tt.coded)), tt.values, wide)
				if err != nil || !bytes.Equal(got, tt.want) {
					t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(tt.want))
				}
			})
		}
	}
}

func TestBroken(t *testing.T) {
	text := page(200_000)
	gz := coded(t, "gzip", text)
	flipped := bytes.Clone(gz)
	flipped[len(flipped)-8] ^= 1
	tests := []struct {
		name   string
		coded  []byte
		values []string
		// least is how much must be given out at the least.
		least int
		cause error
	}{
		{"gzip cut", gz[:len(gz)/2], []string{"gzip"}, 64 << 10, io.ErrUnexpectedEOF},
		{"gzip without its trailer", gz[:len(gz)-8], []string{"gzip"}, len(text), io.ErrUnexpectedEOF},
		{"gzip cut in its head", gz[:7], []string{"gzip"}, 0, io.ErrUnexpectedEOF},
		{"gzip cut in its magic", gz[:2], []string{"gzip"}, 0, io.ErrUnexpectedEOF},
		{"second member cut", append(coded(t, "gzip", text), gz[:20]...), []string{"gzip"}, len(text), io.ErrUnexpectedEOF},
		{"wrong checksum", flipped, []string{"gzip"}, len(text), gzip.ErrChecksum},
		{"binary called gzip", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00"), []string{"gzip"}, 0, nil},
		{"br called gzip", coded(t, "br", text), []string{"gzip"}, 0, nil},
		{"zlib cut", coded(t, "deflate", text)[:len(gz)/2], []string{"deflate"}, 64 << 10, io.ErrUnexpectedEOF},
		{"deflate cut", coded(t, "raw", text)[:len(gz)/2], []string{"deflate"}, 64 << 10, io.ErrUnexpectedEOF},
		{"br cut", coded(t, "br", text)[:len(gz)/3], []string{"br"}, 1, io.ErrUnexpectedEOF},
		{"zstd cut", coded(t, "zstd", text)[:len(gz)/2], []string{"zstd"}, 0, io.ErrUnexpectedEOF},
		{"text called deflate", []byte("<html>not deflate at all</html>"), []string{"deflate"}, 0, nil},
		{"text called br", []byte("<html>not br at all</html>"), []string{"br"}, 0, nil},
		{"text called zstd", []byte("<html>not zstd at all</html>"), []string{"zstd"}, 0, nil},
		{"inner coding broken", coded(t, "gzip", []byte("\x00\x01\x02")), []string{"gzip, gzip"}, 0, nil},
		{"inner coding cut", coded(t, "gzip", gz[:len(gz)/2]), []string{"gzip, gzip"}, 64 << 10, io.ErrUnexpectedEOF},
		{"unknown coding", text, []string{"compress"}, 0, nil},
		{"one of two unknown", gz, []string{"sdch", "gzip"}, 0, nil},
		{"five codings", gz, []string{"gzip,gzip,gzip,gzip,gzip"}, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadAll(nil, bytes.NewReader(tt.coded), tt.values, wide)
			if !errors.Is(err, ErrUndecodable) || tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("error %v, want ErrUndecodable with %v", err, tt.cause)
			}
			if len(got) < tt.least || !bytes.HasPrefix(text, got) && !bytes.HasPrefix(got, text) {
				t.Errorf("%d bytes given out, want at least %d", len(got), tt.least)
			}
		})
	}
}

// An error of the transfer is not one of the coding: the page may be whole next time.
func TestSourceError(t *testing.T) {
	reset := errors.New("connection reset")
	text := page(200_000)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "identity"} {
		data := text
		if coding != "identity" {
			data = coded(t, coding, text)
		}
		r := io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(reset))
		_, err := ReadAll(nil, r, []string{coding}, wide)
		if !errors.Is(err, reset) || errors.Is(err, ErrUndecodable) {
			t.Errorf("%s: error %v, want that of the source alone", coding, err)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	text := page(10_000)
	for _, coding := range []string{"identity", "gzip", "deflate", "br", "zstd"} {
		data := text
		if coding != "identity" {
			data = coded(t, coding, text)
		}
		for _, limit := range []int64{-1, 0, 1, 9_999, 10_000, 10_001} {
			got, err := ReadAll(nil, bytes.NewReader(data), []string{coding}, Limits{MaxBytes: limit})
			want := min(max(limit, 0), 10_000)
			if !bytes.Equal(got, text[:want]) || (err != nil) != (limit < 10_000) || err != nil && !errors.Is(err, ErrTooLong) {
				t.Errorf("%s within %d: %d bytes, %v", coding, limit, len(got), err)
			}
		}
	}
	if got, err := ReadAll(nil, strings.NewReader(""), nil, Limits{}); len(got) != 0 || err != nil {
		t.Errorf("empty within 0: %d bytes, %v", len(got), err)
	}
}

func TestMaxRatio(t *testing.T) {
	tests := []struct {
		name  string
		bytes int
		ratio int
		want  error
	}{
		{"under 1 MiB nothing is checked", 1 << 20, 2, nil},
		{"200 by default", 2 << 20, 0, ErrRatio},
		{"wider by request", 2 << 20, 1 << 30, nil},
	}
	for _, tt := range tests {
		for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
			t.Run(tt.name+"/"+coding, func(t *testing.T) {
				zeros := coded(t, coding, make([]byte, tt.bytes))
				lim := Limits{MaxBytes: 64 << 20, MaxRatio: tt.ratio}
				got, err := ReadAll(nil, bytes.NewReader(zeros), []string{coding}, lim)
				if !errors.Is(err, tt.want) || tt.want == nil && len(got) != tt.bytes {
					t.Fatalf("%d bytes, %v; want %v", len(got), err, tt.want)
				}
			})
		}
	}
	// What does not compress is within any ratio.
	noise := make([]byte, 3<<19)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	if _, err := ReadAll(nil, bytes.NewReader(coded(t, "gzip", noise)), []string{"gzip"}, Limits{MaxBytes: 4 << 20, MaxRatio: 1}); err != nil {
		t.Errorf("noise within a ratio of 1: %v", err)
	}
}

func TestReader(t *testing.T) {
	text := page(50_000)
	r, err := NewReader(bytes.NewReader(coded(t, "gzip", text)), []string{"gzip"}, wide)
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(r, text); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("Read after Close: %d, %v", n, err)
	}
	if _, err := NewReader(bytes.NewReader(text), []string{"gzip, rot13"}, wide); !errors.Is(err, ErrUndecodable) {
		t.Errorf("unknown coding: %v", err)
	}
}

// A decoder comes back from the pool as new, whatever its last body did to it.
func TestPooledAfterBreakage(t *testing.T) {
	text := page(30_000)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		good := coded(t, coding, text)
		for i := range 50 {
			bad := bytes.Clone(good)
			bad[(i*97)%len(bad)] ^= 0xff
			ReadAll(nil, bytes.NewReader(bad[:len(bad)-i]), []string{coding}, wide)
			got, err := ReadAll(nil, bytes.NewReader(good), []string{coding}, wide)
			if err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%s after breakage %d: %d bytes, %v", coding, i, len(got), err)
			}
		}
	}
}

func TestReadAllReusesDst(t *testing.T) {
	text := page(20_000)
	gz := coded(t, "gzip", text)
	dst := make([]byte, 5, 64<<10)
	got, err := ReadAll(dst, bytes.NewReader(gz), []string{"gzip"}, wide)
	if err != nil || !bytes.Equal(got, text) || &got[0] != &dst[0] {
		t.Fatalf("%d bytes, %v; want %d in the array of dst", len(got), err, len(text))
	}
	exact := make([]byte, 0, len(text))
	if got, err = ReadAll(exact, bytes.NewReader(gz), []string{"gzip"}, wide); err != nil || cap(got) != cap(exact) {
		t.Errorf("a dst of the exact size grew to %d, %v", cap(got), err)
	}
}
