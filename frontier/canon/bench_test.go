package canon

import "testing"

var benchSink URL

func BenchmarkResolve(b *testing.B) {
	base, err := Parse("http://example.org/a/b/index.html?x=1")
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, ref string }{
		{"Relative", "page12.html?x=1&y=2#top"},
		{"Up", "../c/page12.html"},
		{"AbsolutePath", "/docs/current/sql-select.html"},
		{"Absolute", "https://www.example.com/docs/current/sql-select.html?q=1"},
		{"SchemeRelative", "//cdn.example.net/lib/x.js"},
		{"Fragment", "#section-3"},
		{"Mailto", "mailto:someone@example.org"},
		{"Encoded", "/docs/caf\u00e9 menu.html"},
		{"FullParser", "HTTP://www.EXAMPLE.com/docs/x.html"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchSink, _ = base.Resolve(bench.ref)
			}
		})
	}
}

func BenchmarkPaceKey(b *testing.B) {
	u, err := Parse("https://www.example.com:8443/docs/current/sql-select.html?q=1")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += len(u.PaceKey())
	}
}

func BenchmarkSURT(b *testing.B) {
	u, err := Parse("https://www.example.com/docs/current/sql-select.html?q=1&a=2")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += len(u.SURT())
	}
}
