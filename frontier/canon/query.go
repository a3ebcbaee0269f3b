package canon

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// ResolveCharset is Resolve for a document whose encoding has the WHATWG name
// charset: the query is percent-encoded in it, the path always in UTF-8 (URL
// standard, sections 1.3 and 4.4). A character that the encoding lacks becomes
// %26%23NNN%3B, NNN being its code point in decimal. For an unknown charset,
// UTF-16 and the replacement encoding it is Resolve (Encoding standard, "get an
// output encoding").
func (u URL) ResolveCharset(ref, charset string) (URL, error) {
	if charset == "" || charset == "utf-8" || isASCII(ref) || len(ref) > MaxLength {
		return u.Resolve(ref)
	}
	enc := outputEncoding(charset)
	if enc == nil || foreignScheme(ref) {
		return u.Resolve(ref)
	}
	head := ref
	if i := strings.IndexByte(head, '#'); i >= 0 {
		head = head[:i]
	} else {
		head = strings.TrimRight(head, trimmed)
	}
	i := strings.IndexByte(head, '?')
	if i < 0 || isASCII(head[i:]) {
		return u.Resolve(ref)
	}
	return u.Resolve(head[:i+1] + encodeQuery(head[i+1:], enc))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// outputEncoding is nil where queries are in UTF-8.
func outputEncoding(charset string) encoding.Encoding {
	enc, err := htmlindex.Get(charset)
	if err != nil {
		return nil
	}
	switch name, err := htmlindex.Name(enc); {
	case err != nil, name == "utf-8", name == "utf-16be", name == "utf-16le", name == "replacement":
		return nil
	}
	return enc
}

// encodeQuery is "percent-encode after encoding" (section 1.3) over the special-query set.
func encodeQuery(q string, enc encoding.Encoding) string {
	var b strings.Builder
	run := 0
	flush := func(end int) {
		if run == end {
			return
		}
		// Whole runs, since an encoding may shift states between characters.
		coded, err := enc.NewEncoder().String(q[run:end])
		if err != nil {
			coded = q[run:end]
		}
		for i := 0; i < len(coded); i++ {
			appendQueryByte(&b, coded[i])
		}
	}
	for i, r := range q {
		if r < utf8.RuneSelf {
			if r == '\t' || r == '\n' || r == '\r' {
				flush(i)
				run = i + 1
			}
			continue
		}
		if _, err := enc.NewEncoder().String(string(r)); err != nil {
			flush(i)
			b.WriteString("%26%23" + strconv.Itoa(int(r)) + "%3B")
			_, size := utf8.DecodeRuneInString(q[i:])
			run = i + size
		}
	}
	flush(len(q))
	return b.String()
}

// appendQueryByte writes one byte, percent-encoded where the special-query set has it.
func appendQueryByte(b *strings.Builder, c byte) {
	if c <= ' ' || c >= 0x7f || c == '"' || c == '#' || c == '<' || c == '>' || c == '\'' {
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
		return
	}
	b.WriteByte(c)
}
