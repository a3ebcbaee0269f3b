package canon

import (
	"strings"

	"github.com/zeebo/xxh3"
)

// URL is an absolute http or https URL in canonical form: the WHATWG URL
// serialisation without fragment, without userinfo, and without the dot that may
// end a host name. It is comparable; the zero value is no URL, and its accessors
// give empty strings.
//
// It is one string, and the accessors slice it: scanning a host costs less than
// carrying offsets through every queue.
type URL struct {
	href string
}

// FromOrigin puts together what Origin and RequestTarget took apart, both already canonical.
func FromOrigin(origin, target string) URL { return URL{href: origin + target} }

// String is the canonical form.
func (u URL) String() string { return u.href }

// IsZero tells the zero value.
func (u URL) IsZero() bool { return u.href == "" }

// hostStart is the offset of the host; the href is "http://..." or "https://...".
func (u URL) hostStart() int {
	if len(u.href) < len("https://") {
		return len(u.href)
	}
	if u.href[4] == 's' {
		return len("https://")
	}
	return len("http://")
}

// pathStart is the offset of the path's first "/".
func (u URL) pathStart() int {
	start := u.hostStart()
	if i := strings.IndexByte(u.href[start:], '/'); i >= 0 {
		return start + i
	}
	return len(u.href)
}

// splitHost is where the host name ends, and where the path begins. Between
// the two there is ":" and the port, or nothing.
func (u URL) splitHost() (start, nameEnd, pathStart int) {
	start, pathStart = u.hostStart(), u.pathStart()
	nameEnd = pathStart
	for i := pathStart - 1; i >= start; i-- {
		c := u.href[i]
		if c == ':' {
			nameEnd = i
			break
		}
		if c < '0' || c > '9' {
			break
		}
	}
	return start, nameEnd, pathStart
}

// Scheme is "http" or "https".
func (u URL) Scheme() string {
	if start := u.hostStart(); start >= len("://") {
		return u.href[:start-len("://")]
	}
	return ""
}

// Hostname is the lower-case ASCII host, without port; an IPv6 address keeps its brackets.
func (u URL) Hostname() string {
	start, end, _ := u.splitHost()
	return u.href[start:end]
}

// Port is the port in decimal, never empty: "80" and "443" where the URL has none.
func (u URL) Port() string {
	_, end, path := u.splitHost()
	switch {
	case end < path:
		return u.href[end+1 : path]
	case u.IsZero():
		return ""
	case u.href[4] == 's':
		return "443"
	}
	return "80"
}

// Host is what the Host header field carries: the host name, and the port unless it is the scheme's default.
func (u URL) Host() string { return u.href[u.hostStart():u.pathStart()] }

// Origin is scheme, host and port, e.g. "https://example.com" or "http://example.com:8080".
func (u URL) Origin() string { return u.href[:u.pathStart()] }

// PaceKey is the key of pace, queue and ledger: the host name, with its port when it is neither 80 nor 443.
func (u URL) PaceKey() string {
	start, end, path := u.splitHost()
	if end < path {
		if port := u.href[end+1 : path]; port != "80" && port != "443" {
			return u.href[start:path]
		}
	}
	return u.href[start:end]
}

// RequestTarget is path and query as they go on the wire (RFC 9112 section 3.2.1).
func (u URL) RequestTarget() string { return u.href[u.pathStart():] }

// Path is the path alone; it begins with "/".
func (u URL) Path() string {
	target := u.RequestTarget()
	if i := strings.IndexByte(target, '?'); i >= 0 {
		return target[:i]
	}
	return target
}

// Query is the query without its "?", and whether there is one: "/a?" has an empty query, "/a" has none.
func (u URL) Query() (string, bool) {
	if i := strings.IndexByte(u.href, '?'); i >= 0 {
		return u.href[i+1:], true
	}
	return "", false
}

// Fingerprint is a 64-bit hash of the canonical form under a seed that is drawn per crawl,
// so that nobody can craft collisions.
func (u URL) Fingerprint(seed uint64) uint64 { return xxh3.HashStringSeed(u.href, seed) }
