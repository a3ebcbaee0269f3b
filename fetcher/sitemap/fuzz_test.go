package sitemap

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzParse: no body is a panic, entries are sound, what is no sitemap has none, and the same entries come however the body
// is cut into reads.
func FuzzParse(f *testing.F) {
	f.Add([]byte(urlset))
	f.Add(gzipped(f, []byte(urlset)))
	f.Add([]byte("<sitemapindex><sitemap><loc>/a</loc><lastmod>2024-05-06</lastmod></sitemap><sitemap><loc>/b"))
	f.Add([]byte("<rss><item><link>http://x.example/?a&amp;b</link><pubDate>Mon, 06 May 2024 12:30:00 GMT</pubDate></item></rss>"))
	f.Add([]byte("<feed><entry><link rel=alternate href='/x'/><updated>2024</updated></entry></feed>"))
	f.Add([]byte("<!DOCTYPE x [<!ENTITY a ']'>]><m:urlset><m:url><m:loc><![CDATA[/x]]]></m:loc><!-- -- ></m:url>"))
	f.Add([]byte("\xef\xbb\xbfhttp://example.org/a\r\nhttps://example.org/b"))
	f.Add([]byte(utf16(urlset, "\xff\xfe", false)))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := base(t)
		var whole, pieces []Entry
		err := Parse(bytes.NewReader(data), at, func(e Entry) bool {
			if e.URL.IsZero() || !(e.Priority >= 0 && e.Priority <= 1) {
				t.Fatalf("%+v", e)
			}
			whole = append(whole, e)
			return len(whole) < 1000
		})
		if errors.Is(err, ErrNotSitemap) && len(whole) > 0 {
			t.Fatalf("%v, but %d entries", err, len(whole))
		}
		Parse(&bits{data}, at, func(e Entry) bool {
			pieces = append(pieces, e)
			return len(pieces) < 1000
		})
		if len(whole) != len(pieces) {
			t.Fatalf("%d entries as a whole, %d in pieces", len(whole), len(pieces))
		}
		for i := range whole {
			if whole[i] != pieces[i] {
				t.Fatalf("entry %d is %+v as a whole, %+v in pieces", i, whole[i], pieces[i])
			}
		}
	})
}

// bits is read a few octets at a time.
type bits struct{ data []byte }

func (b *bits) Read(p []byte) (int, error) {
	n, err := bytes.NewReader(b.data).Read(p[:min(len(p), 7)])
	b.data = b.data[n:]
	return n, err
}
