package links

import (
	"fmt"
	"strings"
	"testing"
)

// benchmarkPage is a document of about 20 KB with 50 links.
func benchmarkPage() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><head><title>A page</title><link rel=stylesheet href="/s.css"><meta charset=utf-8></head><body>`)
	for i := range 50 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, `<p class="item"><a href="page%d.html">Page %d</a>`, i, i)
		case 1:
			fmt.Fprintf(&b, `<p class="item"><a href="/a/b/page%d?x=1&amp;y=2">Page %d</a>`, i, i)
		case 2:
			fmt.Fprintf(&b, `<p class="item"><a href="https://example.com/page%d" rel="nofollow">Page %d</a>`, i, i)
		case 3:
			fmt.Fprintf(&b, `<p class="item"><a href="../up/page%d#frag">Page %d</a>`, i, i)
		default:
			fmt.Fprintf(&b, `<p class="item"><a href="//cdn.example.net/page%d">Page %d</a>`, i, i)
		}
		b.WriteString(strings.Repeat("Text of a paragraph with some <b>bold</b> words in it. ", 6))
		b.WriteString("</p>\n")
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkExtract(b *testing.B) {
	doc := benchmarkPage()
	base := mustParse(b, "http://example.org/a/b/index.html")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if p := Extract(doc, base, "utf-8", Options{}); len(p.Outlinks) != 51 {
			b.Fatal(len(p.Outlinks))
		}
	}
}
