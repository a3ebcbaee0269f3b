package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amble/configs"
	"amble/frontier"
)

func noHosts(string) configs.SeedKeys { return configs.SeedKeys{} }

// A list as people have them: byte order mark, CR LF, blank lines, comments, no scheme, an invalid host, another scheme,
// a fragment. Each line is read or named.
func TestReadSeeds(t *testing.T) {
	list := "\ufeffhttp://a.example/\r\n\r\n# note\r\n  http://b.example/  \r\nc.example\r\nhttp://d.example7.55/x\r\n" +
		"ftp://e.example/\r\nhttp://a.example/#x"
	path := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"file": path, "stdin": "-"} {
		t.Run(name, func(t *testing.T) {
			seeds, bad, err := readSeeds([]string{"z.example:8080/p"}, from, strings.NewReader(list), noHosts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range seeds {
				got = append(got, fmt.Sprintf("%s %v", s.URL, s.TryHTTP))
			}
			want := []string{
				"https://z.example:8080/p true", "http://a.example/ false", "http://b.example/ false", "https://c.example/ true",
				"http://a.example/ false",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			where := map[string]string{"file": path, "stdin": "standard input"}[name]
			if len(bad) != 2 || bad[0].where != where+":6" || bad[1].where != where+":7" {
				t.Errorf("bad: %v", bad)
			}
		})
	}
}

func TestParseSeed(t *testing.T) {
	for _, c := range []struct{ in, url, problem string }{
		{"http://a.example", "http://a.example/", ""},
		{"HTTPS://A.example/b?c#d", "https://a.example/b?c", ""},
		{"http:/a.example/b", "http://a.example/b", ""},
		{"a.example/b?c", "https://a.example/b?c", ""},
		{"localhost", "https://localhost/", ""},
		{"localhost:8080", "https://localhost:8080/", ""},
		{"127.0.0.1:8080/x", "https://127.0.0.1:8080/x", ""},
		{"[::1]:80", "https://[::1]:80/", ""},
		{"bücher.example", "https://xn--bcher-kva.example/", ""},
		{"www", "", "that is no host name"},
		{"\ufeffhttp://a.example/", "", "byte order mark"},
		{"http://a.example/\ufeff", "", "byte order mark"},
		{"http://a.example/\x00", "", "control character in it (U+0000)"},
		{"http://a.exa\x1bmple/", "", "U+001B"},
		{"http://a.example/a\nb", "", "U+000A"},
		{"http://a.example/a\rb", "", "U+000D"},
		{"http://a.example/\u009b", "", "U+009B"},
		{"http://a.example/\x7f", "", "U+007F"},
		{"http://a.example/\tlabel.x=\x07", "", "U+0007"},
		{"mailto:me@a.example", "", "scheme is not http or https"},
		{"javascript:alert(1)", "", "scheme is not http or https"},
		{"file:///etc/passwd", "", "scheme is not http or https"},
		{"http://", "", "invalid URL"},
		{"http://me:secret@a.example/", "", "put user and password under hosts:"},
		{"http://a.example/ depth=1", "", "after a TAB, not a blank"},
		{"http://a.example/\tdepth", "", `"depth" is no key=value`},
		{"http://a.example/\tdepth=x", "", `depth: "x" is no depth`},
		{"http://a.example/\tscope=site", "", `"site" is no scope`},
		{"http://a.example/\tmax-pages=-1", "", "less than none"},
		{"http://a.example/\tlabel.=x", "", "a label needs a name"},
		{"http://a.example/\tlabels=x", "", "unknown key"},
	} {
		s, err := parseSeed(c.in, noHosts)
		switch {
		case c.problem == "" && (err != nil || s.URL.String() != c.url):
			t.Errorf("parseSeed(%q) = %s, %v, want %s", c.in, s.URL, err, c.url)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("parseSeed(%q): %v, want %s", c.in, err, c.problem)
		}
	}
}

func TestSeedKeys(t *testing.T) {
	three := configs.Depth(3)
	forHost := func(key string) configs.SeedKeys {
		if key == "a.example:81" {
			return configs.SeedKeys{Depth: &three, Labels: map[string]string{"from": "hosts"}}
		}
		return configs.SeedKeys{}
	}
	s, err := parseSeed(" http://a.example:81/ \t scope=path\tmax-pages = 20\tfloor=2\t\tpriority=-1\tlabel.topic=a b=c ", forHost)
	if err != nil {
		t.Fatal(err)
	}
	if s.Scope != frontier.ScopePath || s.MaxPages != 20 || *s.Floor != 2*time.Second || *s.Priority != -1 || *s.Depth != 3 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(map[string]string{"topic": "a b=c", "from": "hosts"}, s.Labels); diff != "" {
		t.Error(diff)
	}
	if s.Raw != "http://a.example:81/" || s.Implied != -1 {
		t.Errorf("raw %q, implied %d", s.Raw, s.Implied)
	}
}

func FuzzParseSeed(f *testing.F) {
	for _, s := range []string{"a.example", "http://b/\tdepth=1", "x:\ty", "[::1]", "//a", "http://u:p@h/", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSeed(text, noHosts)
		if err == nil && (s.URL.IsZero() || !strings.HasPrefix(s.URL.String(), "http")) {
			t.Errorf("%q gives the seed %q", text, s.URL)
		}
		if line := (badSeed{"f:1", text, err}).String(); err != nil && strings.ContainsAny(line, "\n\x1b\x00") {
			t.Errorf("%q is reported as %q", text, line)
		}
	})
}
