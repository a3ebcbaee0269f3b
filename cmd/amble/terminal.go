package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable keeps text that may come from a site from steering a terminal: what cannot be seen, and bytes that are no
// UTF-8 (0x9b alone begins a sequence on an 8-bit terminal), are written as escapes.
func printable(s string) string {
	return escapeRunes(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// steers tells the characters that act on a terminal or on the order in which it shows text, and no others: a body or
// an export on a terminal keeps its unusual spaces and its joiners.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// escapeRunes writes what bad tells, and bytes that are no UTF-8, as escapes; never newlines and tabs.
func escapeRunes(s string, bad func(rune) bool) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && n == 1
		if invalid || r != '\n' && r != '\t' && bad(r) {
			b.WriteString(s[from:i])
			if invalid {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			} else {
				quoted := strconv.QuoteRuneToASCII(r)
				b.WriteString(quoted[1 : len(quoted)-1])
			}
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// terminalWriter passes text on to a terminal without what would steer it. CRLF becomes a newline. Close writes what a
// cut character has held back; it does not close the terminal.
type terminalWriter struct {
	w    io.Writer
	held []byte // the beginning of a character, or a CR, at the end of what came
}

func (t *terminalWriter) Write(p []byte) (int, error) {
	text := append(t.held, p...)
	whole := len(text)
	if whole > 0 && text[whole-1] == '\r' {
		whole--
	}
	for back := 1; back < utf8.UTFMax && back <= whole; back++ {
		if at := whole - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:whole]) && whole == len(text) {
				whole = at
			}
			break
		}
	}
	err := t.put(text[:whole])
	t.held = bytes.Clone(text[whole:])
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *terminalWriter) put(text []byte) error {
	_, err := io.WriteString(t.w, escapeRunes(string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))), steers))
	return err
}

func (t *terminalWriter) Close() error {
	err := t.put(t.held)
	t.held = nil
	return err
}

// siteOutput is where bytes from a site go: stdout as it is, or, when that is a terminal, without what would steer it.
func (c *cli) siteOutput() io.WriteCloser {
	if c.isScreen(c.stdout) {
		return &terminalWriter{w: c.stdout}
	}
	return asIs{c.stdout}
}

type asIs struct{ io.Writer }

func (asIs) Close() error { return nil }
