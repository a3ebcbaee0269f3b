package charset

import (
	"bytes"
	"net/http"
	"strings"
)

// MediaType is the lower-case type/subtype of a Content-Type field value without parameters, leniently
// ("text/html,text/html" is text/html), and "" when there is none. Of several
// media types in one value the last well-formed one counts, as in the Fetch
// standard's "extract a MIME type"; "*/*" does not.
func MediaType(contentType string) string {
	last := ""
	for contentType != "" {
		var member string
		member, contentType = cutMember(contentType)
		if i := strings.IndexByte(member, ';'); i >= 0 {
			member = member[:i]
		}
		member = strings.Trim(member, " \t\r\n")
		// "text/html charset=utf-8" lacks its semicolon.
		if i := strings.IndexAny(member, " \t"); i >= 0 {
			member = member[:i]
		}
		typ, subtype, ok := strings.Cut(member, "/")
		if ok && isToken(typ) && isToken(subtype) && member != "*/*" {
			last = member
		}
	}
	return strings.ToLower(last)
}

// cutMember splits a list at its first comma outside quotes. A quote that is
// never closed quotes nothing.
func cutMember(s string) (member, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ',':
			return s[:i], s[i+1:]
		case '"':
			if end := closingQuote(s, i+1); end > 0 {
				i = end
			}
		}
	}
	return s, ""
}

// closingQuote is the offset of the quote that ends a quoted string whose text begins at i, or -1.
func closingQuote(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// isToken checks an RFC 9110 section 5.6.2 token.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// headerCharset is the first charset parameter with a value, however it is
// quoted or spaced (MIME Sniffing standard, section 4.4, and more leniently).
func headerCharset(contentType string) string {
	s := contentType
	for s != "" {
		s = strings.TrimLeft(s, "; \t\r\n,")
		i := strings.IndexAny(s, "=; \t\r\n,")
		if i < 0 {
			return ""
		}
		name := s[:i]
		s = strings.TrimLeft(s[i:], " \t\r\n")
		if s == "" || s[0] != '=' {
			continue
		}
		s = strings.TrimLeft(s[1:], " \t\r\n")
		var value string
		if s != "" && s[0] == '"' {
			end := closingQuote(s, 1)
			if end < 0 {
				// An open quote: take the word behind it.
				s = s[1:]
				value, s = cutWord(s)
			} else {
				value, s = s[1:end], s[end+1:]
			}
		} else {
			value, s = cutWord(s)
		}
		value = strings.Trim(value, "'\" \t")
		if value != "" && strings.EqualFold(name, "charset") {
			return value
		}
	}
	return ""
}

func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, "; \t\r\n,"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// IsHTML tells whether a body with this Content-Type field value is to be read
// as HTML. Without a type, or with one that cannot be read, the body is sniffed.
// text/plain is never taken for HTML. A declared HTML type is believed unless
// the body begins with the signature of an image, an archive or another binary format.
func IsHTML(contentType string, doc []byte) bool {
	doc = trimBOM(doc)
	switch MediaType(contentType) {
	case "text/html", "application/xhtml+xml":
		// UTF-16 and broken text sniff as application/octet-stream.
		sniffed := http.DetectContentType(doc)
		return strings.HasPrefix(sniffed, "text/") || sniffed == "application/octet-stream"
	case "", "unknown/unknown", "application/unknown":
	default:
		return false
	}
	sniffed := http.DetectContentType(doc)
	if strings.HasPrefix(sniffed, "text/xml") {
		return bytes.Contains(bytes.ToLower(doc[:min(len(doc), 1024)]), []byte("<html"))
	}
	return strings.HasPrefix(sniffed, "text/html")
}

func trimBOM(doc []byte) []byte {
	return bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
}
