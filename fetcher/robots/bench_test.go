package robots

import (
	"fmt"
	"strings"
	"testing"
)

// typical is a file as a shop or a wiki has it: some agents, wildcards, 60 rules for everybody.
func typical() []byte {
	var b strings.Builder
	b.WriteString("User-agent: badbot\nUser-agent: worsebot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 1\n")
	for i := range 45 {
		fmt.Fprintf(&b, "Disallow: /section-%d/private/\n", i)
	}
	for i := range 10 {
		fmt.Fprintf(&b, "Disallow: /*?sort=%d\nAllow: /section-%d/private/open$\n", i, i)
	}
	b.WriteString("Disallow: /*.php$\nSitemap: https://example.com/sitemap.xml\n")
	return []byte(b.String())
}

var targets = []string{"/", "/section-40/private/x", "/section-3/private/open", "/wiki/A_page_with_a_longer_name/and/a/path.html",
	"/list?page=3&sort=7", "/caf%C3%A9/%7Euser?u=https://example.org/", "/index.php"}

func BenchmarkDecide(b *testing.B) {
	g := Parse(typical()).Group("amble")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		g.Decide(targets[i%len(targets)])
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

func BenchmarkParse(b *testing.B) {
	file := typical()
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(file).Group("amble")
	}
}

// BenchmarkWorst is what a hostile file can cost at most: it is full of rules that each look through the whole target.
func BenchmarkWorst(b *testing.B) {
	for _, rule := range []string{"Allow:/*z\n", "Allow:*aaab\n", "Allow:/" + strings.Repeat("*a", 200) + "b\n"} {
		file := "User-agent: *\n" + strings.Repeat(rule, (MaxBytes-100)/len(rule))
		target := "/" + strings.Repeat("a", 1000)
		b.Run(rule[:min(len(rule)-1, 12)], func(b *testing.B) {
			g := Parse([]byte(file)).Group("amble")
			for b.Loop() {
				g.Decide(target)
			}
		})
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	g := Parse(typical()).Group("amble")
	if n := testing.AllocsPerRun(100, func() {
		for _, target := range targets {
			g.Decide(target)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
