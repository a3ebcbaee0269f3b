package canon

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustParse(t testing.TB, s string) URL {
	t.Helper()
	u, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAccessors(t *testing.T) {
	tests := []struct {
		in, href, scheme, hostname, port, host, origin, pace, target, path, query string
		hasQuery                                                                  bool
	}{
		{"http://example.org", "http://example.org/", "http", "example.org", "80", "example.org", "http://example.org", "example.org", "/", "/", "", false},
		{"HTTPS://Example.org:443/a?#f", "https://example.org/a?", "https", "example.org", "443", "example.org", "https://example.org", "example.org", "/a?", "/a", "", true},
		{"http://user:pw@example.org:8080/a/b?c=d?e", "http://example.org:8080/a/b?c=d?e", "http", "example.org", "8080", "example.org:8080", "http://example.org:8080", "example.org:8080", "/a/b?c=d?e", "/a/b", "c=d?e", true},
		{"http://example.org:443/", "http://example.org:443/", "http", "example.org", "443", "example.org:443", "http://example.org:443", "example.org", "/", "/", "", false},
		{"https://example.org:80/", "https://example.org:80/", "https", "example.org", "80", "example.org:80", "https://example.org:80", "example.org", "/", "/", "", false},
		{"http://[2001:DB8:0:0::1]:80/b?x=[y]", "http://[2001:db8::1]/b?x=[y]", "http", "[2001:db8::1]", "80", "[2001:db8::1]", "http://[2001:db8::1]", "[2001:db8::1]", "/b?x=[y]", "/b", "x=[y]", true},
		{"http://[::1]:8080/", "http://[::1]:8080/", "http", "[::1]", "8080", "[::1]:8080", "http://[::1]:8080", "[::1]:8080", "/", "/", "", false},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/", "http", "127.0.0.1", "8080", "127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080", "/", "/", "", false},
	}
	for _, tt := range tests {
		u := mustParse(t, tt.in)
		q, has := u.Query()
		got := []string{u.String(), u.Scheme(), u.Hostname(), u.Port(), u.Host(), u.Origin(), u.PaceKey(), u.RequestTarget(), u.Path(), q}
		want := []string{tt.href, tt.scheme, tt.hostname, tt.port, tt.host, tt.origin, tt.pace, tt.target, tt.path, tt.query}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %q, want %q", tt.in, got, want)
				break
			}
		}
		if has != tt.hasQuery {
			t.Errorf("%s: has a query: %v", tt.in, has)
		}
		if again := FromOrigin(u.Origin(), u.RequestTarget()); again != u {
			t.Errorf("%s: taken apart and put together: %s", tt.in, again)
		}
	}
}

func TestZeroURL(t *testing.T) {
	var u URL
	q, has := u.Query()
	for _, s := range []string{u.String(), u.Scheme(), u.Hostname(), u.Port(), u.Host(), u.Origin(), u.PaceKey(), u.RequestTarget(), u.Path(), q, u.SURT()} {
		if s != "" {
			t.Errorf("an accessor of the zero URL gives %q", s)
		}
	}
	if has || !u.IsZero() {
		t.Error("the zero URL is not zero")
	}
	if _, err := u.Resolve("/relative"); !errors.Is(err, ErrSyntax) {
		t.Errorf("relative reference without a base: %v", err)
	}
}

// The faults that users of other crawlers reported, by their number.
func TestReportedFaults(t *testing.T) {
	tests := []struct{ id, in, want string }{
		{"UR-01", "http://example.org/d%25", "http://example.org/d%25"},
		{"UR-01", "http://example.org/a%23b#f", "http://example.org/a%23b"},
		{"UR-01", "http://example.org/a%2Fb", "http://example.org/a%2Fb"},
		{"UR-01", "http://example.org/a%3Fb", "http://example.org/a%3Fb"},
		{"UR-01", "http://example.org/a%3Bb", "http://example.org/a%3Bb"},
		{"UR-01", "http://%25user:%25pass@example.org/", "http://example.org/"},
		{"UR-01", "http://example.org/%7Euser/%41", "http://example.org/%7Euser/%41"},
		{"UR-02", "http://example.org/50%+off", "http://example.org/50%+off"},
		{"UR-02", "http://example.org/s?tags[]=a&x=100%", "http://example.org/s?tags[]=a&x=100%"},
		{"UR-02", "http://example.org/p[1].html", "http://example.org/p[1].html"},
		{"UR-04", "http://example%2Eorg/", "http://example.org/"},
		{"UR-04", "http://b\u00fccher.example:80/", "http://xn--bcher-kva.example/"},
		{"UR-04", "http://B%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
		{"UR-04", "HTTP://EXAMPLE.org:/", "http://example.org/"},
		{"UR-04", "http://example.org./", "http://example.org/"},
		{"UR-04", "http://0x7f.1/", "http://127.0.0.1/"},
		{"UR-04", "http://2130706433/", "http://127.0.0.1/"},
		{"UR-04", "http://[2001:DB8:0:0::1]:80/b?x=[y]", "http://[2001:db8::1]/b?x=[y]"},
		{"UR-06", "http://example.org/r?b=2&a=1&b=1", "http://example.org/r?b=2&a=1&b=1"},
		{"UR-06", "http://example.org/r?q=c%2B%2B+x", "http://example.org/r?q=c%2B%2B+x"},
		{"UR-06", "http://example.org/r?flag", "http://example.org/r?flag"},
		{"UR-06", "http://example.org/r?flag=", "http://example.org/r?flag="},
		{"UR-06", "http://example.org/cgi?77", "http://example.org/cgi?77"},
	}
	for _, tt := range tests {
		u, err := Parse(tt.in)
		if err != nil || u.String() != tt.want {
			t.Errorf("%s: Parse(%q) = %q, %v; want %q", tt.id, tt.in, u, err, tt.want)
			continue
		}
		if again := mustParse(t, u.String()); again != u {
			t.Errorf("%s: %q becomes %q", tt.id, u, again)
		}
	}
}

// One name, with or without its last dot, is one host; a name that has other
// empty labels at its end stays what it is.
func TestTrailingDot(t *testing.T) {
	tests := []struct{ in, want string }{
		{"http://example.org.:8080/a", "http://example.org:8080/a"},
		{"http://user@example.org.", "http://example.org/"},
		{"http://127.0.0.1./", "http://127.0.0.1/"},
		{"http://example.org../", "http://example.org../"},
		{"http://./", "http://./"},
	}
	for _, tt := range tests {
		if u, err := Parse(tt.in); err != nil || u.String() != tt.want {
			t.Errorf("Parse(%q) = %q, %v; want %q", tt.in, u, err, tt.want)
		}
	}
}

// A label that claims to be Punycode and is not stays, as the standard says, and
// spoils neither what is resolved against it nor what else is refused.
func TestInvalidPunycode(t *testing.T) {
	base := mustParse(t, "http://XN--pokxncvks.example/a")
	tests := []struct{ ref, want string }{
		{"b", "http://xn--pokxncvks.example/b"},
		{"\\b", "http://xn--pokxncvks.example/b"},
		{"HTTP://OTHER.example/", "http://other.example/"},
		{"http://[::1]:81/\\", "http://[::1]:81//"},
		{"http://%78n--pokxncvks./", "http://xn--pokxncvks/"},
		{"http://\u00e9.xn--pokxncvks/", ""},
		{"http://xn--a b/", ""},
		{"http://a<b/", ""},
	}
	for _, tt := range tests {
		if u, err := base.Resolve(tt.ref); u.String() != tt.want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", tt.ref, u, err, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	long := "/" + strings.Repeat("a", MaxLength)
	tests := []struct {
		ref  string
		want error
	}{
		{"mailto:someone@example.org", ErrScheme},
		{"JavaScript:void(0)", ErrScheme},
		{" data:text/html,<a href=x>", ErrScheme},
		{"ftp://example.org/", ErrScheme},
		{"about:blank", ErrScheme},
		{"java\nscript:0", ErrScheme},
		{"http://", ErrSyntax},
		{"http://a b/", ErrSyntax},
		{"//exa<mple/", ErrSyntax},
		{"http://h:99999/", ErrSyntax},
		{"http://[::1/", ErrSyntax},
		{"http://[[::1]]/", ErrSyntax},
		{"http://1.-2.3.4/", ErrSyntax},
		{"http://-1/", ErrSyntax},
		{"http://" + strings.Repeat("a", 3000) + "/", ErrSyntax},
		{"http://999999999999/", ErrSyntax},
		{long, ErrSyntax},
		// Within the limit as written, beyond it once percent-encoded.
		{"/" + strings.Repeat("\u00e9", MaxLength/4), ErrSyntax},
	}
	base := mustParse(t, "http://example.org/")
	for _, tt := range tests {
		u, err := base.Resolve(tt.ref)
		if !errors.Is(err, tt.want) || !u.IsZero() {
			t.Errorf("Resolve(%.40q) = %q, %v; want %v", tt.ref, u, err, tt.want)
		}
		if err != nil && len(err.Error()) > 1024 {
			t.Errorf("Resolve(%.40q): the error has %d bytes", tt.ref, len(err.Error()))
		}
	}
}

func TestResolveCharset(t *testing.T) {
	base := mustParse(t, "http://example.org/a/b")
	tests := []struct{ name, ref, charset, want string }{
		{"CS-05", "/\u4e2d?q=\u4e2d", "gbk", "http://example.org/%E4%B8%AD?q=%D6%D0"},
		{"path alone", "/caf\u00e9.pdf", "windows-1252", "http://example.org/caf%C3%A9.pdf"},
		{"one byte", "?q=\u00e9&x='", "windows-1252", "http://example.org/a/b?q=%E9&x=%27"},
		{"utf-8", "?q=\u00e9", "utf-8", "http://example.org/a/b?q=%C3%A9"},
		{"no charset", "?q=\u00e9", "", "http://example.org/a/b?q=%C3%A9"},
		{"unknown charset", "?q=\u00e9", "x-nonsense", "http://example.org/a/b?q=%C3%A9"},
		{"utf-16 encodes as utf-8", "?q=\u00e9", "utf-16le", "http://example.org/a/b?q=%C3%A9"},
		{"unmappable", "?q=\u2603\u00e9", "windows-1252", "http://example.org/a/b?q=%26%239731%3B%E9"},
		{"fragment", "?q=\u00e9#\u00e9", "windows-1252", "http://example.org/a/b?q=%E9"},
		{"white space", " ?q=\u00e9\n\u00e9 \t", "windows-1252", "http://example.org/a/b?q=%E9%E9"},
		{"second question mark", "c?q=\u00e9?\u00e9", "windows-1252", "http://example.org/a/c?q=%E9?%E9"},
		{"shifting states", "?\u3042\u3044", "iso-2022-jp", "http://example.org/a/b?%1B$B$%22$$%1B(B"},
		{"second byte in ASCII", "?\u8868", "shift_jis", "http://example.org/a/b?%95\\"},
		{"absolute", "http://b\u00fccher.example/\u00e9?\u00e9", "windows-1252", "http://xn--bcher-kva.example/%C3%A9?%E9"},
	}
	for _, tt := range tests {
		if u, err := base.ResolveCharset(tt.ref, tt.charset); err != nil || u.String() != tt.want {
			t.Errorf("%s: ResolveCharset(%q, %q) = %q, %v; want %q", tt.name, tt.ref, tt.charset, u, err, tt.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	a, b := mustParse(t, "http://example.org/a"), mustParse(t, "http://example.org/b")
	if a.Fingerprint(1) != mustParse(t, "HTTP://EXAMPLE.ORG/a#x").Fingerprint(1) {
		t.Error("one URL has two fingerprints")
	}
	if a.Fingerprint(1) == a.Fingerprint(2) || a.Fingerprint(1) == b.Fingerprint(1) {
		t.Error("seed or URL does not change the fingerprint")
	}
}

// References built from the pieces that matter, so that the fast path and the
// full parser meet far more often than on random bytes.
func TestFastPathIsTheFullParser(t *testing.T) {
	piece := rapid.SampledFrom([]string{"/", "/", "//", ".", "..", "%2e", "%2E", "a", "b.html", "?", "#", "&", "=", ":", "@", "%",
		"%41", "~", "'", "|", "^", "[", "]", "\\", " ", "\t", "http:", "https://", "h.example", "EXAMPLE", "xn--", "127.0.0.1", "0x7f", "1", "-", "_", ":80", ":443", ":8080", "\u00e9", "{", "`"})
	rapid.Check(t, func(t *rapid.T) {
		baseText := rapid.SampledFrom([]string{"http://example.org/", "https://example.org:8443/a/b/c.html?q=1", "http://127.0.0.1/a//b/", "http://[::1]/x?"}).Draw(t, "base")
		ref := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		base, err := Parse(baseText)
		if err != nil {
			t.Fatal(err)
		}
		u, err := base.Resolve(ref)
		full, fullErr := parseFull(base.href, ref)
		if u != full || (err == nil) != (fullErr == nil) {
			t.Fatalf("Resolve(%q) = %q, %v; full parser: %q, %v", ref, u, err, full, fullErr)
		}
		if err != nil {
			return
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Fatalf("%q becomes %q, %v", u, again, err)
		}
	})
}
