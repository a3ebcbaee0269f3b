package frontier

import (
	"regexp"
	"strings"
	"testing"
)

// check asks for a link of the seed, one hop away.
func check(t *testing.T, rules Rules, seedURL, link string, change func(*Seed, *Candidate)) Reason {
	t.Helper()
	f, _ := create(t, Options{Rules: rules})
	s := Seed{URL: parse(t, seedURL), Raw: seedURL, Implied: -1}
	c := Candidate{URL: parse(t, link), Hop: 'L'}
	if change != nil {
		change(&s, &c)
	}
	b := f.NewBatch()
	if _, v := f.AddSeed(b, s); !v.New {
		t.Fatalf("seed %s: %+v", seedURL, v)
	}
	why := f.Check(c)
	if v := f.Admit(b, c); v.Skip != why {
		t.Fatalf("Admit says %q, Check says %q", v.Skip, why)
	} else if why != "" && (!v.First || v.Ordinal != NoOrdinal || f.Admit(b, c).First) {
		t.Fatalf("skipped as %+v", v)
	}
	commit(t, f, b)
	return why
}

func TestScope(t *testing.T) {
	for _, c := range []struct {
		scope      Scope
		seed, link string
		in         bool
	}{
		{ScopePage, "http://a.example/x", "http://a.example/y", false},
		{ScopePage, "http://a.example/x", "https://a.example/x", false},
		{ScopePath, "http://a.example/d/x", "http://a.example/d/y?q", true},
		{ScopePath, "http://a.example/d/x", "https://www.a.example/d/e/z", true},
		{ScopePath, "http://a.example/d/x", "http://a.example/dx", false},
		{ScopePath, "http://a.example/d/x", "http://a.example/", false},
		{ScopePath, "http://a.example/d/", "http://a.example/d", false},
		{ScopePath, "http://a.example/d/?u=/e/", "http://a.example/d/y", true},
		{ScopePath, "http://a.example/d/x", "http://b.example/d/y", false},
		{ScopeHost, "http://a.example/d/x", "https://a.example/", true},
		{ScopeHost, "http://www.a.example/", "https://a.example/", true},
		{ScopeHost, "https://a.example/", "http://www.a.example/", true},
		{ScopeHost, "http://a.example/", "https://a.example:80/", true},
		{ScopeHost, "http://a.example/", "http://a.example:8080/", false},
		{ScopeHost, "http://a.example:8080/", "http://a.example/", false},
		{ScopeHost, "http://a.example:8080/", "https://www.a.example:8080/", true},
		{ScopeHost, "http://a.example/", "http://b.a.example/", false},
		{ScopeHost, "http://a.example/", "http://aa.example/", false},
		{ScopeHost, "http://127.0.0.1/", "http://127.0.0.2/", false},
		{ScopeHost, "http://[::1]/", "https://[::1]/x", true},
		{"", "http://a.example/", "http://a.example/x", true},
		{"", "http://a.example/", "http://b.example/x", false},
		{ScopeDomain, "http://www.a.co.uk/", "https://b.a.co.uk:8080/", true},
		{ScopeDomain, "http://www.a.co.uk/", "http://b.co.uk/", false},
		{ScopeDomain, "http://a.example/", "http://ba.example/", false},
		{ScopeDomain, "http://me.github.io/", "http://you.github.io/", false},
		{ScopeDomain, "http://github.io/", "http://you.github.io/", false},
		{ScopeDomain, "http://127.0.0.1/", "http://1.127.0.0.1.example/", false},
		{ScopeAll, "http://a.example/", "https://elsewhere.test:99/", true},
	} {
		want := ReasonScope
		if c.in {
			want = ""
		}
		if got := check(t, Rules{Scope: c.scope, Depth: -1}, c.seed, c.link, nil); got != want {
			t.Errorf("scope %q of %s: %s gives %q, want %q", c.scope, c.seed, c.link, got, want)
		}
		bySeed := func(s *Seed, _ *Candidate) { s.Scope = c.scope }
		if got := check(t, Rules{Scope: ScopeHost, Depth: -1}, c.seed, c.link, bySeed); got != want {
			t.Errorf("the seed's scope %q of %s: %s gives %q, want %q", c.scope, c.seed, c.link, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	re := func(s ...string) (list []*regexp.Regexp) {
		for _, x := range s {
			list = append(list, regexp.MustCompile(x))
		}
		return list
	}
	link := func(*Seed, *Candidate) {}
	at := func(viaDepth int, viaPath string, hop byte) func(*Seed, *Candidate) {
		return func(_ *Seed, c *Candidate) { c.ViaDepth, c.ViaPath, c.Hop = viaDepth, viaPath, hop }
	}
	sitemap := func(_ *Seed, c *Candidate) { c.Hop, c.Flags = 'M', FlagSitemap }
	listed := func(_ *Seed, c *Candidate) { c.Hop, c.Flags = 'M', FlagListed }
	seedDepth := func(d int) func(*Seed, *Candidate) { return func(s *Seed, _ *Candidate) { s.Depth = &d } }
	for name, c := range map[string]struct {
		rules  Rules
		link   string
		change func(*Seed, *Candidate)
		want   Reason
	}{
		"also host":                   {Rules{Depth: -1, Also: []string{"b.example"}}, "https://www.b.example/x", link, ""},
		"also host, other port":       {Rules{Depth: -1, Also: []string{"b.example"}}, "https://b.example:8080/x", link, ReasonScope},
		"also host and port":          {Rules{Depth: -1, Also: []string{"b.example:8080"}}, "http://b.example:8080/x", link, ""},
		"also subdomains":             {Rules{Depth: -1, Also: []string{"*.b.example"}}, "http://x.y.b.example/", link, ""},
		"also subdomains, itself":     {Rules{Depth: -1, Also: []string{"*.b.example"}}, "http://b.example/", link, ReasonScope},
		"also prefix":                 {Rules{Depth: -1, Also: []string{"https://B.example:443/d/"}}, "https://b.example/d/x", link, ""},
		"also prefix, outside":        {Rules{Depth: -1, Also: []string{"https://b.example/d/"}}, "https://b.example/e", link, ReasonScope},
		"also prefix, scheme":         {Rules{Depth: -1, Also: []string{"https://b.example/"}}, "http://b.example/", link, ReasonScope},
		"include":                     {Rules{Depth: -1, Include: re("/x", "/y")}, "http://a.example/y", link, ""},
		"include narrows":             {Rules{Depth: -1, Include: re("/x")}, "http://a.example/z", link, ReasonScope},
		"include does not widen":      {Rules{Depth: -1, Include: re("b")}, "http://b.example/", link, ReasonScope},
		"exclude wins":                {Rules{Depth: -1, Include: re("/x"), Exclude: re(`\?`)}, "http://a.example/x?y", link, ReasonScope},
		"exclude wins over also":      {Rules{Depth: -1, Also: []string{"b.example"}, Exclude: re("b")}, "http://b.example/", link, ReasonScope},
		"include and sitemap file":    {Rules{Depth: -1, Include: re("/x")}, "http://a.example/sitemap.xml", sitemap, ""},
		"exclude and sitemap file":    {Rules{Depth: -1, Exclude: re("xml")}, "http://a.example/sitemap.xml", sitemap, ReasonScope},
		"include and listed":          {Rules{Depth: -1, Include: re("/x")}, "http://a.example/z", listed, ReasonScope},
		"sitemap of the domain":       {Rules{Depth: -1}, "http://cdn.a.example/sitemap.xml", sitemap, ""},
		"seed's own page":             {Rules{Scope: ScopePage, Depth: -1}, "http://a.example/sitemap.xml", sitemap, ReasonScope},
		"depth 0":                     {Rules{Depth: 0}, "http://a.example/x", link, ReasonDepth},
		"depth 0, redirect":           {Rules{Depth: 0}, "http://a.example/x", at(0, "", 'R'), ""},
		"depth 0, embed":              {Rules{Depth: 0}, "http://a.example/x", at(0, "", 'E'), ""},
		"depth 0, listed":             {Rules{Depth: 0}, "http://a.example/x", listed, ReasonDepth},
		"depth 0, sitemap file":       {Rules{Depth: 0}, "http://a.example/x", sitemap, ReasonDepth},
		"depth 1, listed":             {Rules{Depth: 1}, "http://a.example/x", listed, ""},
		"depth 2":                     {Rules{Depth: 2}, "http://a.example/x", at(1, "L", 'L'), ""},
		"depth 2, third":              {Rules{Depth: 2}, "http://a.example/x", at(2, "LL", 'L'), ReasonDepth},
		"unlimited":                   {Rules{Depth: -1}, "http://a.example/x", at(1000, "L", 'L'), ""},
		"seed's depth is less":        {Rules{Depth: -1}, "http://a.example/x", seedDepth(0), ReasonDepth},
		"seed's depth is more":        {Rules{Depth: 0}, "http://a.example/x", seedDepth(1), ""},
		"scope before depth":          {Rules{Depth: 0}, "http://b.example/x", link, ReasonScope},
		"embed off site":              {Rules{Depth: -1}, "http://b.example/x.png", at(0, "", 'E'), ReasonScope},
		"embed off site, all":         {Rules{Depth: -1, Embeds: EmbedsAll}, "http://b.example/x.png", at(0, "L", 'E'), ""},
		"embeds, three in a row":      {Rules{Depth: -1, Embeds: EmbedsAll}, "http://b.example/x.png", at(0, "EE", 'E'), ""},
		"embeds, four in a row":       {Rules{Depth: -1, Embeds: EmbedsAll}, "http://b.example/x.png", at(0, "EEE", 'E'), ReasonScope},
		"link off site, embeds all":   {Rules{Depth: -1, Embeds: EmbedsAll}, "http://b.example/x", link, ReasonScope},
		"embed of the site, page":     {Rules{Scope: ScopePage, Depth: -1, Embeds: EmbedsHost}, "http://a.example/x.png", at(0, "", 'E'), ""},
		"embed off site, embeds host": {Rules{Scope: ScopePage, Depth: -1, Embeds: EmbedsHost}, "http://b.example/x.png", at(0, "", 'E'), ReasonScope},
		"no such seed":                {Rules{Scope: ScopeAll, Depth: -1}, "http://a.example/x", func(_ *Seed, c *Candidate) { c.Seed = 9 }, ReasonScope},
		"path too deep":               {Rules{Depth: -1}, "http://a.example" + strings.Repeat("/x/y/z", 14), link, ReasonTrapDepth},
		"too long":                    {Rules{Depth: -1}, "http://a.example/" + longPath(maxURLBytes), link, ReasonTrapLength},
		"repeats":                     {Rules{Depth: -1}, "http://a.example/a/b/b/b/b/", link, ReasonTrapRepeat},
	} {
		if got := check(t, c.rules, "http://a.example/", c.link, c.change); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSitemapSeedOfDepth0(t *testing.T) {
	listed := func(s *Seed, c *Candidate) { s.Sitemap, c.Hop, c.Flags = true, 'M', FlagListed }
	if got := check(t, Rules{Depth: 0}, "http://a.example/sitemap.xml", "http://a.example/x", listed); got != "" {
		t.Error(got)
	}
}

func TestSeedsPass(t *testing.T) {
	f, _ := create(t, Options{Rules: Rules{Include: []*regexp.Regexp{regexp.MustCompile("/in")}, Exclude: []*regexp.Regexp{regexp.MustCompile("/out")}}})
	b := f.NewBatch()
	for _, s := range []string{"http://a.example/", "http://a.example/out", "http://a.example" + strings.Repeat("/x", 60)} {
		seed(t, f, b, s)
	}
}

func TestTrapPath(t *testing.T) {
	for path, want := range map[string]Reason{
		"/":                      "",
		"/a":                     "",
		"/a/a/a":                 "",
		"/a/a/a/":                "",
		"/a/a/a/a":               ReasonTrapRepeat,
		"/x/a/a/a/a/y":           ReasonTrapRepeat,
		"/a/b/a/b/a/b":           "",
		"/a/b/a/b/a/b/":          "",
		"/a/b/a/b/a/b/a":         "",
		"/a/b/a/b/a/b/a/b":       ReasonTrapRepeat,
		"/x/a/b/a/b/a/b/a/b/y":   ReasonTrapRepeat,
		"/a/1/a/2/a/3/a/4/a/5":   "",
		"/a/1/a/2/a/3/a/4/a/5/a": ReasonTrapRepeat,
		"/a/b/b/c/c/c/a/b/c/d":   "",
		"////":                   "",
		"/////x":                 ReasonTrapRepeat,
		"/www.b.example/p/www.b.example/p/www.b.example/p/www.b.example/p/": ReasonTrapRepeat,
		"/2024/2024/12/12": "",
	} {
		if got := trapPath(path, allTraps); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var distinct strings.Builder
	for i := range maxPathSegments {
		distinct.WriteString("/" + longPath(i+1))
	}
	if got := trapPath(distinct.String(), allTraps); got != "" {
		t.Errorf("%d segments: %q", maxPathSegments, got)
	}
	if got := trapPath(distinct.String()+"/y", allTraps); got != ReasonTrapDepth {
		t.Errorf("%d segments: %q", maxPathSegments+1, got)
	}
}

// TestRelativeLinkTrap is a page whose relative link stacks its path for ever: it stops by itself.
func TestRelativeLinkTrap(t *testing.T) {
	f, _ := create(t, Options{Rules: Rules{Scope: ScopeHost, Depth: -1}})
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	u := parse(t, "http://a.example/")
	for n := 1; ; n++ {
		next, err := u.Resolve("www.b.example/p/")
		if err != nil {
			t.Fatal(err)
		}
		v := f.Admit(b, Candidate{URL: next, Hop: 'L', ViaDepth: n - 1})
		if v.Skip == ReasonTrapRepeat && n == 4 {
			break
		}
		if !v.New {
			t.Fatalf("step %d: %+v", n, v)
		}
		u = next
	}
}

func TestAppendHop(t *testing.T) {
	path := ""
	for range maxHops {
		path = appendHop(path, 'L')
	}
	if path != strings.Repeat("L", maxHops) {
		t.Fatal(path)
	}
	path = appendHop(path, 'R')
	if path != "1+"+strings.Repeat("L", maxHops-1)+"R" {
		t.Fatal(path)
	}
	for range 10 {
		path = appendHop(path, 'E')
	}
	if path != "11+"+strings.Repeat("L", maxHops-11)+"R"+strings.Repeat("E", 10) {
		t.Fatal(path)
	}
}

func TestRecheck(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	f.Admit(b, Candidate{URL: parse(t, "http://b.example/"), Hop: 'L'})
	commit(t, f, b)
	f.Close()
	f, _ = reopen(t, path, Options{Rules: Rules{Scope: ScopeHost, Depth: -1, Exclude: []*regexp.Regexp{regexp.MustCompile("a")}}})
	for h, want := range []Reason{"", ReasonScope} {
		if got := f.Recheck(take(t, f, HostID(h))); got != want {
			t.Errorf("host %d: %q, want %q", h, got, want)
		}
	}
}
