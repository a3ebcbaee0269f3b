package canon

import (
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// trimmed are the C0 controls and space, which the parser strips at both ends.
const trimmed = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f "

// encodeTarget trims ref and percent-encodes the characters of its path and query
// that the parser would (URL standard, section 1.3), for resolvePlain to try again.
// It declines what takes more than that: controls, backslashes, broken UTF-8.
func encodeTarget(ref string) (string, bool) {
	if len(ref) > MaxLength/8 || !utf8.ValidString(ref) {
		return "", false
	}
	ref = strings.Trim(ref, trimmed)
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	// An authority is not percent-encoded; resolvePlain judges it.
	target := 0
	if i := strings.Index(ref, "//"); i == 0 || i > 0 && ref[i-1] == ':' {
		target = i + len("//")
		for target < len(ref) && ref[target] != '/' && ref[target] != '?' {
			target++
		}
	}
	out := make([]byte, 0, len(ref)+len(ref)/2)
	out = append(out, ref[:target]...)
	set := uint8(pathChar)
	for i := target; i < len(ref); i++ {
		c := ref[i]
		switch {
		case c == '?' && set == pathChar:
			set = queryChar
			out = append(out, c)
		case class[c]&set != 0:
			out = append(out, c)
		case c < ' ' || c == '\\':
			return "", false
		default:
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out), true
}
