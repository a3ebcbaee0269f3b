package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is stderr shared by messages, logs and a progress line that is rewritten in place where stderr is a terminal.
type screen struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool       // a terminal: the line can be rewritten
	columns func() int // the terminal's width; 0: not known
	reflows bool       // the terminal breaks what stands there anew when it is narrowed

	render func(width int) string // makes the line for a width; nil: there is none
	line   string                 // what stands there now
}

func newScreen(c *cli) *screen {
	s := &screen{w: c.stderr, live: c.isTerminal(c.stderr)}
	if f, ok := c.stderr.(*os.File); ok && s.live {
		s.columns = func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return w
		}
	}
	// xterm alone among today's terminals cuts lines when it is narrowed.
	s.reflows = c.getenv("XTERM_VERSION") == "" || c.getenv("TMUX") != ""
	return s
}

const (
	eraseLine  = "\r\x1b[K" // goes to the first column and clears the line
	eraseBelow = "\r\x1b[J" // the same, and all beneath it
	lineUp     = "\x1b[A"
	// The terminal echoes Ctrl-C as two characters behind the line, and the last column stays free: with that the line
	// is never broken.
	spareColumns = len("^C") + 1
)

// Write implements io.Writer for whole lines; the progress line stays beneath them.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.w.Write(p)
	}
	if _, err := io.WriteString(s.w, s.erase()); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err == nil {
		s.line = s.render(s.room())
		_, err = io.WriteString(s.w, s.line)
	}
	return n, err
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// rewrite replaces the progress line, cut to the terminal's width; "" removes it.
func (s *screen) rewrite(line string) {
	if line == "" {
		s.draw(nil)
		return
	}
	s.draw(func(width int) string { return cut(line, width) })
}

// show replaces the progress line by as many of these fields as there is room for.
func (s *screen) show(fields []field) {
	s.draw(func(width int) string { return fit(fields, width) })
}

func (s *screen) draw(render func(width int) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := ""
	if render != nil {
		line = render(s.room())
	}
	if !s.live || line == s.line {
		return
	}
	io.WriteString(s.w, s.erase()+line) //nolint:errcheck // a lost progress line is not worth an end
	s.render, s.line = render, line
}

func (s *screen) width() int {
	if s.columns != nil {
		if w := s.columns(); w > 10 {
			return w
		}
	}
	return 80
}

// room is how long the line may be.
func (s *screen) room() int { return s.width() - spareColumns }

// erase clears what stands there, which is more than one row when the terminal has become narrower since.
func (s *screen) erase() string {
	above := (utf8.RuneCountInString(s.line) - 1) / s.width()
	if above < 1 || !s.reflows {
		return eraseLine
	}
	return strings.Repeat(lineUp, above) + eraseBelow
}

// field is a part of the progress line: what it may read, the longest first.
type field []string

// fit puts fields side by side, the most important first. One that has no room in any of its forms is left out.
func fit(fields []field, width int) string {
	var b strings.Builder
	used := 0
	for _, f := range fields {
		for _, text := range f {
			gap := min(used, len(fieldGap))
			if n := utf8.RuneCountInString(text); text != "" && used+gap+n <= width {
				b.WriteString(fieldGap[:gap] + text)
				used += gap + n
				break
			}
		}
	}
	return b.String()
}

const fieldGap = "  "

// cut shortens a line to width characters.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:width-1]) + "…"
}
