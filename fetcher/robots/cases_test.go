package robots

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// probes are decisions wanted of one group, "+/path" for allowed and "-/path" for not.
func probes(t *testing.T, file, token, want string) {
	t.Helper()
	g := Parse([]byte(file)).Group(token)
	for _, probe := range strings.Fields(want) {
		if got := g.Decide(probe[1:]); got.Allowed != (probe[0] == '+') {
			t.Errorf("%s, %s: got %+v in\n%.300s", token, probe, got, file)
		}
	}
}

// Case RB-01: the longest rule decides, whatever the order; allow on equal length.
func TestCaseRB01(t *testing.T) {
	rules := []string{"Disallow: /", "Allow: /public/", "Disallow: /adm/", "Allow: /adm/ajax.php", "Disallow: /tie", "Allow: /tie"}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		probes(t, "User-agent: *\n"+strings.Join(rules, "\n"), "amble", "+/public/x -/other -/adm/ +/adm/ajax.php +/tie/x")
		rng.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	}
}

// Case RB-02: groups of one name are one, nothing comes from "*" or from a name that ours begins with.
func TestCaseRB02(t *testing.T) {
	const file = "User-agent: example\nDisallow: /\n\nUser-agent: examplebot\nDisallow: /a\n\n" +
		"User-agent: *\nDisallow: /b\n\nUser-agent: ExampleBot\nDisallow: /c\n"
	probes(t, file, "examplebot", "-/a +/b -/c +/d")
	probes(t, file, "examplebot/1.0 (+http://example.org/bot)", "-/a +/b -/c +/d")
	if got := Parse([]byte(file)).Group("EXAMPLEBOT").Agent(); got != "examplebot" {
		t.Errorf("agent %q", got)
	}
}

// Case RB-04: other records end no run of user-agent lines, and a Crawl-delay is for the agents above it.
func TestCaseRB04(t *testing.T) {
	for _, extra := range []string{"Crawl-delay: 10", "Sitemap: http://example.org/s.xml"} {
		file := "User-agent: examplebot\n" + extra + "\nUser-agent: badbot\nDisallow: /\n"
		probes(t, file, "examplebot", "-/x")
		probes(t, file, "badbot", "-/x")
		rules := Parse([]byte(file))
		if extra[0] == 'S' {
			if got := rules.Sitemaps(); !slices.Equal(got, []string{"http://example.org/s.xml"}) {
				t.Errorf("sitemaps %q", got)
			}
			continue
		}
		if d, ok := rules.Group("examplebot").CrawlDelay(); d != 10*time.Second || !ok {
			t.Errorf("examplebot: delay %v, %v", d, ok)
		}
		if d, ok := rules.Group("badbot").CrawlDelay(); ok {
			t.Errorf("badbot: delay %v", d)
		}
	}
}

// Case RB-06: one normal form for rules and targets; reserved characters stay as they are written.
func TestCaseRB06(t *testing.T) {
	const file = "User-agent: *\nDisallow: /a%2Fb\nDisallow: /f-%2A.html\nDisallow: /p-%24\nDisallow: /foo/ツ\nDisallow: /bar/%62%61%7A\n"
	probes(t, file, "amble", "+/a/b -/a%2fb -/f-*.html +/f-zz.html -/p-$ +/p- -/foo/%E3%83%84 -/foo/%e3%83%84 -/bar/baz")
}

// Case RB-08: byte order mark, CR, blanks and comments.
func TestCaseRB08(t *testing.T) {
	const file = "\xef\xbb\xbfUser-agent: *\r \tDisallow : /no # why\r#Disallow: /commented\rdisALLOW:/nospace"
	probes(t, file, "amble", "-/no/x +/commented -/nospace")
}

// Case RB-10 (d) and (e): rules at the end of a long file count, a cut line does not.
func TestCaseRB10(t *testing.T) {
	comment := "# " + strings.Repeat("x", 61) + "\n"
	late := strings.Repeat(comment, 450<<10/len(comment)) + "User-agent: *\nDisallow: /secret/\n"
	probes(t, late, "amble", "-/secret/ +/x")

	// The limit is put just after the slash.
	const head, rule = "User-agent: *\nDisallow: /early\n", "Disallow: /private\n"
	cut := MaxBytes - len("Disallow: /") - len(head)
	pad := strings.Repeat("#", cut-1) + "\n"
	file := head + pad + rule + strings.Repeat(comment, 2000)
	if !strings.HasSuffix(file[:MaxBytes], "\nDisallow: /") {
		t.Fatal("the limit is not where it should be")
	}
	probes(t, file, "amble", "-/early +/private +/")
	// Who fetches no more than the limit hands in the same file without its rest.
	probes(t, file[:MaxBytes], "amble", "-/early +/private +/")
}

func TestLastLine(t *testing.T) {
	const head, rule = "User-agent: *\n", "Disallow: /x"
	pad := "#" + strings.Repeat("x", MaxBytes-len(head)-len(rule)-2) + "\n"
	whole := head + pad + rule
	if len(whole) != MaxBytes {
		t.Fatalf("%d bytes", len(whole))
	}
	probes(t, whole, "amble", "+/x")
	probes(t, whole+"\n", "amble", "-/x")
	probes(t, whole+"\r\n# more", "amble", "-/x")
	probes(t, whole+"y\n", "amble", "+/x +/xy")
	probes(t, whole[1:], "amble", "+/x")
	probes(t, head+pad[1:]+rule, "amble", "-/x")
}

func TestDecide(t *testing.T) {
	tests := []struct{ name, file, token, want string }{
		{"empty file", "", "amble", "+/ +/x"},
		{"no group for us", "User-agent: x\nDisallow: /", "amble", "+/x"},
		{"our empty group beats everybody's", "User-agent: *\nDisallow: /\nUser-agent: amble", "amble", "+/x"},
		{"everybody", "User-agent: *\nDisallow: /x", "", "-/x +/"},
		{"token in the file goes on with a digit", "User-agent: amble2\nDisallow: /x", "amble", "-/x"},
		{"name within a name", "User-agent: ambleside\nDisallow: /x", "amble", "+/x"},
		{"robots.txt", "User-agent: *\nDisallow: /", "amble", "+/robots.txt +/robots.txt?v=1 +/%72obots.txt -/robots.txt/ -/robots.txtx"},
		{"no path", "User-agent: *\nDisallow: /$", "amble", "-/ +/x -/#top"},
		{"query without path", "User-agent: *\nDisallow: /?x", "amble", "-?x -/?x"},
		{"fragment is no part", "User-agent: *\nDisallow: /x$", "amble", "-/x#y +/x%23y"},
		{"space in a rule", "User-agent: *\nDisallow: /a b", "amble", "-/a%20b +/a +/ab"},
		{"tab in a rule", "User-agent: *\nDisallow: /a\tb", "amble", "-/a%09b +/a"},
		{"octets that no URI holds", "User-agent: *\nDisallow: /{id}|\"<>^`\\", "amble", "-/%7Bid%7D%7C%22%3C%3E%5E%60%5C"},
		{"octets are not characters", "User-agent: *\nDisallow: /caf\xe9", "amble", "-/caf%E9 -/caf\xe9 +/café"},
		{"percent at the end", "User-agent: *\nDisallow: /100%$", "amble", "-/100% +/100%25 +/100"},
		{"escape beside a percent", "User-agent: *\nDisallow: /%%41", "amble", "-/%A -/%%41"},
		{"dollar in the middle", "User-agent: *\nDisallow: /a$b", "amble", "-/a$b -/a%24bc +/a"},
		{"dollar twice", "User-agent: *\nDisallow: /a$$", "amble", "-/a$ +/a +/a$b"},
		{"only a star", "User-agent: *\nDisallow: *", "amble", "-/ -/x"},
		{"only a star and dollar", "User-agent: *\nDisallow: *$", "amble", "-/ -/x"},
		{"only a dollar", "User-agent: *\nDisallow: $", "amble", "+/ +/x"},
		{"parts must not overlap", "User-agent: *\nDisallow: /ab*ba$", "amble", "+/aba -/abba -/abxba"},
		{"last part after the others", "User-agent: *\nDisallow: /*a*a$", "amble", "+/xa -/aa -/axxa"},
		{"trailing star counts", "User-agent: *\nDisallow: /a*\nAllow: /a", "amble", "-/a"},
		{"octets in the normal form", "User-agent: *\nDisallow: /%61b\nAllow: /abc\nAllow: /a", "amble", "-/ab +/abc"},
		{"reserved in a query, encoded in the file", "User-agent: *\nDisallow: /l?u=http%3A%2F%2Fx", "amble", "-/l?u=http://x -/l?u=http%3a%2f%2fx +/l?u=x"},
		{"reserved in a query, encoded in the target", "User-agent: *\nDisallow: /l?u=http://x", "amble", "-/l?u=http%3A%2F%2Fx -/l?u=http:/%2Fx"},
		{"slash after a query", "User-agent: *\nDisallow: /*/x", "amble", "-/a?b/x"},
		{"ampersand is another octet than its escape", "User-agent: *\nDisallow: /l?a%26b", "amble", "+/l?a&b -/l?a%26b"},
		{"control octets", "User-agent: *\nDisallow: /a\x00b\nDisallow: /c\x07\nDisallow: /d # \x00\nAllow: /e\x7f\nDisallow: /e", "amble", "+/a +/a%00b +/c -/d -/e"},
		{"keys as spelt", "User-agent: *\nDissallow: /a\nDisallow /b\nUser agent: x\nDisallow: /c", "amble", "+/a +/b -/c"},
		{"rules of nobody", "Disallow: /a\nUser-agent: *\nDisallow: /b", "amble", "+/a -/b"},
		{"an unusable rule ends the run", "User-agent: amble\nDisallow: x\nUser-agent: y\nDisallow: /b", "amble", "+/b"},
		{"an empty rule ends the run", "User-agent: amble\nAllow:\nUser-agent: y\nDisallow: /b", "amble", "+/b"},
		{"agent with blanks after the star", "User-agent: * all\nDisallow: /a\nUser-agent: *x\nDisallow: /b", "amble", "-/a +/b"},
		{"LF CR is two line ends", "User-agent: *\n\rDisallow: /a", "amble", "-/a"},
		{"colon in the path", "User-agent: *\nDisallow: /a:b", "amble", "-/a:b +/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { probes(t, tt.file, tt.token, tt.want) })
	}
}

func TestDecisionNamesItsLine(t *testing.T) {
	const file = "\xef\xbb\xbf# head\r\nUser-agent: Amble/2\r\n\r\n  Disallow :  /a*  # why\r\nAllow: /a/b\r\nAllow: /a/%62\r\nDisallow: /ツ\n"
	rules := Parse([]byte(file))
	g := rules.Group("amble")
	if g.Agent() != "Amble" {
		t.Errorf("agent %q", g.Agent())
	}
	tests := []struct {
		target string
		want   Decision
	}{
		{"/a", Decision{false, "Disallow :  /a*", 4}},
		{"/a/b", Decision{true, "Allow: /a/b", 5}},
		{"/ツ", Decision{false, "Disallow: /ツ", 7}},
		{"/", Decision{true, "", 0}},
		{"/robots.txt", Decision{true, "", 0}},
	}
	for _, tt := range tests {
		if got := g.Decide(tt.target); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.target, got, tt.want)
		}
	}
	if got := rules.Group("other"); got.Agent() != "" || !got.Decide("/a").Allowed {
		t.Errorf("nobody's group: %q", got.Agent())
	}
	if got := Parse([]byte("User-agent: *\nDisallow: /")).Group("other").Agent(); got != "*" {
		t.Errorf("agent %q, want *", got)
	}
}

func TestAllowAllDenyAll(t *testing.T) {
	for _, tt := range []struct {
		group  *Group
		target string
		want   bool
	}{{AllowAll, "/x", true}, {DenyAll, "/x", false}, {DenyAll, "/", false}, {DenyAll, "/robots.txt", true}} {
		if got := tt.group.Decide(tt.target); got != (Decision{Allowed: tt.want}) {
			t.Errorf("%s: %+v, want %v", tt.target, got, tt.want)
		}
		if d, ok := tt.group.CrawlDelay(); ok {
			t.Errorf("delay %v", d)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	const none = time.Duration(-1)
	tests := []struct {
		name, file string
		want       time.Duration
	}{
		{"none", "User-agent: amble\nDisallow: /x", none},
		{"whole", "User-agent: amble\nCrawl-delay: 10", 10 * time.Second},
		{"fraction", "User-agent: amble\nCRAWL-DELAY:0.25 # s", 250 * time.Millisecond},
		{"bare fraction", "User-agent: amble\nCrawl-delay: .5", 500 * time.Millisecond},
		{"zero", "User-agent: amble\nCrawl-delay: 0", 0},
		{"not clipped", "User-agent: amble\nCrawl-delay: 86400", 24 * time.Hour},
		{"beyond all", "User-agent: amble\nCrawl-delay: 99999999999999999999", maxDelay},
		{"negative", "User-agent: amble\nCrawl-delay: -1", none},
		{"NaN", "User-agent: amble\nCrawl-delay: NaN", none},
		{"infinite", "User-agent: amble\nCrawl-delay: inf\nCrawl-delay: 1" + strings.Repeat("0", 400), none},
		{"words", "User-agent: amble\nCrawl-delay: ten\nCrawl-delay: 5 s\nCrawl-delay:\nCrawl-delay: .", none},
		{"hex and exponent", "User-agent: amble\nCrawl-delay: 0x10\nCrawl-delay: 1e3", none},
		{"bad beside good", "User-agent: amble\nCrawl-delay: x\nCrawl-delay: 3\nCrawl-delay: -9", 3 * time.Second},
		{"largest of a group", "User-agent: amble\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3", 7 * time.Second},
		{"largest of combined groups", "User-agent: amble\nCrawl-delay: 2\nDisallow: /x\nUser-agent: b\nCrawl-delay: 50\nDisallow: /\nUser-agent: AMBLE\nCrawl-delay: 4", 4 * time.Second},
		{"after the rules", "User-agent: amble\nUser-agent: b\nDisallow: /x\nCrawl-delay: 6", 6 * time.Second},
		{"of the group, not of the file", "Crawl-delay: 9\nUser-agent: *\nCrawl-delay: 8\nDisallow: /\nUser-agent: amble\nDisallow: /x", none},
		{"above our line", "User-agent: b\nCrawl-delay: 30\nUser-agent: amble\nDisallow: /x", none},
		{"below our line", "User-agent: amble\nUser-agent: b\nCrawl-delay: 30\nUser-agent: c\nCrawl-delay: 20", 30 * time.Second},
		{"everybody's", "User-agent: *\nCrawl-delay: 5", 5 * time.Second},
		{"ours without one", "User-agent: *\nCrawl-delay: 5\nDisallow: /y\nUser-agent: amble\nDisallow: /x", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := Parse([]byte(tt.file)).Group("amble").CrawlDelay()
			if want := max(tt.want, 0); d != want || ok != (tt.want != none) {
				t.Errorf("got %v, %v; want %v", d, ok, tt.want)
			}
		})
	}
}

func TestSitemaps(t *testing.T) {
	const file = "Sitemap: http://a.example/1.xml\nUser-agent: amble\nsitemap:/2.xml # here\nDisallow: /\nSITEMAP : http://b.example/3.xml?a=b:c\nSitemap:\nSite-map: /4.xml\n"
	want := []string{"http://a.example/1.xml", "/2.xml", "http://b.example/3.xml?a=b:c"}
	rules := Parse([]byte(file))
	if got := rules.Sitemaps(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	rules.Sitemaps()[0] = "changed"
	if got := rules.Sitemaps()[0]; got != want[0] {
		t.Errorf("a caller changed the rules: %q", got)
	}
}

// What Parse was given may be overwritten, as pooled buffers are.
func TestParseKeepsNothing(t *testing.T) {
	file := []byte("Sitemap: http://a.example/1.xml\nUser-agent: amble\nDisallow: /x\n")
	rules := Parse(file)
	copy(file, bytes.Repeat([]byte("#"), len(file)))
	g := rules.Group("amble")
	if d := g.Decide("/x"); d != (Decision{false, "Disallow: /x", 3}) || rules.Sitemaps()[0] != "http://a.example/1.xml" {
		t.Errorf("%+v, %q", d, rules.Sitemaps())
	}
}

func TestSecondOpinion(t *testing.T) {
	const file = "User-agent: amble\nDisallow: /x\n"
	if allowed, err := SecondOpinion([]byte(file), "amble", "/x/y"); allowed || err != nil {
		t.Errorf("/x/y: %v, %v", allowed, err)
	}
	if allowed, err := SecondOpinion([]byte(file), "amble", "/y"); !allowed || err != nil {
		t.Errorf("/y: %v, %v", allowed, err)
	}
	// One of the differences that make it a second opinion only.
	const delayed = "User-agent: amble\nCrawl-delay: 10\nUser-agent: other\nDisallow: /\n"
	if allowed, err := SecondOpinion([]byte(delayed), "amble", "/x"); !allowed || err != nil {
		t.Errorf("known difference: %v, %v", allowed, err)
	}
	if _, err := SecondOpinion([]byte("Disallow: /x\nUser-agent: *\nCrawl-delay: x\n"), "amble", "/x"); err == nil {
		t.Error("a file it is known to refuse was read")
	}
}

// Were matching not linear, these would not end.
func TestHostileFilesEnd(t *testing.T) {
	stars := "/" + strings.Repeat("*a", 200) + "$"
	probes(t, "User-agent: *\nDisallow: "+stars+"\nDisallow: /q", "amble", "+/"+strings.Repeat("a", 5000)+"b -/"+strings.Repeat("a", 5000)+" -/q")
	long := "User-agent: *\nDisallow: /" + strings.Repeat("*a", 200_000) + "b\nDisallow: /q"
	probes(t, long, "amble", "+/"+strings.Repeat("a", 100_000)+" -/q")
	delays := "User-agent: amble\n" + strings.Repeat("User-agent: a\nCrawl-delay: 1\n", 15_000) + "Crawl-delay: 2"
	if d, _ := Parse([]byte(delays)).Group("amble").CrawlDelay(); d != 2*time.Second {
		t.Errorf("delay %v", d)
	}
}
