package links

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// found are the page's outlinks as "hop rel target", the target without the origin of the test's page.
func found(p Page) []string {
	var out []string
	for _, o := range p.Outlinks {
		s := fmt.Sprintf("%c %s %s", o.Hop, o.Rel, strings.TrimPrefix(o.URL.String(), "http://example.org"))
		if o.NoFollow {
			s += " nofollow"
		}
		out = append(out, s)
	}
	return out
}

func TestOutlinks(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []string
	}{
		{"page links", `<A HREF=/a>x</A><area href=/b rel="x NoFollow"><a name=n>`, []string{"L a /a", "L area /b nofollow"}},
		{"nofollow words", `<a href=/a rel=ugc><a href=/b rel=sponsored><a href=/c rel=nofollower>`,
			[]string{"L a /a nofollow", "L a /b nofollow", "L a /c"}},
		{"once each", `<a href=/a#1 rel=nofollow><a href=/a#2><img src=/a><a href="http://EXAMPLE.org:80/a">`, []string{"L a /a", "E img /a"}},
		{"empty", `<a href=""><img src=""><img src=" "><iframe src><link rel=icon href>`, []string{"L a /dir/page"}},
		{"link relations", `<link rel="alternate stylesheet" href=/1><link rel="shortcut ICON" href=/2><link rel=next href=/3><link rel=canonical href=/4>` +
			`<link rel=preconnect href=/5><link href=/6><link rel=copyright href=/7><link rel="preload" imagesrcset="/8 1x">` +
			`<link rel=alternate type=application/rss+xml href=/9><link rel=EditURI href=/10><link rel="https://api.w.org/" href=/11>`,
			[]string{"E link/stylesheet /1", "E link/icon /2", "L link/next /3", "L link/canonical /4", "L link /7", "E link/imagesrcset /8", "L link/alternate /9"}},
		{"frames", `<iframe src=/1><a href=/no></iframe><frameset><frame src=/2></frameset><noframes><a href=/3></noframes>`,
			[]string{"E iframe /1", "E frame /2", "L a /3"}},
		{"media", `<img src=/1 srcset="/2 1x,/3 2x"><picture><source srcset=/4></picture><video src=/5 poster=/6><source src=/7><track src=/8></video>` +
			`<audio src=/9></audio><embed src=/10><object data=/11></object><script src=/12></script><input type=IMAGE src=/13><input src=/no>`,
			[]string{"E img /1", "E img/srcset /2", "E img/srcset /3", "E source/srcset /4", "E video /5", "E video/poster /6", "E source /7",
				"E track /8", "E audio /9", "E embed /10", "E object /11", "E script /12", "E input /13"}},
		{"srcset", `<img srcset="/a,b 1x, /c , /d(1,2) 2x,,/e, /f (x,y) 1x,/g">`,
			[]string{"E img/srcset /a,b", "E img/srcset /c", "E img/srcset /d(1,2)", "E img/srcset /e", "E img/srcset /f", "E img/srcset /g"}},
		{"svg", `<svg><a href=/1><image href=/2 /><use xlink:href="/3#x"/><use href="#y"/><title>t</title></svg><image href=/no><a xlink:href=/no>`,
			[]string{"L a /1", "E image /2", "E use /3"}},
		{"forms are not followed", `<form action=/no><button formaction=/no2></form>`, nil},
		{"templates", `<template><template><a href=/no></template><a href=/no><base href=/no/></template><a href=/1><div><template shadowrootmode=open><a href=/2></template></div>`,
			[]string{"L a /1", "L a /2"}},
		{"text-only elements", `<title><a href=/1></title><style><a href=/2></style><xmp><a href=/3></xmp><noembed><a href=/4></noembed><a href=/5><plaintext><a href=/6>`,
			[]string{"L a /5"}},
		{"escaped script", `<script><!-- <script> </script><a href=/no> --></script><a href=/1><script><!-- < </script><a href=/2>`,
			[]string{"L a /1", "L a /2"}},
		{"script that never ends", `<a href=/1><script><a href=/no>`, []string{"L a /1"}},
		{"tag that never ends", `<a href=/1><a href="/no`, []string{"L a /1"}},
		{"bogus comments", `<? <a href=/no> ?><a href=/1></ <a href=/no>><!x <a href=/no>>`, []string{"L a /1"}},
		{"character references", `<a href="?a=1&amp;b=2&copy=3&#x26;c"><a href="?&notit;&lt=x&para;">`,
			[]string{"L a /dir/page?a=1&b=2&copy=3&c", "L a /dir/page?&notit;&lt=x%C2%B6"}},
		{"inner line breaks", "<a href='/a\n\tb\r/c'>", []string{"L a /ab/c"}},
		{"first of two attributes", `<a href=/1 HREF=/2>`, []string{"L a /1"}},
		{"meta refresh without seconds", `<meta http-equiv=refresh content="url=/no"><meta http-equiv=refresh content="; /no"><meta http-equiv=refresh content="5x/no">`, nil},
		{"meta refresh", `<meta http-equiv=refresh content=".5;/1"><meta http-equiv=refresh content="0 /2"><meta http-equiv=refresh content='1;url="/3"x'>` +
			`<noscript><meta http-equiv=refresh content="0;url=/4"></noscript><meta http-equiv=refresh content="0;urla">`,
			[]string{"R meta/refresh /1", "R meta/refresh /2", "R meta/refresh /3", "R meta/refresh /4", "R meta/refresh /dir/urla"}},
		{"base behind the link", `<a href=x><base href=/b/>`, []string{"L a /b/x"}},
		{"base elsewhere", `<base href="//other.example/b"><a href=x>`, []string{"L a http://other.example/x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Extract([]byte(tt.doc), mustParse(t, "http://example.org/dir/page"), "utf-8", Options{})
			if diff := cmp.Diff(tt.want, found(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPageFields(t *testing.T) {
	doc := `<html LANG="de-AT"><head><title> A &amp; B
		c </title><title>second</title><link rel=canonical href="javascript:0"><link rel="canonical" href="/c#x"><link rel=canonical href=/d>
		<meta name=ROBOTS content=" NoIndex, nofollow "><meta name=Amble content=none><meta name=otherbot content=noarchive><meta name content=x>
		<base href="/b/"></head>`
	p := Extract([]byte(doc), mustParse(t, "http://example.org/dir/page"), "utf-8", Options{Product: "amble"})
	if p.Title != "A & B c" || p.Lang != "de-AT" || p.Canonical.String() != "http://example.org/c" || p.Base.String() != "http://example.org/b/" {
		t.Errorf("title %q, lang %q, canonical %q, base %q", p.Title, p.Lang, p.Canonical, p.Base)
	}
	if diff := cmp.Diff([]string{"noindex, nofollow", "none"}, p.RobotsMeta); diff != "" {
		t.Errorf("robots meta (-want +got):\n%s", diff)
	}
	p = Extract([]byte(doc), mustParse(t, "http://example.org/dir/page"), "utf-8", Options{})
	if diff := cmp.Diff([]string{"noindex, nofollow"}, p.RobotsMeta); diff != "" {
		t.Errorf("robots meta without a product (-want +got):\n%s", diff)
	}
	p = Extract([]byte("<title>"+strings.Repeat("\u00e9", titleBytes)+"</title>"), p.Base, "utf-8", Options{})
	if len(p.Title) != titleBytes || !strings.HasSuffix(p.Title, "\u00e9") {
		t.Errorf("long title: %d bytes", len(p.Title))
	}
}

func TestText(t *testing.T) {
	doc := `<a href=/1> one <b>two</b>&amp;
		<i> three </i></a> no <a href=/2><img src=/i></a><a href=/2>later</a><a href=/3>open<a href=/4>` + strings.Repeat("\u00e9", 200) + `<a href=/5>to the end`
	p := Extract([]byte(doc), mustParse(t, "http://example.org/"), "utf-8", Options{Text: true})
	var got []string
	for _, o := range p.Outlinks {
		got = append(got, o.Text)
	}
	want := []string{"one two& three", "later", "", "open", strings.Repeat("\u00e9", 100), "to the end"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, o := range Extract([]byte(doc), p.Base, "utf-8", Options{}).Outlinks {
		if o.Text != "" {
			t.Errorf("text %q was not asked for", o.Text)
		}
	}
}

func TestRejected(t *testing.T) {
	doc := `<a href="mailto:x@example.org"><a href="javascript:void(0)"><a href="javascript:void(0)"><a href="http://a b/"><img src="data:image/png;base64,` +
		strings.Repeat("A", 1000) + `">`
	p := Extract([]byte(doc), mustParse(t, "http://example.org/"), "utf-8", Options{})
	want := []Rejected{
		{"mailto:x@example.org", true},
		{"javascript:void(0)", true},
		{"http://a b/", false},
		{("data:image/png;base64," + strings.Repeat("A", 1000))[:refBytes], true},
	}
	if diff := cmp.Diff(want, p.Rejected); diff != "" || len(p.Outlinks) != 0 {
		t.Errorf("outlinks %q, rejected (-want +got):\n%s", urls(p), diff)
	}
}

// In XHTML an empty script is no beginning of one.
func TestXHTML(t *testing.T) {
	doc := `<script src="/s"/><title/><a href="/1"/><template/><a href="/2"/>`
	base := mustParse(t, "http://example.org/")
	if diff := cmp.Diff([]string{"E script /s", "L a /1", "L a /2"}, found(Extract([]byte(doc), base, "utf-8", Options{XHTML: true}))); diff != "" {
		t.Errorf("as XHTML (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"E script /s"}, found(Extract([]byte(doc), base, "utf-8", Options{}))); diff != "" {
		t.Errorf("as HTML (-want +got):\n%s", diff)
	}
}

func TestManyLinks(t *testing.T) {
	var b strings.Builder
	for i := range MaxOutlinks + 10 {
		fmt.Fprintf(&b, "<a href=%d>", i)
	}
	p := Extract([]byte(b.String()), mustParse(t, "http://example.org/"), "utf-8", Options{})
	if len(p.Outlinks) != MaxOutlinks || p.Dropped != 10 {
		t.Errorf("%d outlinks, %d dropped", len(p.Outlinks), p.Dropped)
	}
}

// Documents built from the pieces that matter, for the comparison that FuzzScanner makes.
func TestScannerIsTheTokenizer(t *testing.T) {
	for name, pieces := range map[string][]string{
		"tags": {"<", ">", "/", "</", "a", "B", " ", "\n", "=", "'", `"`, "x", "&amp;", "&", "<!", "<!-", "-", "--", "!", "<!--", "-->", "<?",
			"title", "<title>", "</title", "<noscript>", "<plaintext>", "<xmp>", "</xmp>", "\u00e9"},
		"scripts":    {"<", ">", "/", "</", " ", "x", "'", "<script", "<script>", "</script", "</script>", "</SCRIPT\n>", "<style>", "</style>", "<a>"},
		"references": {"<a b='", "'>", "&", "#", "x", "X", "1", "f", ";", "=", "amp", "lt", "not", "notin", "in", "copy", "semi", "q", "128", "0", "xD800", "1114112"},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				doc := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), ""))
				if diff := cmp.Diff(tokenized(doc), scanned(doc)); diff != "" {
					t.Fatalf("%q (-Tokenizer +scanner):\n%s", doc, diff)
				}
			})
		})
	}
}
