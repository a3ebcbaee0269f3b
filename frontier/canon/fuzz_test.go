package canon

import (
	"errors"
	"strings"
	"testing"
)

var fuzzSeeds = []string{
	"http://example.org/", "https://example.org:8443/a/b.html?x=1#f", "HTTP://EXAMPLE.org:/", "http://example.org./",
	"http://0x7f.1/", "http://127.0.0.1:8080/a", "http://256.1.1.1/", "http://[2001:DB8:0:0::1]:80/b?x=[y]",
	"http://b\u00fccher.example:80/", "http://B%C3%BCcher.example/", "http://user:pass@h.example/x", "http://a..b/",
	"http://-1/", "http://1.-2.3.4/", "http://[[::1]]/", "http://xn--pokxncvks/", "http://a_b.example/c",
	"//h.example/x", "///x", "//", "/", "/a/./b", "/a/%2e%2E/b", "..", "../", "./..", "../../x?y", ".?q", "..#f",
	".htaccess", "a.b/c", "?q=c%2B%2B+x", "?", "#f", "", "a:b", "a/b:c", "50%+off", "/p[1].html", "s?t[]=a&x=100%",
	"mailto:x@y", "javascript:0", "data:,x", "http:x", "http:/x", "http:\\\\h\\p", " \n\t/x \n", "/a b?c d", "/caf\u00e9?q=\u4e2d",
	"/a^b`c{d}|e?f^g`h{i}'j", "/a'b", "/\xff?\xff",
}

// FuzzParse: the canonical form is a fixed point, and taking a URL apart and putting it together gives it back.
func FuzzParse(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := Parse(s)
		full, fullErr := parseFull("", s)
		if (err == nil) != (fullErr == nil) || u != full {
			t.Fatalf("Parse(%q) = %q, %v; full parser: %q, %v", s, u, err, full, fullErr)
		}
		if err != nil {
			if !u.IsZero() || !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrScheme) {
				t.Fatalf("Parse(%q) = %q, %v", s, u, err)
			}
			return
		}
		checkURL(t, u)
	})
}

// FuzzResolve: where the fast path answers, the full parser gives the same answer.
func FuzzResolve(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add("http://example.org/a/b.html?x", s)
		f.Add("https://127.0.0.1:8080/", s)
	}
	f.Add("http://example.org/a//b/", "..//./c")
	f.Fuzz(func(t *testing.T, baseText, ref string) {
		base, err := Parse(baseText)
		if err != nil {
			return
		}
		u, err := base.Resolve(ref)
		full, fullErr := parseFull(base.href, ref)
		if (err == nil) != (fullErr == nil) || u != full {
			t.Fatalf("%q.Resolve(%q) = %q, %v; full parser: %q, %v", base, ref, u, err, full, fullErr)
		}
		if err == nil {
			checkURL(t, u)
		}
	})
}

// FuzzResolveCharset: no encoding changes anything before the query, and the result is canonical.
func FuzzResolveCharset(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, "gbk")
		f.Add(s, "iso-2022-jp")
	}
	f.Fuzz(func(t *testing.T, ref, charset string) {
		base := FromOrigin("http://example.org", "/a/b?c")
		u, err := base.ResolveCharset(ref, charset)
		plain, plainErr := base.Resolve(ref)
		if (err == nil) != (plainErr == nil) && len(ref) < MaxLength/16 {
			t.Fatalf("ResolveCharset(%q, %q): %v; Resolve: %v", ref, charset, err, plainErr)
		}
		if err != nil || plainErr != nil {
			return
		}
		checkURL(t, u)
		if u.Origin() != plain.Origin() || u.Path() != plain.Path() {
			t.Fatalf("ResolveCharset(%q, %q) = %q; Resolve: %q", ref, charset, u, plain)
		}
	})
}

// checkURL holds what is true of every URL.
func checkURL(t *testing.T, u URL) {
	t.Helper()
	again, err := Parse(u.String())
	if err != nil || again != u {
		t.Fatalf("not a fixed point: %q becomes %q, %v", u, again, err)
	}
	if FromOrigin(u.Origin(), u.RequestTarget()) != u {
		t.Fatalf("FromOrigin(%q, %q) is not %q", u.Origin(), u.RequestTarget(), u)
	}
	q, has := u.Query()
	target := u.Path()
	if has {
		target += "?" + q
	}
	if target != u.RequestTarget() || !strings.HasPrefix(target, "/") {
		t.Fatalf("%q: path %q, query %q, %v", u, u.Path(), q, has)
	}
	if u.Origin() != u.Scheme()+"://"+u.Host() || u.Hostname() == "" || u.Port() == "" || !strings.HasPrefix(u.Host(), u.Hostname()) {
		t.Fatalf("%q: origin %q, scheme %q, host %q, hostname %q, port %q", u, u.Origin(), u.Scheme(), u.Host(), u.Hostname(), u.Port())
	}
	for i := 0; i < len(u.String()); i++ {
		if c := u.String()[i]; c <= ' ' || c >= 0x7f || c == '#' {
			t.Fatalf("%q holds byte %#x", u, c)
		}
	}
	if s := u.SURT(); s == "" {
		t.Fatalf("%q: empty SURT", u)
	}
}
