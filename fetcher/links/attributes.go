package links

import (
	"bytes"
	"unicode/utf8"
)

// asciiSpace is ASCII whitespace (Infra standard, section 4.6).
const asciiSpace = "\t\n\f\r "

// attributes are those of one start tag that the extractor asks for; nil is
// absent. They hold until the next tag.
type attributes struct {
	href, xlinkHref, src, srcset, data, poster []byte
	rel, kind, name, httpEquiv, content        []byte
	lang, shadowRoot                           []byte
}

// attributes reads the current start tag's attributes. Of one that stands twice, the first counts.
func (e *extractor) attributes() attributes {
	var a attributes
	e.unescaped = e.unescaped[:0]
	for at := e.scan.attrStart; ; {
		name, value, end, more := nextAttr(e.scan.doc, at)
		if !more {
			return a
		}
		at = end
		if len(name) > len("shadowrootmode") {
			continue
		}
		var lower [len("shadowrootmode")]byte
		var to *[]byte
		switch string(toLower(lower[:0], name)) {
		case "href":
			to = &a.href
		case "xlink:href":
			to = &a.xlinkHref
		case "src":
			to = &a.src
		case "srcset", "imagesrcset":
			to = &a.srcset
		case "data":
			to = &a.data
		case "poster":
			to = &a.poster
		case "rel":
			to = &a.rel
		case "type":
			to = &a.kind
		case "name":
			to = &a.name
		case "http-equiv":
			to = &a.httpEquiv
		case "content":
			to = &a.content
		case "lang", "xml:lang":
			to = &a.lang
		case "shadowrootmode":
			to = &a.shadowRoot
		default:
			continue
		}
		if *to == nil {
			*to = unescapeAttr(&e.unescaped, value)
		}
	}
}

// trim strips ASCII whitespace at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r' && c != '\v'
}

// fold appends text to dst with runs of white space as one space and none in
// front, and stops once dst is longer than limit bytes.
func fold(dst, text []byte, limit int) []byte {
	for _, c := range text {
		if len(dst) > limit {
			break
		}
		if isSpace(c) {
			if len(dst) > 0 && dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// clip cuts b to at most limit bytes, between characters, and drops a trailing space.
func clip(b []byte, limit int) []byte {
	if len(b) > limit {
		for limit > 0 && !utf8.RuneStart(b[limit]) {
			limit--
		}
		b = b[:limit]
	}
	return bytes.TrimRight(b, " ")
}

// refreshURL is the URL in a refresh pragma's content, and whether there is one
// (HTML standard, section 4.2.4.3, shared declarative refresh steps).
func refreshURL(content []byte) ([]byte, bool) {
	rest := bytes.TrimLeft(content, asciiSpace)
	digits := len(rest)
	rest = bytes.TrimLeft(rest, "0123456789")
	if len(rest) == digits && (len(rest) == 0 || rest[0] != '.') {
		return nil, false
	}
	rest = bytes.TrimLeft(rest, "0123456789.")
	if len(rest) == 0 || rest[0] != ';' && rest[0] != ',' && !isSpace(rest[0]) {
		return nil, false
	}
	rest = bytes.TrimLeft(rest, asciiSpace)
	if len(rest) > 0 && (rest[0] == ';' || rest[0] == ',') {
		rest = bytes.TrimLeft(rest[1:], asciiSpace)
	}
	if len(rest) >= 3 && bytes.EqualFold(rest[:3], []byte("url")) {
		if value := bytes.TrimLeft(rest[3:], asciiSpace); len(value) > 0 && value[0] == '=' {
			rest = bytes.TrimLeft(value[1:], asciiSpace)
		}
	}
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = bytes.Cut(rest[1:], rest[:1])
	}
	rest = trim(rest)
	return rest, len(rest) > 0
}
