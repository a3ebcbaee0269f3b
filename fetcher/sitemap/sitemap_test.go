package sitemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"amble/frontier/canon"

	"github.com/klauspost/compress/gzip"
)

func gzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func base(tb testing.TB) canon.URL {
	tb.Helper()
	u, err := canon.Parse("http://example.org/sm/s.xml")
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// read collects the entries, child sitemaps with "> " before them.
func read(tb testing.TB, data []byte) ([]string, error) {
	tb.Helper()
	var got []string
	err := Parse(bytes.NewReader(data), base(tb), func(e Entry) bool {
		mark := ""
		if e.Sitemap {
			mark = "> "
		}
		got = append(got, mark+e.URL.String())
		return true
	})
	return got, err
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://example.org/1</loc></url></urlset>`

// Case SM-01: what is compressed is told by its octets. Names, types and the content coding are gone by here: s2 and s4 are
// what the decoded bodies are, s3 is compressed once more.
func TestCaseSM01(t *testing.T) {
	tests := map[string][]byte{
		"s1.xml.gz":      gzipped(t, []byte(urlset)),
		"s2.xml.gz":      []byte(urlset),
		"s3.xml.gz":      gzipped(t, []byte(urlset)),
		"s3 not decoded": gzipped(t, gzipped(t, []byte(urlset))),
		"s4.xml.gz":      []byte(urlset),
		"s5.xml":         gzipped(t, []byte(urlset)),
		"urllist.txt.gz": gzipped(t, []byte("http://example.org/1\n")),
		"two members":    append(gzipped(t, []byte(urlset[:90])), gzipped(t, []byte(urlset[90:]))...),
		"padded":         append(gzipped(t, []byte(urlset)), make([]byte, 600)...),
	}
	for name, data := range tests {
		got, err := read(t, data)
		if err != nil || !slices.Equal(got, []string{"http://example.org/1"}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Case SM-02: prefixes, extensions, blanks and a byte order mark before the declaration, two locations in one entry.
func TestCaseSM02(t *testing.T) {
	const prefixed = "\n <?xml version=\"1.0\"?><m:urlset xmlns:m=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\">" +
		"<m:url><m:loc> http://example.org/1\n</m:loc><image:image><image:loc>http://example.org/i.png</image:loc></image:image></m:url></m:urlset>"
	const index = "<sitemapindex><sitemap><loc>http://example.org/a.xml</loc><loc>http://example.org/b.xml</loc></sitemap></sitemapindex>"
	for _, before := range []string{"", "\xef\xbb\xbf", "\r\n\xef\xbb\xbf "} {
		if got, err := read(t, []byte(before+prefixed)); err != nil || !slices.Equal(got, []string{"http://example.org/1"}) {
			t.Errorf("%q: pages %q, %v", before, got, err)
		}
		want := []string{"> http://example.org/a.xml", "> http://example.org/b.xml"}
		if got, err := read(t, []byte(before+index)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: sitemaps %q, %v", before, got, err)
		}
	}
}

// Case SM-04, the part of a single file: a robots.txt is no sitemap, and the number of entries has a limit.
func TestCaseSM04(t *testing.T) {
	if got, err := read(t, []byte("User-agent: *\nDisallow:\nSitemap: /robots.txt\nSitemap: http://example.org/i.xml\n")); len(got) > 0 || !errors.Is(err, ErrNotSitemap) {
		t.Errorf("robots.txt: %q, %v", got, err)
	}
	const entries = 200_000
	open, each, end := "<urlset>", "<url><loc>/p</loc></url>\n", "</urlset>"
	n := 0
	err := Parse(io.MultiReader(strings.NewReader(open), strings.NewReader(strings.Repeat(each, entries)), strings.NewReader(end)), base(t), func(Entry) bool {
		n++
		return true
	})
	if n != MaxEntries || !errors.Is(err, ErrLimit) {
		t.Errorf("%d entries, %v; want %d", n, err, MaxEntries)
	}
	n = 0
	err = Parse(strings.NewReader(open+strings.Repeat(each, MaxEntries)+end), base(t), func(Entry) bool {
		n++
		return true
	})
	if n != MaxEntries || err != nil {
		t.Errorf("at the limit: %d entries, %v", n, err)
	}
}

// Case SM-06: entries stay whatever their lastmod and host, and an HTML page has none.
func TestCaseSM06(t *testing.T) {
	const file = `<urlset><url><loc>http://example.org/top</loc><lastmod>0000-00-00</lastmod></url>
<url><lastmod>2024-1-1</lastmod><loc>http://www.example.org/x</loc></url>
<url><loc>http://evil.example/y</loc><lastmod>2024-01-01T10:00+2</lastmod></url></urlset>`
	var got []string
	if err := Parse(strings.NewReader(file), base(t), func(e Entry) bool {
		if !e.LastMod.IsZero() || e.Priority != 0.5 || e.Sitemap {
			t.Errorf("%+v", e)
		}
		got = append(got, e.URL.String())
		return true
	}); err != nil {
		t.Error(err)
	}
	if want := []string{"http://example.org/top", "http://www.example.org/x", "http://evil.example/y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, page := range []string{
		"<!DOCTYPE html><html><head><title>not found</title></head><body><a href=\"http://example.org/\">home</a></body></html>",
		"<html><body>not found</body></html>",
		"<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><url><loc>http://example.org/1</loc></url></body></html>",
		"<p>not found</p>", "not found", "{\"error\": 404}", "", " \n", "<", "<!-- only this -->", "\x89PNG\r\n\x1a\n",
	} {
		if got, err := read(t, []byte(page)); len(got) > 0 || !errors.Is(err, ErrNotSitemap) {
			t.Errorf("%.40q: %q, %v", page, got, err)
		}
	}
}

func TestFormats(t *testing.T) {
	const o = "http://example.org"
	tests := []struct {
		name, file string
		want       []string
	}{
		{"text list", "http://example.org/a\r\n\n  HTTPS://example.org/b  \n# note\n/c\nftp://example.org/d\nhttp://example.org/e", []string{o + "/a", "https://example.org/b", o + "/e"}},
		{"text list with a mark and CR", "\xef\xbb\xbfhttp://example.org/a\rhttp://example.org/b\r", []string{o + "/a", o + "/b"}},
		{"RSS", `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>http://example.org/channel</link><atom:link href="http://example.org/self" rel="self"/>
<item><title>x</title><link>http://example.org/1</link><atom:link href="http://example.org/no"/></item><item><link><![CDATA[http://example.org/2?a=b&c=d]]></link><image><link>http://example.org/no</link></image></item></channel></rss>`,
			[]string{o + "/1", o + "/2?a=b&c=d"}},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel><link>http://example.org/c</link></channel><item rdf:about="x"><link>http://example.org/1</link></item></rdf:RDF>`, []string{o + "/1"}},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://example.org/feed"/><entry><link rel="edit" href="/no"/><link rel='alternate' href='/1?a=1&amp;b=2'/><source><link href="/no2"/></source></entry><entry><link href=/2></link></entry></feed>`,
			[]string{o + "/1?a=1&b=2", o + "/2"}},
		{"Atom with prefix", `<a:feed><a:entry><a:link href="/1"/><x:link href="/no"/></a:entry></a:feed>`, []string{o + "/1"}},
		{"references", "<urlset><url><loc>/?a=1&amp;b=&#50;&#x26;c=3&d=4&nbsp;&lt;</loc></url></urlset>", []string{o + "/?a=1&b=2&c=3&d=4&nbsp;%3C"}},
		{"CDATA in pieces", "<urlset><url><loc>http://example.org/<![CDATA[a]b]]]]><![CDATA[>&amp;]]></loc></url></urlset>", []string{o + "/a]b]]%3E&amp;"}},
		{"comments", "<urlset><!-- <url><loc>/no</loc></url> -- > --><url><loc>/a<!-- x -->b</loc></url></urlset>", []string{o + "/ab"}},
		{"relative", "<urlset><url><loc>x</loc></url><url><loc>//other.example/y</loc></url></urlset>", []string{o + "/sm/x", "http://other.example/y"}},
		{"no URLs", "<urlset><url><loc>javascript:x</loc></url><url><loc></loc></url><url><loc>http://[bad</loc></url><url><loc>/ok</loc></url></urlset>", []string{o + "/ok"}},
		{"legacy, https and missing namespaces", `<urlset xmlns="http://www.google.com/schemas/sitemap/0.84"><url><loc>/1</loc></url></urlset>`, []string{o + "/1"}},
		{"video", `<urlset><url><loc>/1</loc><video:video><video:content_loc>/no</video:content_loc><video:loc>/no</video:loc></video:video><image:loc>/no</image:loc></url></urlset>`, []string{o + "/1"}},
		{"children before loc", `<urlset><url><image:image><image:loc>/no</image:loc></image:image><loc>/1</loc></url></urlset>`, []string{o + "/1"}},
		{"unclosed url", "<urlset><url><loc>/1</loc><url><loc>/2</loc></urlset>", []string{o + "/1", o + "/2"}},
		{"unclosed loc", "<urlset><url><loc>/1</url><url><loc>/2</url></urlset>", []string{o + "/1", o + "/2"}},
		{"unclosed extension", "<urlset><url><loc>/1</loc><image:image></url><url><loc>/2</loc></url></urlset>", []string{o + "/1", o + "/2"}},
		{"stray end tags", "<urlset></x></url><url></urlx><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"no root", "<url><loc>/1</loc></url><url><loc>/2</loc></url>", []string{o + "/1", o + "/2"}},
		{"broken quote", "<urlset x=\"y><url><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"stray quote", "<urlset x\"><url a'b><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"bare less-than", "<urlset> 1 < 2 <url><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"cut in a loc", "<urlset><url><loc>/1</loc></url><url><loc>/2", []string{o + "/1"}},
		{"cut after a loc", "<urlset><url><loc>/1</loc></url><url><loc>/2</loc><lastm", []string{o + "/1", o + "/2"}},
		{"two documents", urlset + urlset, []string{o + "/1", o + "/1"}},
		{"document type", "<!DOCTYPE urlset SYSTEM \"x\" [ <!ENTITY e \"/expanded\"> <!ELEMENT urlset ANY> ] ><urlset><url><loc>/1&e;</loc></url></urlset>", []string{o + "/1&e;"}},
		{"invalid UTF-8", "<urlset><url><title>\xff</title><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"declared encoding", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><urlset><url><loc>/caf\xe9</loc></url><url><loc>/caf\xc3\xa9</loc></url></urlset>", []string{o + "/caf%C3%A9", o + "/caf%C3%A9"}},
		{"UTF-16, little end first", utf16(urlset, "\xff\xfe", false), []string{o + "/1"}},
		{"UTF-16, big end first, no mark", utf16(urlset, "", true), []string{o + "/1"}},
		{"empty set", "<urlset/>", nil},
		{"long texts are passed over", "<urlset><url><loc>/" + strings.Repeat("x", 100_000) + "</loc></url><url><loc>/1</loc></url></urlset>", []string{o + "/1"}},
		{"long lines are passed over", "http://example.org/" + strings.Repeat("x", 100_000) + "\nhttp://example.org/1\n", []string{o + "/1"}},
		{"deep", "<urlset>" + strings.Repeat("<a>", 1000) + strings.Repeat("</a>", 1000) + "<url><loc>/1</loc></url></urlset>", []string{o + "/1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := read(t, []byte(tt.file)); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// utf16 writes ASCII in two octets each.
func utf16(s, mark string, bigEndian bool) string {
	var b strings.Builder
	b.WriteString(mark)
	for i := range len(s) {
		if bigEndian {
			b.WriteString("\x00" + s[i:i+1])
		} else {
			b.WriteString(s[i:i+1] + "\x00")
		}
	}
	return b.String()
}

func TestValues(t *testing.T) {
	day := time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	noon := time.Date(2024, 5, 6, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		field string
		mod   time.Time
		prio  float64
	}{
		{"", time.Time{}, 0.5},
		{"<lastmod>2024-05-06</lastmod><priority>0.8</priority>", day, 0.8},
		{"<priority> 1.0 </priority><lastmod>\n2024-05-06T12:30Z </lastmod>", noon, 1},
		{"<lastmod>2024-05-06T14:30:00+02:00</lastmod><priority>0</priority>", noon, 0},
		{"<lastmod>2024-05-06T12:30:00.5Z</lastmod>", noon.Add(500 * time.Millisecond), 0.5},
		{"<lastmod>2024-05</lastmod>", time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), 0.5},
		{"<lastmod>2024</lastmod>", time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 0.5},
		{"<lastmod>2024-05-06T12:30:00</lastmod><priority>1.1</priority>", time.Time{}, 0.5},
		{"<lastmod>2024-02-30</lastmod><priority>NaN</priority>", time.Time{}, 0.5},
		{"<lastmod>0000</lastmod><priority>-0.1</priority>", time.Time{}, 0.5},
		{"<lastmod>yesterday</lastmod><priority>high</priority>", time.Time{}, 0.5},
		{"<image:lastmod>2024-05-06</image:lastmod><image:priority>1</image:priority>", time.Time{}, 0.5},
	}
	for _, tt := range tests {
		n := 0
		err := Parse(strings.NewReader("<urlset><url><loc>/x</loc>"+tt.field+"</url><url><loc>/y</loc></url></urlset>"), base(t), func(e Entry) bool {
			n++
			if n == 1 && (!e.LastMod.Equal(tt.mod) || e.Priority != tt.prio) || n == 2 && (!e.LastMod.IsZero() || e.Priority != 0.5) {
				t.Errorf("%s: entry %d is %v, %v", tt.field, n, e.LastMod, e.Priority)
			}
			return true
		})
		if n != 2 || err != nil {
			t.Errorf("%s: %d entries, %v", tt.field, n, err)
		}
	}
}

func TestFeedDates(t *testing.T) {
	want := time.Date(2024, 5, 6, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		file  string
		known bool
	}{
		{"<rss><item><link>/x</link><pubDate>Mon, 06 May 2024 12:30:00 GMT</pubDate></item></rss>", true},
		{"<rss><item><pubDate>6 May 2024 14:30 +0200</pubDate><link>/x</link></item></rss>", true},
		{"<rss><item><link>/x</link><pubDate>2024-05-06T12:30:00Z</pubDate></item></rss>", true},
		{"<RDF><item><link>/x</link><dc:date>2024-05-06T12:30:00Z</dc:date></item></RDF>", true},
		{"<feed><entry><link href='/x'/><updated>2024-05-06T12:30:00Z</updated></entry></feed>", true},
		{"<rss><item><link>/x</link><pubDate>Mon, 06 May 2024 12:30:00 EST</pubDate></item></rss>", false},
		{"<rss><item><link>/x</link><pubDate>soon</pubDate></item></rss>", false},
		{"<feed><entry><link href='/x'/><published>2024-05-06T12:30:00Z</published></entry></feed>", false},
	}
	for _, tt := range tests {
		n := 0
		err := Parse(strings.NewReader(tt.file), base(t), func(e Entry) bool {
			n++
			if e.LastMod.IsZero() == tt.known || tt.known && !e.LastMod.Equal(want) {
				t.Errorf("%s: %v", tt.file, e.LastMod)
			}
			return true
		})
		if n != 1 || err != nil {
			t.Errorf("%s: %d entries, %v", tt.file, n, err)
		}
	}
}

func TestStop(t *testing.T) {
	file := "<urlset>" + strings.Repeat("<url><loc>/x</loc></url>", 10) + "</urlset>"
	list := strings.Repeat("http://example.org/\n", 10)
	for _, data := range []string{file, list} {
		n := 0
		if err := Parse(strings.NewReader(data), base(t), func(Entry) bool { n++; return n < 3 }); n != 3 || err != nil {
			t.Errorf("%.10q: %d entries, %v", data, n, err)
		}
	}
}

// A transfer that ends early is an error, and what came before it stands; a cut location does not.
func TestSourceError(t *testing.T) {
	reset := errors.New("connection reset")
	tests := []struct {
		data string
		want int
	}{
		{"<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url><url><loc>/3", 2},
		{"http://example.org/1\nhttp://example.org/2\nhttp://example.org/lon", 2},
		{" ", 0},
		{"", 0},
		{"<", 0},
	}
	for _, tt := range tests {
		n := 0
		r := io.MultiReader(strings.NewReader(tt.data), iotest.ErrReader(reset))
		if err := Parse(r, base(t), func(Entry) bool { n++; return true }); n != tt.want || !errors.Is(err, reset) {
			t.Errorf("%q: %d entries, %v; want %d", tt.data, n, err, tt.want)
		}
	}
	gz := gzipped(t, fmt.Appendf(nil, "<urlset>%s", strings.Repeat("<url><loc>/x</loc></url>", 1000)))
	if got, err := read(t, gz[:len(gz)-9]); len(got) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut gzip: %d entries, %v", len(got), err)
	}
}

// endless is a body without an end.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	return n, nil
}

// The decoded size is limited, compressed or not (case SE-04).
func TestMaxBytes(t *testing.T) {
	const limit = 1 << 20
	for name, r := range map[string]io.Reader{
		"comment":   io.MultiReader(strings.NewReader("<urlset><!--"), endless{"x"}),
		"text":      endless{"xxxxxxx\n"},
		"blanks":    endless{" "},
		"tags":      io.MultiReader(strings.NewReader("<urlset>"), endless{"<a>"}),
		"names":     io.MultiReader(strings.NewReader("<urlset><"), endless{"a"}),
		"quotes":    io.MultiReader(strings.NewReader("<urlset "), endless{"\" '="}),
		"CDATA":     io.MultiReader(strings.NewReader("<urlset><![CDATA["), endless{"]"}),
		"doctype":   io.MultiReader(strings.NewReader("<!DOCTYPE x ["), endless{"]]x>"}),
		"gzip":      bytes.NewReader(gzipped(t, append([]byte("<urlset>"), make([]byte, 2*limit)...))),
		"gzip gzip": bytes.NewReader(gzipped(t, gzipped(t, append([]byte("<urlset>"), make([]byte, 2*limit)...)))),
	} {
		n := 0
		out := &sink{base: base(t), yield: func(Entry) bool { n++; return true }}
		if err := parse(r, limit, out); n != 0 || !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %d entries, %v", name, n, err)
		}
	}
	n := 0
	out := &sink{base: base(t), yield: func(Entry) bool { n++; return true }, charset: "utf-8"}
	if err := parse(bytes.NewReader(gzipped(t, append([]byte(urlset), make([]byte, limit)...))), limit, out); n != 1 || !errors.Is(err, ErrLimit) {
		t.Errorf("past the limit in a whole file: %d entries, %v", n, err)
	}
}
