package configs

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amble/frontier"
	"amble/frontier/canon"
	"amble/scheduler"
)

func seed(t *testing.T, url string) frontier.Seed {
	t.Helper()
	u, err := canon.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return frontier.Seed{URL: u, Implied: -1}
}

func set(pairs ...string) []Assignment {
	var flags []Assignment
	for i := 0; i < len(pairs); i += 2 {
		flags = append(flags, Assignment{pairs[i], []string{pairs[i+1]}, "--" + pairs[i]})
	}
	return flags
}

// Who may do what, by seeds and own: the error names the flag and the remedy, "" is no error.
func TestValidate(t *testing.T) {
	const public, intranet = "https://a.example/", "http://10.1.2.3/"
	for _, c := range []struct {
		name  string
		seed  string
		flags []Assignment
		want  string
	}{
		{"nobody", public, nil, "a contact is missing: give --contact"},
		{"a page as contact", public, set("contact", "https://me.example/crawl"), ""},
		{"an address as contact", public, set("contact", "me@me.example"), ""},
		{"mailto as contact", public, set("contact", "mailto:me@me.example"), ""},
		{"own needs none", public, set("own", "a.example"), ""},
		{"own by wildcard", "http://x.y.a.example/", set("own", "*.a.example"), ""},
		{"a wildcard is not its domain", public, set("own", "*.a.example"), "--own a.example if"},
		{"own by range", intranet, set("own", "10.0.0.0/8"), ""},
		{"own by address", intranet, set("own", "10.1.2.3"), ""},
		{"own by IPv6 range", "http://[fd00::1]:8080/", set("own", "fd00::/16"), ""},
		{"own in other spelling", "http://xn--bcher-kva.example/", set("own", "BÜCHER.example"), ""},
		{"a range covers no name", public, set("own", "10.0.0.0/8"), "a contact is missing"},
		{"a contact that breaks out of its comment", public, set("contact", "me@me.example) evil"), "is no contact"},
		{"a contact in a host alone", public, set("contact", "http://me/"), "is no contact"},
		{"a name as contact", public, set("contact", "me"), "is no contact"},
		{"javascript as contact", public, set("contact", "javascript:me@me.example"), "is no contact"},

		{"a floor for all", public, set("contact", "me@me.example", "floor", "0.2"), ""},
		{"a floor too low", public, set("contact", "me@me.example", "floor", "199ms"), "--floor: 199ms is under 200ms"},
		{"no floor for own", public, set("own", "a.example", "floor", "0"), ""},
		{"no floor beside own", public, set("contact", "me@me.example", "own", "b.example", "floor", "0"), "--own a.example"},
		{"robots.txt", public, set("contact", "me@me.example", "ignore-robots", "true"), "--ignore-robots: robots.txt can be ignored only"},
		{"robots.txt of own", public, set("own", "a.example", "ignore-robots", "true"), ""},
		{"robots.txt beside own", public, set("contact", "me@me.example", "own", "b.example", "ignore-robots", "true"), "a.example is not covered"},

		{"a browser", public, set("own", "a.example", "agent", "Mozilla/5.0"), "belongs to somebody else"},
		{"a bot", public, set("own", "a.example", "agent", "googleBOT"), "belongs to somebody else"},
		{"an agent", public, set("own", "a.example", "agent", "ExampleBot/1.0"), ""},
		{"an agent with a digit", public, set("own", "a.example", "agent", "Bot2"), "the name is what robots.txt asks for"},
		{"an agent that breaks the header", public, set("own", "a.example", "agent", "Bot/1\r\nX: y"), "the version has"},

		{"the whole internet", public, set("own", "0.0.0.0/0"), "more of the internet"},
		{"a top-level domain", "http://a.com/", set("own", "*.com"), "everybody's hosts"},
		{"a public suffix", "http://a.co.uk/", set("own", "*.co.uk"), "everybody's hosts"},
		{"a private name", "http://a.localhost/", set("own", "*.localhost"), ""},
		{"own with a port", public, set("own", "a.example:80"), "is neither a host"},
		{"own with a URL", public, set("own", "http://a.example/"), "is neither a host"},
		{"everything", public, set("own", "*"), "is neither a host"},

		{"scope", public, set("own", "a.example", "scope", "site"), `--scope: "site" is no scope`},
		{"sitemaps", public, set("own", "a.example", "sitemaps", "yes"), "auto, only, off"},
		{"include", public, set("own", "a.example", "include", "("), `--include: "("`},
		{"also", public, set("own", "a.example", "also", "b.example/x"), "nor a URL prefix"},
		{"workers", public, set("own", "a.example", "workers", "0"), "--workers: 0 is not between 1 and"},
		{"retries", public, set("own", "a.example", "retries", "0"), "1 asks once"},
		{"negative pages", public, set("own", "a.example", "max-pages", "-1"), "0 is no limit"},
		{"ceiling", public, set("own", "a.example", "ceiling", "0.1"), "under the floor of 500ms"},
		{"max-wait", public, set("own", "a.example", "max-wait", "0"), "too short"},
		{"resolvers", public, set("own", "a.example", "resolvers", "localhost"), "is no name server"},
		{"warc-prefix", public, set("own", "a.example", "warc-prefix", "../x"), "letters, digits and _ only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Load(Layers{Flags: c.flags})
			if err != nil {
				t.Fatal(err)
			}
			err = l.Validate([]frontier.Seed{seed(t, c.seed)}, false)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestValidateSeedFloor(t *testing.T) {
	l, err := Load(Layers{Flags: set("contact", "me@me.example", "own", "b.example")})
	if err != nil {
		t.Fatal(err)
	}
	fast := 10 * time.Millisecond
	a, b := seed(t, "http://a.example/"), seed(t, "http://b.example/")
	b.Floor = &fast
	if err := l.Validate([]frontier.Seed{a, b}, false); err != nil {
		t.Errorf("a floor of an own seed: %v", err)
	}
	a.Floor = &fast
	if err := l.Validate([]frontier.Seed{a, b}, false); err == nil || !strings.Contains(err.Error(), "10ms is under 200ms") {
		t.Errorf("a floor of a foreign seed: %v", err)
	}
}

// A resumed job was checked when it began; without a contact it goes on only where something is own.
func TestValidateResume(t *testing.T) {
	for _, c := range []struct {
		flags []Assignment
		ok    bool
	}{{nil, false}, {set("contact", "me@me.example"), true}, {set("own", "a.example"), true}} {
		l, err := Load(Layers{Flags: c.flags})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Validate(nil, true); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}

func TestHosts(t *testing.T) {
	const text = `contact: me@me.example
own: [b.example]
hosts:
  A.example: {floor: 2s, ceiling: 60, max-pages: 7, priority: -1, depth: 2, scope: path, label.topic: news, label: {x: y}, user: $U, password: $P}
  b.example:8080: {insecure: true, floor: 0}
  b.example:443: {user: me, traps: off}
  c.example: {traps: [trap-query, trap-depth]}
`
	l, err := Load(Layers{JobFile: write(t, "amble.yaml", text), Environ: []string{"U=me", "P=secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Validate([]frontier.Seed{seed(t, "http://a.example/")}, false); err != nil {
		t.Fatal(err)
	}
	cfg, err := l.Scheduler("1")
	if err != nil {
		t.Fatal(err)
	}
	two, minute, zero, low := 2*time.Second, time.Minute, time.Duration(0), -1
	want := map[string]scheduler.HostConfig{
		"a.example":      {Floor: &two, Ceiling: &minute, MaxPages: 7, Priority: &low, User: "me", Password: "secret"},
		"b.example:8080": {Insecure: true, Floor: &zero},
		"b.example":      {User: "me", Traps: []frontier.Reason{}},
		"c.example":      {Traps: []frontier.Reason{frontier.ReasonTrapQuery, frontier.ReasonTrapDepth}},
	}
	if diff := cmp.Diff(want, cfg.Hosts); diff != "" {
		t.Error(diff)
	}
	keys := l.ForHost("a.example")
	if keys.Scope != "path" || *keys.Depth != 2 || keys.Labels["topic"] != "news" || keys.Labels["x"] != "y" {
		t.Errorf("keys of a.example: %+v", keys)
	}
	if out := string(l.YAML()); strings.Contains(out, "secret") || !strings.Contains(out, "password: $P") {
		t.Errorf("what is written of a password:\n%s", out)
	}
	for name, c := range map[string]struct{ text, want string }{
		"foreign floor":    {"hosts: {a.example: {floor: 0}}", ":2: hosts.a.example: 0s is under 200ms"},
		"foreign insecure": {"hosts: {a.example: {insecure: true}}", "insecure is for hosts of your own only"},
		"literal password": {"hosts: {a.example: {password: x}}", "a password does not belong in a file"},
		"no variable":      {"hosts: {a.example: {user: $NOBODY}}", "the environment has no NOBODY"},
		"scope":            {"hosts: {a.example: {scope: x}}", `scope: "x" is no scope`},
		"no host":          {"hosts: {http://a.example: {scope: path}}", "is no host"},
		"traps":            {"hosts: {a.example: {traps: [trap-door]}}", "\"trap-door\" is neither off nor a list of trap-depth"},
		"ceiling":          {"hosts: {a.example: {floor: 9, ceiling: 8}}", "the ceiling 8s is under the floor 9s"},
	} {
		l, err := Load(Layers{JobFile: write(t, "amble.yaml", "contact: me@me.example\n"+c.text+"\n")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := l.Validate([]frontier.Seed{seed(t, "http://a.example/")}, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestScheduler(t *testing.T) {
	l, err := Load(Layers{Flags: set("contact", "https://me.example/", "agent", "ExampleBot/2", "own", "*.a.example", "own", "b.example",
		"own", "10.1.2.3/8", "also", "HTTP://c.example:80/d", "also", "C.example:81", "depth", "3", "include", "x+", "max-pages", "9")})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := l.Scheduler("1.2")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.Fetch.UserAgent, "ExampleBot/2 (+https://me.example/)"; got != want {
		t.Errorf("user agent %q, want %q", got, want)
	}
	if cfg.Product != "ExampleBot" || cfg.Fetch.RequireContact || cfg.Rules.Depth != 3 || cfg.Limits.Pages != 9 {
		t.Errorf("product %q, contact required %v, depth %d, pages %d", cfg.Product, cfg.Fetch.RequireContact, cfg.Rules.Depth, cfg.Limits.Pages)
	}
	wantOwn := scheduler.Own{Hosts: []string{"b.example"}, Suffixes: []string{".a.example"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	if diff := cmp.Diff(wantOwn, cfg.Own, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"http://c.example/d", "c.example:81"}, cfg.Rules.Also); diff != "" {
		t.Error(diff)
	}

	l, err = Load(Layers{Flags: set("own", "a.example")})
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err = l.Scheduler("1.2"); err != nil {
		t.Fatal(err)
	}
	if cfg.Fetch.UserAgent != "Amble/1.2" || cfg.Product != "Amble" || !cfg.Fetch.RequireContact || cfg.Rules.Depth != -1 {
		t.Errorf("user agent %q, product %q, contact required %v, depth %d", cfg.Fetch.UserAgent, cfg.Product, cfg.Fetch.RequireContact, cfg.Rules.Depth)
	}
}

// What a seed says of itself stands over what hosts: says of its host; labels add up.
func TestApply(t *testing.T) {
	one, two := Depth(1), Depth(2)
	base := SeedKeys{Depth: &one, Scope: "path", Labels: map[string]string{"a": "1", "b": "1"}}
	var keys SeedKeys
	for _, pair := range [][2]string{{"depth", "2"}, {"label.b", "2"}, {"floor", "3"}, {"priority", "5"}, {"max-pages", "10"}} {
		if err := keys.Set(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	var s frontier.Seed
	if err := keys.Apply(base, &s); err != nil {
		t.Fatal(err)
	}
	if *s.Depth != int(two) || s.Scope != frontier.ScopePath || *s.Floor != 3*time.Second || *s.Priority != 5 || s.MaxPages != 10 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, s.Labels); diff != "" {
		t.Error(diff)
	}
	if err := keys.Set("scope", "nowhere"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Apply(base, &s); err == nil {
		t.Error("a scope that is none was applied")
	}
	if err := keys.Set("dept", "2"); err == nil || !strings.Contains(err.Error(), `"depth"`) {
		t.Errorf("an unknown key: %v", err)
	}
}
