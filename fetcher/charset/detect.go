package charset

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// prescanBytes is how far a meta declaration is looked for. The HTML standard's
// prescan reads 1,024 bytes, but its parser changes the encoding when a later
// declaration comes (section 13.2.3.5), which this stands for.
const prescanBytes = 16 << 10

// Detect names the encoding of a document by the WHATWG names (lower case, e.g. "utf-8", "windows-1252")
// from byte order mark, the Content-Type field value, meta, XML declaration, and content, in that order;
// source says which ("bom", "header", "meta", "xml", "content", "default").
//
// A label that the Encoding standard does not know counts as absent. Content
// means: the whole document is valid UTF-8, but for a last character that may be
// cut. An XML type without any declaration is UTF-8 (XML 1.0 section 4.3.3);
// everything else is windows-1252.
func Detect(doc []byte, contentType string) (name, source string) {
	switch {
	case bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")):
		return "utf-8", "bom"
	case bytes.HasPrefix(doc, []byte("\xfe\xff")):
		return "utf-16be", "bom"
	case bytes.HasPrefix(doc, []byte("\xff\xfe")):
		return "utf-16le", "bom"
	}
	if name := canonicalName(headerCharset(contentType)); name != "" {
		return name, "header"
	}
	head := doc[:min(len(doc), prescanBytes)]
	if name := declaredName(prescanMeta(head)); name != "" {
		return name, "meta"
	}
	if name := xmlEncoding(head); name != "" {
		return name, "xml"
	}
	if validUTF8(doc) {
		return "utf-8", "content"
	}
	if strings.HasSuffix(MediaType(contentType), "xml") {
		return "utf-8", "default"
	}
	return "windows-1252", "default"
}

// canonicalName is the name of the encoding with this label, "" when there is
// none (Encoding standard, section 4.2).
func canonicalName(label string) string {
	label = strings.ToLower(strings.Trim(label, "\t\n\f\r "))
	if label == "" {
		return ""
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return ""
	}
	return name
}

// declaredName is canonicalName for a label read from the document itself as
// ASCII, which can be no UTF-16 (HTML standard, prescan, step "processing").
func declaredName(label string) string {
	switch name := canonicalName(label); name {
	case "utf-16be", "utf-16le":
		return "utf-8"
	case "x-user-defined":
		return "windows-1252"
	default:
		return name
	}
}

// xmlEncoding reads the XML declaration (HTML standard, "get an XML encoding").
func xmlEncoding(doc []byte) string {
	switch {
	case bytes.HasPrefix(doc, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(doc, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	case !bytes.HasPrefix(doc, []byte("<?xml")):
		return ""
	}
	end := bytes.IndexByte(doc, '>')
	if end < 0 {
		return ""
	}
	_, rest, ok := bytes.Cut(doc[:end], []byte("encoding"))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest, "\t\n\r ")
	if len(rest) == 0 || rest[0] != '=' {
		return ""
	}
	rest = bytes.TrimLeft(rest[1:], "\t\n\r ")
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, ok := bytes.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return declaredName(string(label))
}

// validUTF8 tells whether doc is UTF-8. A last character that is cut short (a
// body ended by a size limit) is allowed where other multi-byte characters stand
// before it: alone it is more likely a letter of windows-1252.
func validUTF8(doc []byte) bool {
	if utf8.Valid(doc) {
		return true
	}
	tail := len(doc)
	for i := 1; i < utf8.UTFMax && i <= len(doc); i++ {
		if c := doc[len(doc)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(doc[len(doc)-i:]) {
				tail = len(doc) - i
			}
			break
		}
	}
	return tail < len(doc) && utf8.Valid(doc[:tail]) && !isASCII(doc[:tail])
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
