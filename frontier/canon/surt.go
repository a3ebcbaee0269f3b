package canon

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// SURT is the sort-friendly key under which the Internet Archive's tools (surt,
// pywb, cdxj-indexer, Common Crawl) file a capture: host labels reversed and
// joined by commas, without "www." or "www" and digits; ")" ; the path in lower
// case without session identifiers and trailing slash; the arguments of the
// query sorted. Two URLs may share a key, so it is for looking up, never for requests.
func (u URL) SURT() string {
	if u.IsZero() {
		return ""
	}
	out := appendReversedHost(make([]byte, 0, len(u.href)), u.Hostname())
	if _, nameEnd, path := u.splitHost(); nameEnd < path {
		out = append(out, u.href[nameEnd:path]...)
	}
	out = append(out, ')')
	out = append(out, surtPath(u.Path())...)
	if q, _ := u.Query(); q != "" {
		if key := surtQuery(q); len(key) > 0 {
			out = append(append(out, '?'), key...)
		}
	}
	return string(out)
}

func appendReversedHost(out []byte, host string) []byte {
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest = strings.TrimLeft(rest, "0123456789"); len(rest) > 1 && rest[0] == '.' {
			host = rest[1:]
		}
	}
	// A host of bare dots is unresolvable; it keeps no label.
	host = strings.Trim(strings.ReplaceAll(host, "..", "."), ".")
	for {
		i := strings.LastIndexByte(host, '.')
		out = append(out, host[i+1:]...)
		if i < 0 {
			return out
		}
		out = append(out, ',')
		host = host[:i]
	}
}

// ASP.NET puts session identifiers into a segment of their own.
var pathSessions = []*regexp.Regexp{
	regexp.MustCompile(`^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`),
	regexp.MustCompile(`^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`),
}

// surtPath unescapes, drops dot and empty segments, escapes, lowers, and cuts.
func surtPath(path string) []byte {
	segments := bytes.Split(unescapeAll([]byte(path)), []byte("/"))[1:]
	kept := segments[:0]
	for _, s := range segments {
		switch {
		case string(s) == ".":
		case string(s) == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	clean := []byte("/")
	for i, s := range kept {
		if i == len(kept)-1 {
			clean = append(clean, s...)
		} else if len(s) > 0 {
			clean = append(append(clean, s...), '/')
		}
	}
	clean = bytes.ToLower(escapeOnce(clean))
	if bytes.Contains(clean, []byte(".aspx")) {
		for _, re := range pathSessions {
			clean = re.ReplaceAll(clean, []byte("$1$2"))
		}
	}
	if len(clean) > 1 && clean[len(clean)-1] == '/' {
		clean = clean[:len(clean)-1]
	}
	return clean
}

// querySessions are the arguments that carry session identifiers; each is cut
// out together with the "&" behind it, at its last occurrence.
var querySessions = []*regexp.Regexp{
	regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
	regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
}

func surtQuery(query string) []byte {
	q := bytes.ToLower(escapeOnce(unescapeAll([]byte(query))))
	if bytes.Contains(q, []byte("id")) {
		for _, re := range querySessions {
			q = re.ReplaceAll(q, []byte("$1$2"))
		}
	}
	if len(q) <= 1 {
		return q
	}
	args := bytes.Split(q, []byte("&"))
	slices.SortFunc(args, func(a, b []byte) int {
		aName, aValue, aHas := bytes.Cut(a, []byte("="))
		bName, bValue, bHas := bytes.Cut(b, []byte("="))
		if c := bytes.Compare(aName, bName); c != 0 {
			return c
		}
		switch {
		case aHas == bHas:
			return bytes.Compare(aValue, bValue)
		case aHas:
			return 1
		}
		return -1
	})
	return bytes.Join(args, []byte("&"))
}

// unescapeAll percent-decodes until nothing changes, in place. A byte that
// completes an escape begun before it is found by stepping back, so that deep
// nesting ("%2525...") costs one pass.
func unescapeAll(b []byte) []byte {
	out := b[:0]
	for _, c := range b {
		out = append(out, c)
		for n := len(out); n >= 3 && out[n-3] == '%' && isHex(out[n-2]) && isHex(out[n-1]); n = len(out) {
			out = append(out[:n-3], unhex(out[n-2])<<4|unhex(out[n-1]))
		}
	}
	return out
}

// escapeOnce percent-encodes what is not printable ASCII, "#" and "%".
func escapeOnce(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '#' || c == '%' {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return out
}
