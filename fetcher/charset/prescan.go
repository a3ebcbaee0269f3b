package charset

import (
	"bytes"
	"strings"
)

// prescanMeta is the label that the first meta element with a known encoding
// declares, or "" (HTML standard, section 13.2.3.2, "prescan a byte stream to
// determine its encoding").
func prescanMeta(doc []byte) string {
	for i := 0; i < len(doc); {
		next := bytes.IndexByte(doc[i:], '<')
		if next < 0 {
			return ""
		}
		i += next
		rest := doc[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			// "<!-->" is a whole comment.
			end := bytes.Index(rest[2:], []byte("-->"))
			if end < 0 {
				return ""
			}
			i += 2 + end + len("-->")
		case isTag(rest, "meta"):
			s := attrScanner{doc: doc, pos: i + len("<meta")}
			if label := s.metaLabel(); label != "" {
				return label
			}
			i = s.pos
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			end := bytes.IndexAny(rest, "\t\n\f\r >")
			if end < 0 {
				return ""
			}
			s := attrScanner{doc: doc, pos: i + end}
			for {
				if name, _ := s.next(); name == "" {
					break
				}
			}
			i = s.pos
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			end := bytes.IndexByte(rest, '>')
			if end < 0 {
				return ""
			}
			i += end + 1
		default:
			i++
		}
	}
	return ""
}

// isTag tells whether b is "<", name and a character that ends a tag name.
func isTag(b []byte, name string) bool {
	n := 1 + len(name)
	return len(b) > n && bytes.EqualFold(b[1:n], []byte(name)) && strings.IndexByte("\t\n\f\r /", b[n]) >= 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// attrScanner reads the attributes of a tag.
type attrScanner struct {
	doc   []byte
	pos   int
	ended bool
}

// metaLabel reads a meta element's attributes: a known label in charset, or in
// content when http-equiv is content-type.
func (s *attrScanner) metaLabel() string {
	var charset, content string
	var hasCharset, hasContent, hasPragma, pragma bool
	for {
		name, value := s.next()
		switch {
		case name == "":
			label := charset
			if !hasCharset && pragma {
				label = contentCharset(content)
			}
			if s.ended || declaredName(label) == "" {
				return ""
			}
			return label
		case name == "charset" && !hasCharset:
			charset, hasCharset = value, true
		case name == "content" && !hasContent:
			content, hasContent = value, true
		case name == "http-equiv" && !hasPragma:
			pragma, hasPragma = strings.EqualFold(value, "content-type"), true
		}
	}
}

// next is the next attribute, its name in lower case; an empty name is the end
// of the tag, or of the document ("get an attribute").
func (s *attrScanner) next() (name, value string) {
	const space = "\t\n\f\r "
	s.skip(space + "/")
	if s.pos >= len(s.doc) {
		return s.cut()
	}
	if s.doc[s.pos] == '>' {
		s.pos++
		return "", ""
	}
	start := s.pos
	// A leading "=" belongs to the name.
	for s.pos++; s.pos < len(s.doc) && strings.IndexByte(space+"/>=", s.doc[s.pos]) < 0; s.pos++ {
	}
	name = strings.ToLower(string(s.doc[start:s.pos]))
	s.skip(space)
	if s.pos < len(s.doc) && s.doc[s.pos] != '=' {
		return name, ""
	}
	s.pos++
	s.skip(space)
	if s.pos >= len(s.doc) {
		return s.cut()
	}
	if q := s.doc[s.pos]; q == '"' || q == '\'' {
		s.pos++
		end := bytes.IndexByte(s.doc[s.pos:], q)
		if end < 0 {
			return s.cut()
		}
		value = string(s.doc[s.pos : s.pos+end])
		s.pos += end + 1
		return name, value
	}
	start = s.pos
	for s.pos < len(s.doc) && strings.IndexByte(space+">", s.doc[s.pos]) < 0 {
		s.pos++
	}
	if s.pos == len(s.doc) {
		return s.cut()
	}
	return name, string(s.doc[start:s.pos])
}

// cut is the end of the document inside a tag: nothing that the tag says counts.
func (s *attrScanner) cut() (name, value string) {
	s.pos, s.ended = len(s.doc), true
	return "", ""
}

func (s *attrScanner) skip(set string) {
	for s.pos < len(s.doc) && strings.IndexByte(set, s.doc[s.pos]) >= 0 {
		s.pos++
	}
}

// contentCharset is the label in "text/html; charset=..." (HTML standard,
// section 2.6.5, "extracting a character encoding from a meta element").
func contentCharset(content string) string {
	lower := strings.ToLower(content)
	for at := 0; ; {
		i := strings.Index(lower[at:], "charset")
		if i < 0 {
			return ""
		}
		at += i + len("charset")
		rest := strings.TrimLeft(lower[at:], "\t\n\f\r ")
		if !strings.HasPrefix(rest, "=") {
			continue
		}
		rest = strings.TrimLeft(rest[1:], "\t\n\f\r ")
		if rest == "" {
			return ""
		}
		if q := rest[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(rest[1:], q)
			if end < 0 {
				return ""
			}
			return rest[1 : 1+end]
		}
		if end := strings.IndexAny(rest, "\t\n\f\r ;"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
}
