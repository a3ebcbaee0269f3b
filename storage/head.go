package storage

import (
	"bytes"
	"strconv"
)

// appendStoredHead appends a response head as it is archived before a body of length bytes. It is the head as received,
// unless that names a chunked transfer coding: no stored body has chunk framing, so then Transfer-Encoding becomes
// X-Crawler-Transfer-Encoding and Content-Length says the stored size (no Content-Length before a status that has no
// body, RFC 9110 section 8.6).
func appendStoredHead(dst, head []byte, status int, length int64) []byte {
	if !hasChunked(head) {
		return append(dst, head...)
	}
	const mark = "X-Crawler-"
	counted := status == 204 || status == 304
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch name = bytes.TrimRight(name, " \t"); {
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			dst = append(append(dst, mark...), line...)
		case bytes.EqualFold(name, []byte("Content-Length")):
			// It was void beside a transfer coding (RFC 9112 section 6.3).
			dst = append(append(dst, mark...), line...)
		case len(bytes.TrimRight(line, "\r\n")) == 0 && !counted:
			counted = true
			dst = append(dst, "Content-Length: "...)
			dst = strconv.AppendInt(dst, length, 10)
			dst = append(dst, line...) // its line end ends the field
			dst = append(dst, line...)
		default:
			dst = append(dst, line...)
		}
	}
	return dst
}

// hasChunked tells whether a Transfer-Encoding field names chunked; folded lines count as their field's.
func hasChunked(head []byte) bool {
	inField := false
	for line := range bytes.Lines(head) {
		value := line
		if line[0] != ' ' && line[0] != '\t' {
			var name []byte
			name, value, _ = bytes.Cut(line, []byte(":"))
			inField = bytes.EqualFold(bytes.TrimRight(name, " \t"), []byte("Transfer-Encoding"))
		}
		if inField && bytes.Contains(bytes.ToLower(value), []byte("chunked")) {
			return true
		}
	}
	return false
}

// headStatus is the status code in a response head's first line; 0 when there is none.
func headStatus(head []byte) int {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return 0
	}
	rest = bytes.TrimLeft(rest, " ")
	code, err := strconv.Atoi(string(rest[:min(len(rest), 3)]))
	if err != nil || code < 100 || code > 999 {
		return 0
	}
	return code
}

// headEnd is the length of the head at the start of b, with its empty line; 0 when b does not hold it whole.
func headEnd(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return 0
		}
		if line := b[at : at+i]; len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			return at + i + 1
		}
		at += i + 1
	}
}
