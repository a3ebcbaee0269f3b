package robots

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzDecide: no file and no target is a panic, and what is decided can be explained: the rule named stands on its line, is of
// the kind that the verdict says, and /robots.txt is open.
func FuzzDecide(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /x\nAllow: /x/y$\nCrawl-delay: 1.5\nSitemap: http://a.example/s.xml"), "amble", "/x/y")
	f.Add([]byte("\xef\xbb\xbfuser-agent:amble\r\rdisallow:/%7E?a=http://*"), "Amble/1.0", "/~?a=http%3A%2F%2Fx")
	f.Add([]byte("User-agent: *\nDisallow: /"+strings.Repeat("*a", 200)+"$\n"), "x", "/"+strings.Repeat("a", 300)+"b")
	f.Add([]byte("User-agent: * \x00\nDisallow: /%\nDisallow: /%zz#\nAllow: *"), "", "?%")
	f.Add([]byte("<!DOCTYPE html><title>404: none</title>"), "*", "")
	f.Fuzz(func(t *testing.T, file []byte, token, target string) {
		rules := Parse(file)
		g := rules.Group(token)
		d := g.Decide(target)
		if again := Parse(file).Group(token).Decide(target); again != d {
			t.Fatalf("%+v, then %+v", d, again)
		}
		if !g.Decide("/robots.txt").Allowed {
			t.Fatal("/robots.txt is not allowed")
		}
		if delay, ok := g.CrawlDelay(); delay < 0 || delay > maxDelay || !ok && delay != 0 {
			t.Fatalf("delay %v", delay)
		}
		for _, s := range rules.Sitemaps() {
			if s == "" || !bytes.Contains(file, []byte(s)) {
				t.Fatalf("sitemap %q is not of the file", s)
			}
		}
		if d.Line == 0 {
			if !d.Allowed || d.Rule != "" {
				t.Fatalf("no rule, but %+v", d)
			}
			return
		}
		key, _, _ := strings.Cut(d.Rule, ":")
		if want := map[bool]string{true: "allow", false: "disallow"}[d.Allowed]; !strings.EqualFold(strings.TrimRight(key, " \t"), want) {
			t.Fatalf("%+v: the rule says otherwise", d)
		}
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(file)), "\n")
		if got := lines[d.Line-1]; !strings.Contains(got, d.Rule) {
			t.Fatalf("%+v: line %d is %q", d, d.Line, got)
		}
	})
}

// FuzzSecondOpinion: the other library must not take Amble down.
func FuzzSecondOpinion(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /x*y$\nCrawl-delay: 1\nHost: a"), "amble", "/x")
	f.Add([]byte("\xef\xbb\xbfUser-agent\nDisallow: %\n:\n"), "", "")
	f.Fuzz(func(t *testing.T, file []byte, token, target string) {
		SecondOpinion(file, token, target)
	})
}
