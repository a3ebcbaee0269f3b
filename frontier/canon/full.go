package canon

import (
	"strings"

	"github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// hostCharacters maps a host's text for refusedHost alone. The parser's own
// mapping and validation follow and decide everything else.
var hostCharacters = idna.New(idna.MapForLookup(), idna.VerifyDNSLength(false),
	idna.StrictDomainName(false), idna.CheckHyphens(false), idna.Transitional(false))

// fullParser is the whole URL standard. The path percent-encode set of
// section 1.3 has held U+005E (^) since November 2024, which the library's set lacks.
var fullParser = url.NewParser(
	url.WithPathPercentEncodeSet(url.PathPercentEncodeSet.Set('^')),
	url.WithPreParseHostFunc(func(_ *url.Url, host string) string {
		if refusedHost(host) {
			return "\x00"
		}
		return host
	}),
)

// asciiParser takes what fullParser refuses in one case: a domain of ASCII
// characters that has a label which begins with "xn--" and is no valid Punycode,
// or decodes to characters newer than our Unicode tables. The standard keeps
// such a domain as it is, in lower case (section 3.3, domain to ASCII).
var asciiParser = url.NewParser(
	url.WithLaxHostParsing(),
	url.WithPathPercentEncodeSet(url.PathPercentEncodeSet.Set('^')),
	url.WithPreParseHostFunc(func(_ *url.Url, host string) string {
		if len(host) > maxHostBytes {
			return "\x00"
		}
		if name := strings.ToLower(percentDecode(host)); isASCII(name) && hasACELabel(name) && plainCharacters(name) {
			return name
		}
		// Of a base and a reference, one may be such a domain and the other not.
		if _, err := fullParser.Parse("http://" + host); err != nil {
			return "\x00"
		}
		return host
	}),
)

func hasACELabel(host string) bool {
	return strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--")
}

// mayHaveACELabel rules out most references that fail for other reasons.
func mayHaveACELabel(base, ref string) bool {
	return strings.Contains(base, "xn--") || strings.IndexByte(ref, '%') >= 0 || strings.Contains(strings.ToLower(ref), "n--")
}

// plainCharacters tells whether the host parser has nothing to change or to refuse in host, save its labels' meaning.
func plainCharacters(host string) bool {
	for i := 0; i < len(host); i++ {
		if class[host[i]]&hostChar == 0 {
			return false
		}
	}
	return host != ""
}

// maxHostBytes bounds a host as written. DNS names have at most 253 bytes; the
// rest is room for percent-encoding. The library takes time quadratic in it.
const maxHostBytes = 2048

// refusedHost tells hosts that the standard's host parser (section 3.5) fails on
// and the library accepts: brackets within brackets, and IPv4 numbers with a
// sign. Beyond the standard it refuses hosts over maxHostBytes, and names whose
// last label is a number with a sign ("a.-1"), which no registry gives out.
func refusedHost(host string) bool {
	if len(host) > maxHostBytes {
		return true
	}
	if strings.HasPrefix(host, "[") {
		inner := strings.TrimSuffix(host[1:], "]")
		return strings.ContainsAny(inner, "[]")
	}
	plain := strings.IndexFunc(host, func(r rune) bool {
		return r == '+' || r == '-' || r == '%' || r >= 0x80
	}) < 0
	if plain {
		return false
	}
	name := strings.ToLower(percentDecode(host))
	// Full-width signs and digits map to ASCII ones.
	if mapped, err := hostCharacters.ToASCII(name); err == nil {
		name = mapped
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	signed := false
	for _, l := range labels {
		if l = strings.TrimPrefix(l, "0x"); l != "" && (l[0] == '+' || l[0] == '-' || l[0] == '0' && len(l) > 1 && (l[1] == '+' || l[1] == '-')) {
			signed = true
		}
	}
	return signed && looksNumeric(labels[len(labels)-1])
}

// looksNumeric tells whether strconv would read the label as an integer in one
// of the bases that an IPv4 number may have.
func looksNumeric(label string) bool {
	label = strings.TrimPrefix(label, "0x")
	label = strings.TrimPrefix(label, "0")
	label = strings.TrimLeft(label, "+-")
	for i := 0; i < len(label); i++ {
		if !isHex(label[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// percentDecode replaces each "%" with two hexadecimal digits by its byte.
func percentDecode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// parseFull reads ref with the whole parser against base, which is canonical or empty.
func parseFull(base, ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, fail(ErrSyntax, ref, tooLong)
	}
	u, err := fullParser.ParseRef(base, ref)
	if err != nil && mayHaveACELabel(base, ref) {
		u, err = asciiParser.ParseRef(base, ref)
		// What the lax parser was told to refuse, it percent-encodes.
		if err == nil && !plainCharacters(u.Hostname()) && !strings.HasPrefix(u.Hostname(), "[") {
			err = ErrSyntax
		}
	}
	if err != nil {
		return URL{}, fail(ErrSyntax, ref, "")
	}
	if s := u.Scheme(); s != "http" && s != "https" {
		return URL{}, fail(ErrScheme, ref, "")
	}
	u.SetUsername("")
	u.SetPassword("")
	href := u.Href(true)
	host := u.Hostname()
	if host == "" {
		return URL{}, fail(ErrSyntax, ref, "")
	}
	if n := len(host); n > 1 && host[n-1] == '.' && host[n-2] != '.' {
		dot := len(u.Scheme()) + len("://") + n - 1
		href = href[:dot] + href[dot+1:]
	}
	if len(href) > MaxLength {
		return URL{}, fail(ErrSyntax, ref, tooLong)
	}
	return URL{href: href}, nil
}
