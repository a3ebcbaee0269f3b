package charset

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestDetect(t *testing.T) {
	ascii := strings.Repeat("a", 1100)
	tests := []struct{ name, doc, contentType, want, source string }{
		{"bom before header", "\xef\xbb\xbfx", "text/html; charset=gbk", "utf-8", "bom"},
		{"utf-16 bom", "\xff\xfex\x00", "", "utf-16le", "bom"},
		{"utf-16 big-endian bom", "\xfe\xff\x00x", "", "utf-16be", "bom"},
		{"header before meta", "<meta charset=gbk>", "text/html; charset=koi8-r", "koi8-r", "header"},
		{"header with a label", "", "text/html; charset=latin1", "windows-1252", "header"},
		{"header with an unknown label", "<meta charset=gbk>", "text/html; charset=nonsense", "gbk", "meta"},
		{"meta", "<meta charset='Shift_JIS'>", "text/html", "shift_jis", "meta"},
		{"meta pragma", `<meta content="text/html; charset=euc-kr" http-equiv=Content-Type>`, "", "euc-kr", "meta"},
		{"meta content without pragma", `<meta content="text/html; charset=euc-kr">`, "", "utf-8", "content"},
		{"meta in a comment", "<!-- <meta charset=gbk> --><meta charset=big5>", "", "big5", "meta"},
		{"meta behind an empty comment", "<!--><meta charset=big5>", "", "big5", "meta"},
		{"meta in an attribute", `<a title="<meta charset=gbk>"><meta charset=big5>`, "", "big5", "meta"},
		{"meta with an unknown label", "<meta charset=nonsense><meta charset=big5>", "", "big5", "meta"},
		{"meta utf-16 is utf-8", "<meta charset=utf-16>", "", "utf-8", "meta"},
		{"meta beyond the first kilobyte", ascii + "<meta charset=gbk>\xc4", "", "gbk", "meta"},
		{"meta name is longer", "<metal charset=gbk>\xe9", "", "windows-1252", "default"},
		{"meta never ends", "<meta charset=gbk", "", "utf-8", "content"},
		{"xml declaration", `<?xml version="1.0" encoding='ISO-8859-2'?><x/>`, "application/xhtml+xml", "iso-8859-2", "xml"},
		{"xml in utf-16", "<\x00?\x00x\x00", "", "utf-16le", "xml"},
		{"xml without declaration", "<x>\xe9</x>", "application/xml", "utf-8", "default"},
		{"empty", "", "", "utf-8", "content"},
		{"CS-06 a", ascii + "<title>\u00e9", "text/html", "utf-8", "content"},
		{"CS-06 b", "<p>caf\xc3\xa9", "text/html", "utf-8", "content"},
		{"CS-06 c", strings.Repeat("a", 1023) + "\u00e9", "text/html", "utf-8", "content"},
		{"CS-06 d", "\x63\x61\x66\xe9", "text/html", "windows-1252", "default"},
		{"last character cut", "\u4e2d\u6587\xe4\xb8", "text/html", "utf-8", "content"},
		{"a broken byte", "\u4e2d\xff\u6587", "text/html", "windows-1252", "default"},
	}
	for _, tt := range tests {
		name, source := Detect([]byte(tt.doc), tt.contentType)
		if name != tt.want || source != tt.source {
			t.Errorf("%s: %s by %s, want %s by %s", tt.name, name, source, tt.want, tt.source)
		}
	}
}

// CS-02: the charset parameter in odd spellings; the first one counts.
func TestHeaderCharset(t *testing.T) {
	body := []byte("\xc4\xe3\xba\xc3")
	for _, contentType := range []string{
		`text/html; charset="gbk`,
		`text/html;";charset=gbk`,
		`text/html;Charset=GBK;boundary=x`,
		`text/html;charset=gbk;charset=utf-8`,
		`text/html; charset = gbk`,
		`text/html; charset='gbk'`,
		`text/html; charset="gbk"; x="a;charset=utf-8"`,
		`text/html; x="a;charset=utf-8"; charset=gbk`,
		`text/html;charset=gbk, text/html;charset=utf-8`,
		`text/html charset=gbk`,
		`text/html;charset=;charset=gbk`,
		`;;charset=gbk`,
	} {
		name, source := Detect(body, contentType)
		if text := string(ToUTF8(body, name)); name != "gbk" || source != "header" || text != "\u4f60\u597d" {
			t.Errorf("%s: %s by %s, text %q", contentType, name, source, text)
		}
	}
}

func TestToUTF8(t *testing.T) {
	tests := []struct{ name, doc, charset, want string }{
		{"utf-8", "caf\u00e9", "utf-8", "caf\u00e9"},
		{"utf-8 with mark", "\xef\xbb\xbfcaf\u00e9", "utf-8", "caf\u00e9"},
		{"broken utf-8", "a\xffb\xe4\xbdc", "utf-8", "a\ufffdb\ufffdc"},
		{"windows-1252", "caf\xe9 \x80", "windows-1252", "caf\u00e9 \u20ac"},
		{"gbk", "\xc4\xe3\xba\xc3", "gbk", "\u4f60\u597d"},
		{"utf-16 with mark", "\xff\xfea\x00\xe9\x00", "utf-16le", "a\u00e9"},
		{"utf-16 big-endian", "\x00a\x00\xe9", "utf-16be", "a\u00e9"},
		{"iso-2022-jp", "\x1b$B$\"\x1b(B", "iso-2022-jp", "\u3042"},
		{"unknown name", "caf\xe9", "x-nonsense", "caf\ufffd"},
		{"empty", "", "gbk", ""},
	}
	for _, tt := range tests {
		if got := string(ToUTF8([]byte(tt.doc), tt.charset)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestToUTF8DoesNotCopy(t *testing.T) {
	for _, tt := range []struct{ doc, charset string }{
		{"caf\u00e9", "utf-8"},
		{"cafe", "windows-1252"},
		{"cafe", "gbk"},
	} {
		doc := []byte(tt.doc)
		if got := ToUTF8(doc, tt.charset); &got[0] != &doc[0] {
			t.Errorf("%q in %s was copied", tt.doc, tt.charset)
		}
	}
}

func TestMediaType(t *testing.T) {
	tests := []struct{ in, want string }{
		{"text/html", "text/html"},
		{" Text/HTML ; charset=x", "text/html"},
		{"text/html,text/html", "text/html"},
		{"text/html;", "text/html"},
		{"text/html charset=utf-8", "text/html"},
		{"text/plain, text/html", "text/html"},
		{"text/html, */*", "text/html"},
		{"text/html;x=\"a,b/c\"", "text/html"},
		{"text/html;x=\"a,b/c", "b/c"},
		{"application/xhtml+xml", "application/xhtml+xml"},
		{"", ""},
		{"html", ""},
		{";charset=x", ""},
		{"text/", ""},
		{"te xt/html", ""},
	}
	for _, tt := range tests {
		if got := MediaType(tt.in); got != tt.want {
			t.Errorf("MediaType(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// HT-03 and what is near it.
func TestIsHTML(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n"
	tests := []struct {
		name, contentType, doc string
		want                   bool
	}{
		{"HT-03 1", "text/html,text/html", "<p>x", true},
		{"HT-03 2", "", "<!doctype html><p>x", true},
		{"HT-03 3", "text/html;", "<p>x", true},
		{"HT-03 4", "text/plain", "<!doctype html><p>x", false},
		{"HT-03 5", "application/pdf", "%PDF-1.4 <a href=/no>", false},
		{"HT-03 6", "text/html", png + "<a href=/no2>", false},
		{"HT-03 7", "application/xhtml+xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, true},
		{"empty", "text/html", "", true},
		{"plain words as html", "text/html", "words", true},
		{"utf-16", "text/html", "\xff\xfe<\x00p\x00", true},
		{"pdf as html", "text/html", "%PDF-1.4 <a href=/no>", false},
		{"no type, mark", "", "\xef\xbb\xbf<!doctype html>", true},
		{"no type, xhtml", "", `<?xml version="1.0"?><HTML xmlns="http://www.w3.org/1999/xhtml"/>`, true},
		{"no type, xml", "", `<?xml version="1.0"?><urlset/>`, false},
		{"no type, text", "", "words <a href=x>", false},
		{"unreadable type", "html", "<html>", true},
	}
	for _, tt := range tests {
		if got := IsHTML(tt.contentType, []byte(tt.doc)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "<meta charset=gbk>", "<!-- x --><META content='text/html;charset=big5' http-equiv=content-type>",
		"<?xml version='1.0' encoding='koi8-r'?>", "\xff\xfea\x00", "<a b='c", "</", "<meta", "caf\xc3\xa9"} {
		f.Add([]byte(s), "text/html; charset=\"gbk")
		f.Add([]byte(s), "")
	}
	f.Fuzz(func(t *testing.T, doc []byte, contentType string) {
		before := bytes.Clone(doc)
		name, source := Detect(doc, contentType)
		if canonicalName(name) != name || source == "" {
			t.Fatalf("%q by %q", name, source)
		}
		text := ToUTF8(doc, name)
		if !bytes.Equal(doc, before) {
			t.Fatal("the document was changed")
		}
		if !bytes.Equal(bytes.ToValidUTF8(text, nil), text) {
			t.Fatalf("%s: not UTF-8: %q", name, text)
		}
		MediaType(contentType)
		IsHTML(contentType, doc)
	})
}

func BenchmarkDetect(b *testing.B) {
	text := strings.Repeat("<p>Some text with a word or two. \u4f60\u597d</p>\n", 400)
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name, contentType string
		doc               []byte
	}{
		{"Header", "text/html; charset=utf-8", []byte(text)},
		{"Content", "text/html", []byte(text)},
		{"Decode", "text/html; charset=gbk", []byte(gbk)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.doc)))
			for b.Loop() {
				name, _ := Detect(bench.doc, bench.contentType)
				ToUTF8(bench.doc, name)
			}
		})
	}
}
