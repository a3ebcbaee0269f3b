package robots

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// rule is one allow or disallow line, ready to match.
type rule struct {
	allow  bool
	number int
	// octets is its length, which decides between rules (RFC 9309 section 2.2.2).
	octets int
	line   string
	plain  pattern
	// alt has the reserved characters of its query encoded; it is nil when that changes nothing.
	alt *pattern
}

// match takes a target in both forms; differs says that they are two. Trying the second alone would make "/*/x" miss what
// stands in a query.
func (r *rule) match(t, q []byte, differs bool) bool {
	switch {
	case r.plain.match(t):
		return true
	case r.alt != nil:
		return r.alt.match(q)
	}
	return differs && r.plain.match(q)
}

// compile brings rules into their order of precedence: most octets first, allow before disallow, then as in the file.
// Rules that can match nothing are left out. What is kept shares no memory with the file.
func compile(recs []record) []rule {
	rules := make([]rule, 0, len(recs))
	for _, rec := range recs {
		if rec.value == "" || rec.value[0] != '/' && rec.value[0] != '*' {
			continue
		}
		text := normal(make([]byte, 0, len(rec.value)), rec.value)
		r := rule{allow: rec.kind == allow, number: rec.number, octets: len(text), line: strings.Clone(rec.line), plain: newPattern(text)}
		if q, differs := encodeQuery(nil, text); differs {
			alt := newPattern(q)
			r.alt = &alt
		}
		rules = append(rules, r)
	}
	slices.SortStableFunc(rules, func(a, b rule) int {
		if a.octets != b.octets {
			return cmp.Compare(b.octets, a.octets)
		}
		switch {
		case a.allow == b.allow:
			return 0
		case a.allow:
			return -1
		}
		return 1
	})
	return rules
}

// pattern is a rule's path cut at its "*" (RFC 9309 section 2.2.3).
type pattern struct {
	// head stands at the start.
	head []byte
	// inner follow in this order, anything between them.
	inner [][]byte
	// tail is the last part of a rule that has a "*".
	tail []byte
	wild bool
	// end: the rule ended in "$".
	end bool
}

func newPattern(text []byte) pattern {
	var p pattern
	if n := len(text); n > 0 && text[n-1] == '$' {
		p.end = true
		text = text[:n-1]
	}
	if bytes.IndexByte(text, '$') >= 0 {
		text = bytes.ReplaceAll(text, []byte("$"), []byte("%24"))
	}
	if bytes.IndexByte(text, '*') < 0 {
		p.head = text
		return p
	}
	p.wild = true
	parts := bytes.Split(text, []byte("*"))
	p.head, p.tail = parts[0], parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		if len(part) > 0 {
			p.inner = append(p.inner, part)
		}
	}
	return p
}

// match takes each part at its first place after the part before it. That finds a match whenever there is one, without going
// back, so the time is linear.
func (p *pattern) match(t []byte) bool {
	if !bytes.HasPrefix(t, p.head) {
		return false
	}
	t = t[len(p.head):]
	if !p.wild {
		return !p.end || len(t) == 0
	}
	for _, part := range p.inner {
		i := bytes.Index(t, part)
		if i < 0 {
			return false
		}
		t = t[i+len(part):]
	}
	if p.end {
		return bytes.HasSuffix(t, p.tail)
	}
	return len(p.tail) == 0 || bytes.Contains(t, p.tail)
}

// bufBytes is how long a normal form may get without an allocation.
const bufBytes = 1 << 10

// normalTarget appends the normal form of a request-target, in which "*" and "$" are encoded: a rule means them verbatim only
// in that form (RFC 9309 section 2.2.3).
func normalTarget(dst []byte, target string) []byte {
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	if target == "" || target[0] != '/' {
		dst = append(dst, '/')
	}
	return normalise(dst, target, &targetClass)
}

// normal appends the normal form of a rule's path (RFC 9309 section 2.2.2): octets that a URI cannot hold as they are become
// escapes, escapes of unreserved characters become those (RFC 3986 section 6.2.2), hex digits go to upper case. A "%" that
// begins no escape stays.
func normal(dst []byte, path string) []byte { return normalise(dst, path, &ruleClass) }

func normalise(dst []byte, s string, class *[256]class) []byte {
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch class[b] {
		case keep:
			dst = append(dst, b)
		case encode:
			dst = appendEscape(dst, b)
		case percent:
			if i+2 >= len(s) {
				dst = append(dst, b)
				continue
			}
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi > 15 || lo > 15 {
				dst = append(dst, b)
				continue
			}
			if v := hi<<4 | lo; isUnreserved(v) {
				dst = append(dst, v)
			} else {
				dst = appendEscape(dst, v)
			}
			i += 2
		}
	}
	return dst
}

// encodeQuery appends t with ":", "/", "?", "@", "[" and "]" after its first "?" encoded, and says whether there were any. When
// there are none it returns t itself.
func encodeQuery(dst, t []byte) ([]byte, bool) {
	q := bytes.IndexByte(t, '?')
	if q < 0 || bytes.IndexAny(t[q+1:], ":/?@[]") < 0 {
		return t, false
	}
	dst = append(dst, t[:q+1]...)
	for _, b := range t[q+1:] {
		switch b {
		case ':', '/', '?', '@', '[', ']':
			dst = appendEscape(dst, b)
		default:
			dst = append(dst, b)
		}
	}
	return dst, true
}

func appendEscape(dst []byte, b byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[b>>4], hex[b&15])
}

func unhex(b byte) byte {
	switch {
	case '0' <= b && b <= '9':
		return b - '0'
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10
	}
	return 0xff
}

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(b byte) bool {
	c := b | 0x20
	return 'a' <= c && c <= 'z' || '0' <= b && b <= '9' || strings.IndexByte("-._~", b) >= 0
}

// class says what normalising does with an octet.
type class byte

const (
	encode class = iota
	keep
	percent
)

var ruleClass, targetClass = func() (rule, target [256]class) {
	for b := range 256 {
		if isUnreserved(byte(b)) || strings.IndexByte(":/?#[]@!$&'()*+,;=", byte(b)) >= 0 {
			rule[b] = keep
		}
	}
	rule['%'] = percent
	target = rule
	target['*'], target['$'] = encode, encode
	return rule, target
}()
