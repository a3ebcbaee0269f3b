package links

import "bytes"

// tokenKind is what scanner.next found.
type tokenKind int

const (
	endOfDocument tokenKind = iota
	textToken
	startTag
	endTag
)

// scanner cuts a document into text and tags (HTML standard, section 13.2.5).
// It answers as golang.org/x/net/html's Tokenizer does, to which FuzzScanner
// holds it, and differs in cost: that one reads byte by byte through a copy of
// the document and allocates several times a tag and an attribute, this one
// searches for "<" and slices.
type scanner struct {
	doc []byte
	pos int

	// text is a text token as written, character references included.
	text []byte
	// name is the tag's name as written.
	name        []byte
	selfClosing bool
	// attrStart is where the tag's attributes begin, for nextAttr.
	attrStart int
	// raw is the element whose content is text up to its end tag, or "".
	raw string
}

// next reads the next text or tag; comments, doctypes and the like are passed over.
func (s *scanner) next() tokenKind {
	if s.raw != "" {
		raw := s.raw
		s.raw = ""
		start := s.pos
		s.pos = rawEnd(s.doc, s.pos, raw)
		if s.pos > start {
			s.text = s.doc[start:s.pos]
			return textToken
		}
	}
	start := s.pos
	for at := s.pos; ; {
		i := bytes.IndexByte(s.doc[at:], '<')
		if i < 0 || at+i+1 == len(s.doc) {
			return s.rest(start)
		}
		at += i
		c := s.doc[at+1]
		if !isLetter(c) && c != '/' && c != '!' && c != '?' {
			at++
			continue
		}
		if at > start {
			s.text, s.pos = s.doc[start:at], at
			return textToken
		}
		switch {
		case c == '!':
			at = markupEnd(s.doc, at)
		case c == '?':
			at = after(s.doc, at+2, ">")
		case c != '/':
			if !s.readTag(at + 1) {
				return endOfDocument
			}
			s.setRaw()
			return startTag
		case at+2 == len(s.doc):
			return s.rest(start)
		case isLetter(s.doc[at+2]):
			if !s.readTag(at + 2) {
				return endOfDocument
			}
			return endTag
		default:
			at = after(s.doc, at+2, ">")
		}
		start, s.pos = at, at
	}
}

// rest is the text that ends the document.
func (s *scanner) rest(start int) tokenKind {
	s.pos = len(s.doc)
	if s.text = s.doc[start:]; len(s.text) == 0 {
		return endOfDocument
	}
	return textToken
}

// readTag reads a tag whose name begins at i. A tag that the document ends in is none.
func (s *scanner) readTag(i int) bool {
	start := i
	for i < len(s.doc) && !isSpace(s.doc[i]) && s.doc[i] != '/' && s.doc[i] != '>' {
		i++
	}
	s.name, s.attrStart = s.doc[start:i], i
	// A "/" that ends an unquoted value belongs to it.
	valueEnd := -1
	for {
		_, value, end, more := nextAttr(s.doc, i)
		switch {
		case more:
			i = end
			if len(value) > 0 {
				valueEnd = end
			}
		case end < 0:
			return false
		default:
			s.selfClosing = s.doc[end-2] == '/' && end-1 != valueEnd
			s.pos = end
			return true
		}
	}
}

// nextAttr reads the attribute at or behind i within a tag; one name may come
// twice. Where there is no more, end is behind the tag's ">", and -1 when the
// document ends first.
func nextAttr(doc []byte, i int) (name, value []byte, end int, more bool) {
	for i < len(doc) && (isSpace(doc[i]) || doc[i] == '/') {
		i++
	}
	if i >= len(doc) {
		return nil, nil, -1, false
	}
	if doc[i] == '>' {
		return nil, nil, i + 1, false
	}
	start := i
	// A leading "=" belongs to the name.
	for i++; i < len(doc) && !isSpace(doc[i]) && doc[i] != '=' && doc[i] != '/' && doc[i] != '>'; i++ {
	}
	name = doc[start:i]
	for i < len(doc) && isSpace(doc[i]) {
		i++
	}
	if i >= len(doc) || doc[i] != '=' {
		return name, doc[i:i], i, true
	}
	value, end, ok := attrValue(doc, i+1)
	if !ok {
		return nil, nil, -1, false
	}
	return name, value, end, true
}

// attrValue reads the value behind a "=" at i-1, and tells where it ends;
// without a closing quote it does not.
func attrValue(doc []byte, i int) (value []byte, end int, ok bool) {
	for i < len(doc) && isSpace(doc[i]) {
		i++
	}
	if i >= len(doc) {
		return nil, i, false
	}
	if q := doc[i]; q == '"' || q == '\'' {
		i++
		n := bytes.IndexByte(doc[i:], q)
		if n < 0 {
			return nil, len(doc), false
		}
		return doc[i : i+n], i + n + 1, true
	}
	start := i
	for i < len(doc) && !isSpace(doc[i]) && doc[i] != '>' {
		i++
	}
	return doc[start:i], i, true
}

// setRaw notes that the start tag's element holds no tags (section 13.2.6.4).
func (s *scanner) setRaw() {
	if len(s.name) < len("xmp") {
		return
	}
	switch s.name[0] | 0x20 {
	case 'i', 'n', 'p', 's', 't', 'x':
		for _, raw := range rawElements {
			if len(raw) == len(s.name) && bytes.EqualFold(s.name, []byte(raw)) {
				s.raw = raw
				return
			}
		}
	}
}

var rawElements = [...]string{"script", "style", "title", "iframe", "noscript", "textarea", "noframes", "noembed", "xmp", "plaintext"}

// rawEnd is where the content of a raw element that begins at i ends: at its end tag or with the document.
func rawEnd(doc []byte, i int, name string) int {
	switch name {
	case "plaintext":
		return len(doc)
	case "script":
		return scriptEnd(doc, i)
	}
	for {
		n := bytes.Index(doc[i:], []byte("</"))
		if n < 0 {
			return len(doc)
		}
		if i += n; isNamed(doc[i+2:], name) {
			return i
		}
		i += 2
	}
}

// scriptEnd is rawEnd for scripts, in which an end tag inside "<!--", "<script"
// and before "-->" does not count (section 13.2.5.15 onwards).
func scriptEnd(doc []byte, i int) int {
	escaped, doubly := false, false
	for i < len(doc) {
		c := doc[i]
		if c == '-' && escaped && bytes.HasPrefix(doc[i:], []byte("-->")) {
			escaped, doubly = false, false
			i += 3
			continue
		}
		if c != '<' {
			if !escaped {
				n := bytes.IndexByte(doc[i:], '<')
				if n < 0 {
					return len(doc)
				}
				i += n
				continue
			}
			i++
			continue
		}
		rest := doc[i+1:]
		switch {
		case !escaped && bytes.HasPrefix(rest, []byte("!--")):
			// Its dashes may be those of "-->".
			escaped = true
			i += 2
			continue
		case len(rest) > 0 && rest[0] == '/' && isNamed(rest[1:], "script"):
			if !doubly {
				return i
			}
			doubly = false
			i += len("</script")
		case escaped && !doubly && isNamed(rest, "script"):
			doubly = true
			i += len("<script")
		}
		i++
	}
	return len(doc)
}

// isNamed tells whether b begins with a tag name and what ends one.
func isNamed(b []byte, name string) bool {
	if len(b) <= len(name) || !bytes.EqualFold(b[:len(name)], []byte(name)) {
		return false
	}
	c := b[len(name)]
	return isSpace(c) || c == '/' || c == '>'
}

// markupEnd is the end of what "<!" at i begins: a comment, or anything up to ">".
func markupEnd(doc []byte, i int) int {
	if !bytes.HasPrefix(doc[i:], []byte("<!--")) {
		return after(doc, i+2, ">")
	}
	// "<!-->" and "<!--->" are whole comments, "<!--!>" is none.
	open := i + len("<!--")
	for i += len("<!"); ; i++ {
		n := bytes.Index(doc[i:], []byte("--"))
		if n < 0 {
			return len(doc)
		}
		i += n
		rest := doc[i+2:]
		if bytes.HasPrefix(rest, []byte(">")) {
			return i + 3
		}
		if i >= open && bytes.HasPrefix(rest, []byte("!>")) {
			return i + 4
		}
	}
}

// after is the offset behind the next end in doc from i, or the document's length.
func after(doc []byte, i int, end string) int {
	if i > len(doc) {
		return len(doc)
	}
	n := bytes.Index(doc[i:], []byte(end))
	if n < 0 {
		return len(doc)
	}
	return i + n + len(end)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
