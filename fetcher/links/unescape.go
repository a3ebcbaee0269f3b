package links

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// unescapeAttr replaces the character references in an attribute's value (HTML
// standard, section 13.2.5.72 onwards), in which a named reference without its
// semicolon does not count before "=" or a letter or digit, so that
// "?a=1&copy=2" stays. A value without any is returned as it is, others are appended to scratch.
func unescapeAttr(scratch *[]byte, value []byte) []byte {
	amp := bytes.IndexByte(value, '&')
	if amp < 0 {
		return value
	}
	start := len(*scratch)
	for amp >= 0 {
		text, size := charReference(value[amp:])
		*scratch = append(append(*scratch, value[:amp]...), text...)
		value = value[amp+size:]
		amp = bytes.IndexByte(value, '&')
	}
	*scratch = append(*scratch, value...)
	return (*scratch)[start:len(*scratch):len(*scratch)]
}

// charReference is what the character reference at the start of b stands for,
// and its length; "&" and 1 where it is none.
func charReference(b []byte) (text string, size int) {
	if bytes.HasPrefix(b, []byte("&amp;")) {
		return "&", len("&amp;")
	}
	if len(b) > 1 && b[1] == '#' {
		return numericReference(b)
	}
	end := 1
	for end < len(b) && (isLetter(b[end]) || isDigit(b[end])) {
		end++
	}
	// The longest name has 31 letters.
	if end == 1 || end > 40 {
		return "&", 1
	}
	open := string(b[:end])
	text = html.UnescapeString(open + ";")
	if strings.HasSuffix(text, ";") && text != ";" {
		// No name, or a shorter one, which leaves the semicolon over.
		return "&", 1
	}
	switch {
	case end < len(b) && b[end] == ';':
		return text, end + 1
	case end < len(b) && b[end] == '=', html.UnescapeString(open) != text:
		return "&", 1
	}
	return text, end
}

func numericReference(b []byte) (text string, size int) {
	end := len("&#")
	isNumeral := isDigit
	if end < len(b) && b[end]|0x20 == 'x' {
		end++
		isNumeral = isHexDigit
	}
	start := end
	for end < len(b) && isNumeral(b[end]) {
		end++
	}
	if end == start {
		return "&", 1
	}
	if end < len(b) && b[end] == ';' {
		end++
	}
	return html.UnescapeString(string(b[:end])), end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
