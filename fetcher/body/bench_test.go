package body

import (
	"bytes"
	"testing"
)

func BenchmarkReadAll(b *testing.B) {
	text := page(20 << 10)
	for _, coding := range []string{"identity", "gzip", "deflate", "br", "zstd"} {
		b.Run(coding, func(b *testing.B) {
			data := text
			if coding != "identity" {
				data = coded(b, coding, text)
			}
			r := bytes.NewReader(nil)
			values := []string{coding}
			var dst []byte
			var err error
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(data)
				if dst, err = ReadAll(dst, r, values, wide); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
