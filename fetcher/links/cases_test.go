package links

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amble/fetcher/charset"
	"amble/frontier/canon"
)

func mustParse(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// urls are the page's outlinks as strings.
func urls(p Page) []string {
	var out []string
	for _, o := range p.Outlinks {
		out = append(out, o.URL.String())
	}
	return out
}

// The faults that users of other crawlers reported, by their number.
func TestReportedFaults(t *testing.T) {
	padding := strings.Repeat(" ", 5000)
	tests := []struct {
		id, page, doc string
		want          []string
	}{
		{"EX-01", "http://example.org/n?id=1", "<a href=\" \n\thttp://test.example/ \n\">T</a>",
			[]string{"http://test.example/"}},
		{"EX-02 variant 1", "http://example.org/a/b.html",
			`<!-- <base href="http://evil.example/"> --><script>'<base href=/s/>'</script>` + padding +
				`<base href="javascript:0"><base target=_top><base href="sub/"><base href="/two/"><a href="p">x</a><a href="?q=1">y</a>`,
			[]string{"http://example.org/a/p", "http://example.org/a/b.html?q=1"}},
		{"EX-02 variant 2", "http://example.org/a/b.html",
			`<!-- <base href="http://evil.example/"> --><script>'<base href=/s/>'</script>` + padding +
				`<base target=_top><base href="sub/"><base href="/two/"><a href="p">x</a><a href="?q=1">y</a>`,
			[]string{"http://example.org/a/sub/p", "http://example.org/a/sub/?q=1"}},
		{"EX-04", "http://example.org/",
			`<META CONTENT="0; URL='next?a=1;b'junk" HTTP-EQUIV=REFRESH>  <meta http-equiv=refresh content="5;url=de/12/i.html">` +
				`<meta http-equiv=refresh content="0 ; UrL = /t">  <meta http-equiv=refresh content="3, /bare">  <meta http-equiv=refresh content="7">`,
			[]string{"http://example.org/next?a=1;b", "http://example.org/de/12/i.html", "http://example.org/t", "http://example.org/bare"}},
		{"EX-06", "http://example.org/",
			`<!-- <a href=/c> --><script>a.src='/j'; s="<a href=/js>"</script><textarea><a href=/ta></textarea>` +
				`<meta property=og:site_name content=Example.org><meta property=og:url content="http://example.org/og">` +
				`<noscript><a href=/ns>n</a></noscript><map><area href=/ar></map><svg><a xlink:href=/svg>s</a></svg><template><a href=/tpl>t</a></template>`,
			[]string{"http://example.org/ns", "http://example.org/ar", "http://example.org/svg"}},
		{"UR-02", "http://example.org/",
			`<a href="/50%+off">  <a href="/s?tags[]=a&x=100%">  <a href="/p[1].html">`,
			[]string{"http://example.org/50%+off", "http://example.org/s?tags[]=a&x=100%", "http://example.org/p[1].html"}},
		{"UR-06", "http://example.org/",
			`<a href="/r?b=2&a=1&b=1"> <a href="/r?q=c%2B%2B+x"> <a href="/r?flag"> <a href="/r?flag="> <a href="/cgi?77">`,
			[]string{"http://example.org/r?b=2&a=1&b=1", "http://example.org/r?q=c%2B%2B+x", "http://example.org/r?flag",
				"http://example.org/r?flag=", "http://example.org/cgi?77"}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			p := Extract([]byte(tt.doc), mustParse(t, tt.page), "utf-8", Options{})
			if diff := cmp.Diff(tt.want, urls(p)); diff != "" {
				t.Errorf("outlinks (-want +got):\n%s", diff)
			}
		})
	}
}

// CS-05: the query in the page's encoding, the path in UTF-8, from bytes to request-target.
func TestLinksInThePagesCharset(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"a", "<meta charset=gb2312><a href=\"/\xd6\xd0?q=\xd6\xd0\">", "/%E4%B8%AD?q=%D6%D0"},
		{"b", strings.Repeat("a ", 1000) + "<a href=\"/caf\u00e9.pdf\">", "/caf%C3%A9.pdf"},
	}
	for _, tt := range tests {
		t.Run("CS-05 "+tt.name, func(t *testing.T) {
			name, _ := charset.Detect([]byte(tt.doc), "text/html")
			p := Extract(charset.ToUTF8([]byte(tt.doc), name), mustParse(t, "http://example.org/"), name, Options{})
			if len(p.Outlinks) != 1 || p.Outlinks[0].URL.RequestTarget() != tt.want {
				t.Errorf("charset %s: outlinks %q, want one with target %q", name, urls(p), tt.want)
			}
		})
	}
}
