package sitemap

import (
	"bufio"
	"bytes"
	"strings"
)

type tokenKind byte

const (
	textToken tokenKind = iota
	cdataToken
	startToken
	endToken
)

// token is a piece of XML. Its slices hold until the next one is read.
type token struct {
	kind tokenKind
	// text is character data, perhaps in several pieces.
	text []byte
	// name is the qualified name of an element.
	name []byte
	// attrs is what stands after the name of a start tag.
	attrs []byte
	// empty: the start tag is its own end tag.
	empty bool
}

// tokens cuts XML into pieces and never fails but for its reader.
type tokens struct {
	in  *bufio.Reader
	tag []byte
	// open says that "<" has been read.
	open    bool
	inCDATA bool
}

// next gives the next piece; comments, declarations and processing instructions are passed over.
func (t *tokens) next() (token, error) {
	for {
		if t.inCDATA {
			return t.cdata()
		}
		if !t.open {
			text, err := t.in.ReadSlice('<')
			switch {
			case err == nil:
				t.open = true
				text = text[:len(text)-1]
			case err != bufio.ErrBufferFull:
				// A text that the end of the input cuts is no use to anybody.
				return token{}, err
			}
			if len(text) > 0 {
				return token{kind: textToken, text: text}, nil
			}
			continue
		}
		t.open = false
		tok, ok, err := t.markup()
		if ok || err != nil {
			return tok, err
		}
	}
}

// markup reads what follows a "<". ok is false when that is nothing to tell.
func (t *tokens) markup() (tok token, ok bool, err error) {
	head, err := t.in.Peek(1)
	if err != nil {
		return token{}, false, err
	}
	switch c := head[0]; {
	case c == '!':
		return token{}, false, t.declaration()
	case c == '?':
		return token{}, false, t.skipPast(">")
	case c == '/' || isNameStart(c):
		return t.element()
	}
	return token{kind: textToken, text: []byte("<")}, true, nil
}

func (t *tokens) declaration() error {
	const comment, cdata = "!--", "![CDATA["
	// A short rest is none of these, so the error does not matter.
	head, _ := t.in.Peek(len(cdata))
	switch {
	case bytes.HasPrefix(head, []byte(comment)):
		t.in.Discard(len(comment))
		return t.skipPast("-->")
	case string(head) == cdata:
		t.in.Discard(len(cdata))
		t.inCDATA = true
		return nil
	}
	// A document type may hold declarations in brackets, which have ">" of their own.
	for {
		part, err := t.in.ReadSlice('>')
		if bytes.IndexByte(part, '[') >= 0 {
			if err != nil && err != bufio.ErrBufferFull {
				return err
			}
			if i := bytes.LastIndexByte(part, ']'); err == nil && i >= 0 && len(bytes.TrimSpace(part[i+1:])) == 1 {
				return nil
			}
			return t.subset()
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// subset skips the rest of an internal subset: "]", blanks, ">".
func (t *tokens) subset() error {
	closing := false
	for {
		c, err := t.in.ReadByte()
		switch {
		case err != nil:
			return err
		case c == ']':
			closing = true
		case c == '>' && closing:
			return nil
		case c > ' ':
			closing = false
		}
	}
}

// skipPast skips to the end of mark, whose last octet is ">".
func (t *tokens) skipPast(mark string) error {
	// The octets before a ">" may have come in an earlier part.
	var last [3]byte
	for {
		part, err := t.in.ReadSlice('>')
		for _, c := range part[max(0, len(part)-len(last)):] {
			last[0], last[1], last[2] = last[1], last[2], c
		}
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		if strings.HasSuffix(string(last[:]), mark) {
			return nil
		}
	}
}

func (t *tokens) cdata() (token, error) {
	text, err := t.in.ReadSlice(']')
	if err != nil && err != bufio.ErrBufferFull {
		return token{}, err
	}
	if err == nil {
		// Peeking moves the buffer, so the text is kept apart.
		t.tag = append(t.tag[:0], text...)
		text = t.tag
		if head, _ := t.in.Peek(2); string(head) == "]>" {
			t.in.Discard(2)
			t.inCDATA = false
			text = text[:len(text)-1]
		}
	}
	return token{kind: cdataToken, text: text}, nil
}

// element reads a start or end tag. A "<" within it, which XML permits nowhere, not even in a value, ends it: a missing quote or
// ">" must not swallow what follows.
func (t *tokens) element() (token, bool, error) {
	t.tag = t.tag[:0]
	// A quote opens a value only after "=", so that a stray one does no harm.
	var quote, before byte
	for {
		c, err := t.in.ReadByte()
		if err != nil {
			return token{}, false, err
		}
		if c == '<' {
			t.open = true
			break
		}
		if c == '>' && quote == 0 {
			break
		}
		switch {
		case quote == c:
			quote = 0
		case quote == 0 && before == '=' && (c == '"' || c == '\''):
			quote = c
		}
		if c > ' ' {
			before = c
		}
		if len(t.tag) < bufferBytes {
			t.tag = append(t.tag, c)
		}
	}
	tok := token{kind: startToken}
	rest := t.tag
	if rest[0] == '/' {
		tok.kind = endToken
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	} else if n := len(rest); rest[n-1] == '/' {
		tok.empty = true
		rest = rest[:n-1]
	}
	end := bytes.IndexAny(rest, " \t\r\n/")
	if end < 0 {
		end = len(rest)
	}
	tok.name, tok.attrs = rest[:end], rest[end:]
	return tok, len(tok.name) > 0, nil
}

func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':' || c >= 0x80
}

// attribute is the value of the attribute called name, references resolved, and whether there is one.
func attribute(attrs []byte, name string) (string, bool) {
	const blanks = " \t\r\n"
	for {
		eq := bytes.IndexByte(attrs, '=')
		if eq < 0 {
			return "", false
		}
		key := bytes.TrimRight(attrs[:eq], blanks)
		key = key[bytes.LastIndexAny(key, blanks+"/\"'")+1:]
		attrs = bytes.TrimLeft(attrs[eq+1:], blanks)
		if len(attrs) == 0 {
			return "", false
		}
		var value []byte
		if q := attrs[0]; q == '"' || q == '\'' {
			attrs = attrs[1:]
			end := bytes.IndexByte(attrs, q)
			if end < 0 {
				return "", false
			}
			value, attrs = attrs[:end], attrs[end+1:]
		} else {
			end := bytes.IndexAny(attrs, blanks)
			if end < 0 {
				end = len(attrs)
			}
			value, attrs = attrs[:end], attrs[end:]
		}
		if string(key) == name {
			return string(appendText(nil, value)), true
		}
	}
}
