package charset

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// ToUTF8 decodes doc from the encoding called name; a byte order mark is dropped, broken sequences become U+FFFD.
// It returns doc itself, or a slice of it, when there is nothing to decode. An unknown name is read as UTF-8.
func ToUTF8(doc []byte, name string) []byte {
	enc, err := htmlindex.Get(name)
	if err == nil {
		name, err = htmlindex.Name(enc)
	}
	switch {
	case err != nil, name == "utf-8":
		doc = trimBOM(doc)
		if utf8.Valid(doc) {
			return doc
		}
		enc = unicode.UTF8
	case asciiCompatible(name) && isASCII(doc):
		return doc
	}
	out, err := enc.NewDecoder().Bytes(doc)
	if err != nil {
		// The decoders replace what they cannot read; this is for one that would not.
		out = []byte(string([]rune(string(doc))))
	}
	return trimBOM(out)
}

// asciiCompatible tells encodings in which the ASCII bytes alone mean themselves.
func asciiCompatible(name string) bool {
	switch name {
	case "utf-16be", "utf-16le", "iso-2022-jp", "replacement":
		return false
	}
	return true
}
