package sitemap

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"amble/fetcher/charset"
)

const defaultPriority = 0.5

// parsePriority reads 0.0 to 1.0.
func parsePriority(s string) float64 {
	p, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	// The comparison is false for NaN.
	if err == nil && p >= 0 && p <= 1 {
		return p
	}
	return defaultPriority
}

// w3cLayouts are the forms of the W3C note "Date and Time Formats"; a time needs its zone.
var w3cLayouts = [...]string{"2006-01-02T15:04:05Z07:00", "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01", "2006"}

// parseW3C is zero for what is no W3C datetime.
func parseW3C(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range w3cLayouts {
		// The year 0 is a placeholder wherever it occurs.
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// parseRFC822 reads the date of an RSS item (RFC 822 section 5 with a year of four digits), else is zero. Of the named zones
// only those of universal time are taken: Go knows no offset of the others.
func parseRFC822(s string) time.Time {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, ','); i >= 0 {
		s = strings.TrimSpace(s[i+1:])
	}
	for _, zone := range [...]string{" GMT", " UTC", " UT", " Z"} {
		if rest, ok := strings.CutSuffix(s, zone); ok {
			s = rest + " +0000"
			break
		}
	}
	for _, layout := range [...]string{"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04 -0700"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// declared is the encoding that an XML declaration at the start of head names, "utf-8" without one.
func declared(head []byte) string {
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return "utf-8"
	}
	decl, _, _ := bytes.Cut(head, []byte(">"))
	if !bytes.Contains(decl, []byte("encoding")) {
		return "utf-8"
	}
	if name, source := charset.Detect(head[:min(len(decl)+1, len(head))], ""); source == "xml" {
		return name
	}
	return "utf-8"
}

// toUTF8 decodes one text. What is UTF-8 stays, whatever the declaration says: declarations are wrong far more often than
// other encodings look like UTF-8.
func toUTF8(text []byte, name string) string {
	if name != "utf-8" && !utf8.Valid(text) {
		text = charset.ToUTF8(text, name)
	}
	return string(text)
}

// appendText appends character data with its references resolved: the five of XML 1.0 section 4.6 and numbers. Others stay
// as they are, like the bare ampersands that they most often are.
func appendText(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[i:]
		end := bytes.IndexByte(text[:min(len(text), maxReference)], ';')
		if end < 0 {
			dst = append(dst, '&')
			text = text[1:]
			continue
		}
		if r, ok := reference(string(text[1:end])); ok {
			dst = utf8.AppendRune(dst, r)
		} else {
			dst = append(dst, text[:end+1]...)
		}
		text = text[end+1:]
	}
}

// maxReference is the length of the longest reference, "&#x10FFFF;" with a few zeros.
const maxReference = 16

func reference(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune {
		return 0, false
	}
	return rune(n), true
}
