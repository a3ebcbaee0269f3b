package sitemap

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	var file strings.Builder
	file.WriteString("<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for i := range 5000 {
		fmt.Fprintf(&file, "  <url>\n    <loc>https://example.org/section/%d/page.html</loc>\n    <lastmod>2024-05-06T12:30:00+02:00</lastmod>\n    <priority>0.7</priority>\n  </url>\n", i)
	}
	file.WriteString("</urlset>\n")
	text := file.String()
	at := base(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := Parse(strings.NewReader(text), at, func(Entry) bool { n++; return true }); err != nil || n != 5000 {
			b.Fatal(n, err)
		}
	}
}
