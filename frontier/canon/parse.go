package canon

import "strings"

// Parse reads an absolute URL. The result may share memory with s.
func Parse(s string) (URL, error) { return URL{}.Resolve(s) }

// Resolve reads ref against the base u; against the zero URL it is Parse. The
// result may share memory with ref.
//
// References made of plain characters, which are nearly all, are resolved here by
// slicing, and such as need no more than percent-encoding, after that; everything
// else goes to the full parser. The fast path may decline any input, and where it
// answers, its answer is the full parser's: FuzzResolve holds it to that.
func (u URL) Resolve(ref string) (URL, error) {
	if r, ok := u.resolvePlain(ref); ok {
		return r, nil
	}
	if foreignScheme(ref) {
		return URL{}, fail(ErrScheme, ref, "")
	}
	if encoded, ok := encodeTarget(ref); ok {
		if r, ok := u.resolvePlain(encoded); ok {
			return r, nil
		}
	}
	return parseFull(u.href, ref)
}

// Character classes of the fast path. A path character stays as it is in a path
// and in the query of a special URL (section 1.3: neither in the path nor in the
// special-query percent-encode set, and no backslash); hostChar holds for lower-case names.
const (
	pathChar = 1 << iota
	queryChar
	hostChar
	schemeChar
)

var class = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= pathChar | queryChar | hostChar | schemeChar
		t[c-'a'+'A'] |= pathChar | queryChar | schemeChar
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= pathChar | queryChar | hostChar | schemeChar
	}
	for _, c := range "-._~!$&()*+,;=:@/%[]|" {
		t[c] |= pathChar | queryChar
	}
	t['\''] |= pathChar
	for _, c := range "?`{}^\\" {
		t[c] |= queryChar
	}
	for _, c := range "-._" {
		t[c] |= hostChar
	}
	for _, c := range "-.+" {
		t[c] |= schemeChar
	}
	return t
}()

// resolvePlain answers for plain references, and declines all others.
func (u URL) resolvePlain(ref string) (URL, bool) {
	if len(ref) > MaxLength/2 || len(u.href) > MaxLength/2 {
		return URL{}, false
	}
	// What follows the first "#" is the fragment in every state of the parser.
	// A head that ends in white space is not plain, so trimming cannot reach into it.
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if strings.HasPrefix(ref, "http://") || strings.HasPrefix(ref, "https://") {
		return absolutePlain(ref)
	}
	if u.IsZero() {
		return URL{}, false
	}
	switch {
	case ref == "":
		return u, true
	case ref[0] == '?':
		if !plainQuery(ref[1:]) {
			return URL{}, false
		}
		return URL{href: u.pathPrefix() + ref}, true
	case ref[0] == '/':
		if len(ref) > 1 && ref[1] == '/' {
			if len(ref) > 2 && class[ref[2]]&hostChar == 0 {
				return URL{}, false
			}
			return absolutePlain(u.href[:u.hostStart()-len("//")] + ref)
		}
		if !plainTarget(ref[1:]) {
			return URL{}, false
		}
		return URL{href: u.href[:u.pathStart()] + ref}, true
	}
	return u.resolveRelative(ref)
}

// resolveRelative joins a path-relative reference to the base's directory.
func (u URL) resolveRelative(ref string) (URL, bool) {
	root := u.pathStart()
	dir := u.pathPrefix()
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	for strings.HasPrefix(ref, ".") {
		end := 0
		for end < len(ref) && ref[end] == '.' {
			end++
		}
		if end > 2 || end < len(ref) && ref[end] != '/' && ref[end] != '?' {
			break
		}
		if end == 2 && len(dir) > root+1 {
			dir = dir[:strings.LastIndexByte(dir[:len(dir)-1], '/')+1]
		}
		if ref = ref[end:]; ref == "" || ref[0] == '?' {
			break
		}
		ref = ref[1:]
	}
	// A colon in the first segment may end a scheme.
	for i := 0; i < len(ref) && ref[i] != '/' && ref[i] != '?'; i++ {
		if ref[i] == ':' {
			return URL{}, false
		}
	}
	if !plainTarget(ref) {
		return URL{}, false
	}
	return URL{href: dir + ref}, true
}

// pathPrefix is the URL without its query.
func (u URL) pathPrefix() string {
	if i := strings.IndexByte(u.href, '?'); i >= 0 {
		return u.href[:i]
	}
	return u.href
}

// absolutePlain answers for "http://" or "https://" with a plain host, a port
// that is not the scheme's, and plain path and query.
func absolutePlain(s string) (URL, bool) {
	u := URL{href: s}
	start := u.hostStart()
	end := start
	for end < len(s) && class[s[end]]&hostChar != 0 {
		end++
	}
	if !plainHost(s[start:end]) {
		return URL{}, false
	}
	path := end
	if path < len(s) && s[path] == ':' {
		path++
		port := path
		for path < len(s) && s[path] >= '0' && s[path] <= '9' {
			path++
		}
		if !plainPort(s[port:path], start == len("https://")) {
			return URL{}, false
		}
	}
	switch {
	case path == len(s):
		return URL{href: s + "/"}, true
	case s[path] != '/' || !plainTarget(s[path+1:]):
		return URL{}, false
	}
	return u, true
}

// plainPort tells ports that stay as written.
func plainPort(p string, tls bool) bool {
	if p == "" || len(p) > 5 || p[0] == '0' || len(p) == 5 && p > "65535" {
		return false
	}
	return p != "80" && !tls || p != "443" && tls
}

// plainHost tells host names that are their own canonical form: labels of
// letters, digits, "_" and single inner hyphens, the last beginning with a
// letter (so that it is no number), or an IPv4 address in four decimal parts.
func plainHost(h string) bool {
	if h == "" || len(h) > 253 {
		return false
	}
	label := 0
	for i := 0; i <= len(h); i++ {
		if i < len(h) && h[i] != '.' {
			if h[i] == '-' && (i == label || i+1 == len(h) || h[i+1] == '-' || h[i+1] == '.') {
				return false
			}
			continue
		}
		if i == label || i-label > 63 {
			return false
		}
		if i < len(h) {
			label = i + 1
		}
	}
	if c := h[label]; c < '0' || c > '9' {
		return c != '_'
	}
	return plainIPv4(h)
}

func plainIPv4(h string) bool {
	parts := 0
	for n, i := 0, 0; ; i++ {
		if i < len(h) && h[i] >= '0' && h[i] <= '9' {
			if n++; n > 3 || n > 1 && h[i-n+1] == '0' {
				return false
			}
			continue
		}
		if n == 0 || n == 3 && h[i-3:i] > "255" {
			return false
		}
		parts, n = parts+1, 0
		if i == len(h) {
			return parts == 4
		}
		if h[i] != '.' {
			return false
		}
	}
}

// plainTarget tells whether s, at the start of a path segment, is a path and
// perhaps a query that the parser would leave alone.
func plainTarget(s string) bool {
	segment := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if class[c]&pathChar == 0 {
			if c != '?' {
				return false
			}
			return !dotSegment(s[segment:i]) && plainQuery(s[i+1:])
		}
		if c == '/' {
			if dotSegment(s[segment:i]) {
				return false
			}
			segment = i + 1
		}
	}
	return !dotSegment(s[segment:])
}

// dotSegment tells what may be a single-dot or double-dot segment (section 4.4):
// each has at most six bytes, "%2e%2e".
func dotSegment(s string) bool {
	if s == "" || len(s) > len("%2e%2e") {
		return false
	}
	return s[0] == '.' && strings.Trim(s[1:], ".%2eE") == "" || len(s) >= 3 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e'
}

func plainQuery(s string) bool {
	for i := 0; i < len(s); i++ {
		if class[s[i]]&queryChar == 0 {
			return false
		}
	}
	return true
}

// foreignScheme tells whether ref begins with a scheme other than http and
// https (section 4.4, scheme state): such references need no parser, and a data
// URL may have a megabyte.
func foreignScheme(ref string) bool {
	i := 0
	for i < len(ref) && ref[i] <= ' ' {
		i++
	}
	start := i
	for i < len(ref) && class[ref[i]]&schemeChar != 0 {
		i++
	}
	if i == len(ref) || ref[i] != ':' || i == start || ref[start]|0x20 < 'a' || ref[start]|0x20 > 'z' {
		return false
	}
	s := ref[start:i]
	return !strings.EqualFold(s, "http") && !strings.EqualFold(s, "https")
}
