package robots

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

type kind byte

const (
	other kind = iota
	userAgent
	allow
	disallow
	crawlDelay
	sitemap
)

// record is one line with a key that is of interest.
type record struct {
	kind   kind
	value  string
	number int
	// line is the whole line without comment and outer blanks.
	line string
}

// lines cuts a file into records (RFC 9309 section 2.2).
type lines struct {
	rest   []byte
	number int
}

func newLines(file []byte) *lines {
	if len(file) >= MaxBytes {
		whole := len(file) > MaxBytes && isEOL(file[MaxBytes])
		file = file[:MaxBytes]
		if !whole {
			file = file[:bytes.LastIndexAny(file, "\r\n")+1]
		}
	}
	return &lines{rest: bytes.TrimPrefix(file, []byte("\xef\xbb\xbf"))}
}

func isEOL(b byte) bool { return b == '\r' || b == '\n' }

// next is the next line that is a record of interest.
func (l *lines) next() (record, bool) {
	for len(l.rest) > 0 {
		l.number++
		line := l.cut()
		if i := bytes.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		line = bytes.Trim(line, " \t")
		key, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		k := keyKind(bytes.TrimRight(key, " \t"))
		if k == other || hasControl(line) {
			continue
		}
		text := string(line)
		return record{
			kind:   k,
			value:  strings.TrimLeft(text[len(text)-len(value):], " \t"),
			number: l.number,
			line:   text,
		}, true
	}
	return record{}, false
}

// cut takes one line off; CR, LF and CR LF end it.
func (l *lines) cut() []byte {
	i := bytes.IndexAny(l.rest, "\r\n")
	if i < 0 {
		line := l.rest
		l.rest = nil
		return line
	}
	line := l.rest[:i]
	if l.rest[i] == '\r' && i+1 < len(l.rest) && l.rest[i+1] == '\n' {
		i++
	}
	l.rest = l.rest[i+1:]
	return line
}

func keyKind(key []byte) kind {
	// The longest key has 11 octets; folding more would be work for nothing.
	if len(key) > len("crawl-delay") {
		return other
	}
	var buf [len("crawl-delay")]byte
	lower := buf[:copy(buf[:], key)]
	for i, b := range lower {
		if 'A' <= b && b <= 'Z' {
			lower[i] = b + 'a' - 'A'
		}
	}
	switch string(lower) {
	case "user-agent":
		return userAgent
	case "allow":
		return allow
	case "disallow":
		return disallow
	case "crawl-delay":
		return crawlDelay
	case "sitemap":
		return sitemap
	}
	return other
}

func hasControl(line []byte) bool {
	for _, b := range line {
		if b < 0x20 && b != '\t' || b == 0x7f {
			return true
		}
	}
	return false
}

// agentToken is the product token at the start of a user-agent value (RFC 9309 section 2.2.1).
func agentToken(value string) string {
	if strings.HasPrefix(value, "*") {
		if len(value) == 1 || value[1] == ' ' || value[1] == '\t' {
			return "*"
		}
		return ""
	}
	i := 0
	for i < len(value) {
		c := value[i] | 0x20
		if !('a' <= c && c <= 'z') && value[i] != '_' && value[i] != '-' {
			break
		}
		i++
	}
	return value[:i]
}

// parseDelay reads a number of seconds, perhaps with a fraction. Values that are negative, not finite or no decimal number
// are no delay.
func parseDelay(value string) (time.Duration, bool) {
	for i := 0; i < len(value); i++ {
		if c := value[i]; (c < '0' || c > '9') && c != '.' {
			return 0, false
		}
	}
	s, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(s, 0) {
		return 0, false
	}
	if ns := s * float64(time.Second); ns < float64(maxDelay) {
		return time.Duration(math.Round(ns)), true
	}
	return maxDelay, true
}
