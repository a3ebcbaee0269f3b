package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"a\tb\nc é 日本":             "a\tb\nc é 日本",
		"\x1b[31mred\x1b[0m":       `\x1b[31mred\x1b[0m`,
		"\x9b31m":                  `\x9b31m`, // CSI of eight bits, no UTF-8
		"a\x9b":                    `a\x9b`,
		"\u009b31m":                `\u009b31m`,
		"\xe6\x97":                 `\xe6\x97`,
		"x\x00\x07\x7f\r":          `x\x00\a\x7f\r`,
		"safe\u202egnp.exe\u2066":  `safe\u202egnp.exe\u2066`,
		"a replacement \ufffd":     "a replacement \ufffd",
		"\xff\xfe\xc0\xaf\xed\xa0": `\xff\xfe\xc0\xaf\xed\xa0`,
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

// What reaches a terminal is UTF-8 without a character that steers it, however it was cut into writes; the rest stays.
func TestTerminalWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"\x1b]0;title\a", "\x9b2J", "\u009b", "\u202e", "\r", "\r\n", "\n", "\xe6", "\xe6\x97", "\xf0\x9f", "日本", "\u00a0", "\u200d",
		}))
		in := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		var out bytes.Buffer
		w := &terminalWriter{w: &out}
		for rest := in; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("%d, %v", got, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if want := escapeRunes(strings.ReplaceAll(in, "\r\n", "\n"), steers); got != want {
			t.Fatalf("%q gives %q, want %q", in, got, want)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && steers(r) }) {
			t.Fatalf("%q gives %q", in, got)
		}
	})
	var out bytes.Buffer
	w := &terminalWriter{w: &out}
	const harmless = "a\tb\u00a0c\u200dd\n"
	if _, err := w.Write([]byte(harmless)); err != nil || out.String() != harmless {
		t.Errorf("%q, %v", out.String(), err)
	}
}
