package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is stderr shared by messages, logs and a progress line that is rewritten in place where stderr is a terminal.
type screen struct {
	mu   sync.Mutex
	w    io.Writer
	live bool   // a terminal: the line can be rewritten
	line string // what stands there now
}

func newScreen(c *cli) *screen { return &screen{w: c.stderr, live: c.isTerminal(c.stderr)} }

// eraseLine goes to the first column and clears the line.
const eraseLine = "\r\x1b[K"

// Write implements io.Writer for whole lines; the progress line stays beneath them.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.w.Write(p)
	}
	if _, err := io.WriteString(s.w, eraseLine); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err == nil {
		_, err = io.WriteString(s.w, s.line)
	}
	return n, err
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// rewrite replaces the progress line, cut to the terminal's width; "" removes it.
func (s *screen) rewrite(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || line == s.line {
		return
	}
	line = cut(line, s.width())
	s.line = line
	io.WriteString(s.w, eraseLine+line) //nolint:errcheck // a lost progress line is not worth an end
}

func (s *screen) width() int {
	if f, ok := s.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 10 {
			return w - 1
		}
	}
	return 79
}

// cut shortens a line to width characters.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:width-1]) + "…"
}
