package body

import (
	"bytes"
	"io"
	"testing"
)

// FuzzReadAll: whatever the body, decoding ends within its limits, and reading in pieces gives the same as reading the whole.
func FuzzReadAll(f *testing.F) {
	text := page(3_000)
	for i, coding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		data := coded(f, coding, text)
		f.Add(data, uint16(i))
		f.Add(data[:len(data)/2], uint16(i))
	}
	f.Add(coded(f, "br", coded(f, "gzip", text)), uint16(5))
	f.Add(append(coded(f, "gzip", text), coded(f, "gzip", text)...), uint16(0))
	f.Add([]byte("plain text"), uint16(0))
	values := [][]string{{"gzip"}, {"deflate"}, {"deflate"}, {"br"}, {"zstd"}, {"gzip, br"}, {"gzip", "gzip"}, {"identity"}}
	f.Fuzz(func(t *testing.T, data []byte, which uint16) {
		contentEncoding := values[int(which)%len(values)]
		lim := Limits{MaxBytes: 2 << 20}
		whole, err := ReadAll(nil, bytes.NewReader(data), contentEncoding, lim)
		if int64(len(whole)) > lim.MaxBytes {
			t.Fatalf("%d bytes over the limit", len(whole))
		}
		r, openErr := NewReader(bytes.NewReader(data), contentEncoding, lim)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer r.Close()
		var pieces []byte
		buf := make([]byte, 777)
		for {
			n, readErr := r.Read(buf)
			pieces = append(pieces, buf[:n]...)
			if readErr == nil {
				continue
			}
			if (readErr == io.EOF) != (err == nil) {
				t.Fatalf("in pieces %v, as a whole %v", readErr, err)
			}
			break
		}
		if err == nil && !bytes.Equal(whole, pieces) {
			t.Fatalf("%d bytes in pieces, %d as a whole", len(pieces), len(whole))
		}
	})
}
