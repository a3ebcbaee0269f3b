package fetcher

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"amble/frontier/canon"
)

const (
	acceptValue = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	// maskedValue stands for a secret in what is kept of a request.
	maskedValue = "[masked]"
)

// ownFields are set by the fetcher, or decide how the message is framed; a Request cannot give them.
var ownFields = map[string]bool{
	"Host": true, "User-Agent": true, "Accept": true, "Accept-Encoding": true, "Connection": true,
	"Content-Length": true, "Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Keep-Alive": true, "Proxy-Connection": true,
}

var errZeroURL = errors.New("request without a URL")

// secret tells whether a field's value must not be kept: credentials by their standard names, and
// what operators call theirs.
func secret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"authorization", "cookie", "token", "secret", "password", "api-key", "apikey"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// requestHead makes the head as it goes on the wire (RFC 9112 sections 2.1 and 3), and the same
// with secrets masked. Where there is none, both are one slice.
func (f *Fetcher) requestHead(u canon.URL, extra http.Header) (wire, masked []byte, err error) {
	target, host := u.RequestTarget(), u.Host()
	if target == "" || host == "" {
		return nil, nil, errZeroURL
	}
	// A canonical URL has none of these; a URL put together by other means must not smuggle a line.
	if strings.IndexFunc(target, notInLine) >= 0 || strings.IndexFunc(host, notInLine) >= 0 {
		return nil, nil, fmt.Errorf("URL %q has characters that no request line may have", u.String())
	}
	names, size, secrets := []string(nil), 0, false
	for name, values := range extra {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if ownFields[canonical] {
			continue
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, nil, fmt.Errorf("request header field name %q is invalid", name)
		}
		secrets = secrets || secret(name)
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, nil, fmt.Errorf("the value of request header field %s has invalid characters", name)
			}
			size += len(name) + len(v) + len(": \r\n")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	write := func(mask bool) []byte {
		b := make([]byte, 0, 192+len(target)+len(host)+len(f.userAgent)+size)
		b = append(b, "GET "...)
		b = append(b, target...)
		b = append(b, " HTTP/1.1\r\n"...)
		b = appendField(b, "Host", host)
		if f.userAgent != "" {
			b = appendField(b, "User-Agent", f.userAgent)
		}
		b = appendField(b, "Accept", acceptValue)
		b = appendField(b, "Accept-Encoding", "gzip")
		for _, name := range names {
			for _, v := range extra[name] {
				if mask && secret(name) {
					v = maskedValue
				}
				b = appendField(b, name, v)
			}
		}
		b = appendField(b, "Connection", "keep-alive")
		return append(b, "\r\n"...)
	}
	wire = write(false)
	if masked = wire; secrets {
		masked = write(true)
	}
	return wire, masked, nil
}

// notInLine tells characters that would end or split a request line: all but visible ones.
func notInLine(r rune) bool { return r <= ' ' || r == 0x7f }

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}
