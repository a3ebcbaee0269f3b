package links

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"amble/frontier/canon"
)

var fuzzDocs = []string{
	`<!doctype html><html lang=en><head><title>A &amp; b</title><base href="/x/"><link rel="stylesheet icon" href=s.css></head><body><a href="y?a=1&amp;b=2&copy=3#f" rel=nofollow>T <b>u</b></a>`,
	`<!-- <a href=/c> --><!--><a b><!--->x<!--!>--!><a/>--><!-x><?xml x?></ x></><a href='q'/>`,
	`<script><!-- <script> </script> --></script><a href=/b><SCRIPT>x</scripty></script ><style></style/><a>`,
	`<textarea><a href=/ta></textarea><noscript><a href=/ns></noscript><noframes><a href=/nf></noframes><xmp></xmp><iframe src=i></iframe>`,
	`<a =x= y = "1"z/w='2'/ q=3/>text<a b=c/ ><br/><svg viewBox=x /><a xlink:href=/svg><template><a href=t></template><title>x`,
	`<img srcset="a.png 1x, b.png 2x,c,d (1,2),,e" src=" f ">< a><1><a href="&notit;&notin;&#x41;&#65;&#;&semi;&amp&lt=&gt;">`,
	`<META CONTENT="0; URL='next?a=1;b'junk" HTTP-EQUIV=REFRESH><meta name=robots content=NOINDEX><a href`, `<plaintext><a href=x>`, `<`, `</`, `<a`, `<!`, `<!-`, `x<!--`,
}

// FuzzScanner: the scanner finds the tags, attributes and texts that the HTML package's Tokenizer finds.
func FuzzScanner(f *testing.F) {
	for _, doc := range fuzzDocs {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		// The Tokenizer replaces NUL, and leaves a script's escaped state at any "<"
		// (the standard does not); neither has to do with how tags are cut.
		if bytes.IndexByte(doc, 0) >= 0 || bytes.Contains(doc, []byte("<!--")) && bytes.Contains(bytes.ToLower(doc), []byte("<script")) {
			return
		}
		got, want := scanned(doc), tokenized(doc)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("%q\nscanner:   %q\nTokenizer: %q", doc, got, want)
			}
		}
	})
}

// scanned is the scanner's view of a document, a string a token.
func scanned(doc []byte) []string {
	var out []string
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, "text "+text.String())
			text.Reset()
		}
	}
	s := scanner{doc: doc}
	for {
		switch kind := s.next(); kind {
		case endOfDocument:
			flush()
			return out
		case textToken:
			text.Write(s.text)
		case endTag:
			flush()
			out = append(out, "end "+string(toLower(nil, s.name)))
		case startTag:
			flush()
			if s.raw == "noscript" {
				s.raw = ""
			}
			token := "start " + string(toLower(nil, s.name))
			seen := map[string]bool{}
			for at := s.attrStart; ; {
				name, value, end, more := nextAttr(doc, at)
				if !more {
					break
				}
				at = end
				if key := string(toLower(nil, name)); !seen[key] {
					seen[key] = true
					var scratch []byte
					token += " " + key + "=" + string(unescapeAttr(&scratch, value))
				}
			}
			out = append(out, normal(token))
		}
	}
}

// normal has line ends as the Tokenizer has them in attributes.
func normal(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func tokenized(doc []byte) []string {
	var out []string
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, "text "+text.String())
			text.Reset()
		}
	}
	z := html.NewTokenizer(bytes.NewReader(doc))
	for {
		switch z.Next() {
		case html.ErrorToken:
			flush()
			return out
		case html.TextToken:
			text.Write(z.Raw())
		case html.EndTagToken:
			flush()
			name, _ := z.TagName()
			out = append(out, "end "+string(name))
		case html.StartTagToken, html.SelfClosingTagToken:
			flush()
			name, more := z.TagName()
			token := "start " + string(name)
			if string(name) == "noscript" {
				z.NextIsNotRawText()
			}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				token += " " + string(key) + "=" + string(value)
			}
			out = append(out, normal(token))
		}
	}
}

// FuzzExtract: whatever the document, each outlink is canonical and stands once.
func FuzzExtract(f *testing.F) {
	for _, doc := range fuzzDocs {
		f.Add([]byte(doc), "utf-8")
		f.Add([]byte(doc), "gbk")
	}
	f.Fuzz(func(t *testing.T, doc []byte, charset string) {
		before := bytes.Clone(doc)
		base := canon.FromOrigin("http://example.org", "/a/b.html?c")
		p := Extract(doc, base, charset, Options{Text: true, Product: "amble"})
		if !bytes.Equal(doc, before) {
			t.Fatal("the document was changed")
		}
		type key struct {
			u   canon.URL
			hop byte
		}
		seen := map[key]bool{}
		for _, o := range p.Outlinks {
			again, err := canon.Parse(o.URL.String())
			if err != nil || again != o.URL {
				t.Fatalf("%q becomes %q, %v", o.URL, again, err)
			}
			k := key{o.URL, o.Hop}
			if seen[k] {
				t.Fatalf("%q stands twice", o.URL)
			}
			seen[k] = true
			if o.Rel == "" || len(o.Text) > textBytes {
				t.Fatalf("%+v", o)
			}
		}
		if p.Base.IsZero() || len(p.Title) > titleBytes {
			t.Fatalf("base %q, title of %d bytes", p.Base, len(p.Title))
		}
	})
}
