package links

import "bytes"

// relation is what following a link element of one relation means.
type relation struct {
	name string
	hop  byte
}

// linkRelations are the relations with a meaning of their own; a hop of zero is
// not followed: hints to connect, and addresses of services.
var linkRelations = map[string]relation{
	"stylesheet":                   {"link/stylesheet", Embed},
	"icon":                         {"link/icon", Embed},
	"apple-touch-icon":             {"link/icon", Embed},
	"apple-touch-icon-precomposed": {"link/icon", Embed},
	"apple-touch-startup-image":    {"link/icon", Embed},
	"mask-icon":                    {"link/icon", Embed},
	"fluid-icon":                   {"link/icon", Embed},
	"image_src":                    {"link/image_src", Embed},
	"manifest":                     {"link/manifest", Embed},
	"preload":                      {"link/preload", Embed},
	"modulepreload":                {"link/modulepreload", Embed},
	"prefetch":                     {"link/prefetch", Embed},
	"canonical":                    {relCanonical, Link},
	"alternate":                    {"link/alternate", Link},
	"next":                         {"link/next", Link},
	"prev":                         {"link/prev", Link},
	"previous":                     {"link/prev", Link},
	"first":                        {"link/first", Link},
	"last":                         {"link/last", Link},
	"up":                           {"link/up", Link},
	"index":                        {"link/index", Link},
	"contents":                     {"link/contents", Link},
	"author":                       {"link/author", Link},
	"license":                      {"link/license", Link},
	"help":                         {"link/help", Link},
	"search":                       {"link/search", Link},
	"amphtml":                      {"link/amphtml", Link},
	"shortlink":                    {"link/shortlink", Link},
	"dns-prefetch":                 {},
	"preconnect":                   {},
	"pingback":                     {},
	"webmention":                   {},
	"edituri":                      {},
	"wlwmanifest":                  {},
	"profile":                      {},
	"hub":                          {},
	"openid.server":                {},
	"openid2.provider":             {},
	"https://api.w.org/":           {},
}

const relCanonical = "link/canonical"

// linkRelation is the element and relation, and the hop type, of a link element;
// zero where it is not to be followed, as without rel. Of several relations
// canonical counts before all, then what embeds (an alternate stylesheet is a
// stylesheet), then the first known. An unknown one is a page link.
func linkRelation(rel []byte) (name string, hop byte) {
	var best relation
	known, refused := false, false
	for len(rel) > 0 {
		var token []byte
		token, rel = nextToken(rel)
		if len(token) == 0 {
			break
		}
		var lower [32]byte
		r, ok := linkRelations[string(toLower(lower[:0], token))]
		switch {
		case !ok:
			if !known {
				best = relation{"link", Link}
			}
		case r.hop == 0:
			refused = true
		case r.name == relCanonical:
			return r.name, r.hop
		case !known || r.hop == Embed && best.hop == Link:
			best, known = r, true
		}
	}
	if refused && !known {
		return "", 0
	}
	return best.name, best.hop
}

// noFollow tells whether rel asks that the link lend no weight.
func noFollow(rel []byte) bool {
	for len(rel) > 0 {
		var token []byte
		token, rel = nextToken(rel)
		if bytes.EqualFold(token, []byte("nofollow")) || bytes.EqualFold(token, []byte("ugc")) ||
			bytes.EqualFold(token, []byte("sponsored")) {
			return true
		}
	}
	return false
}

// nextToken splits off the first of a set of space-separated tokens.
func nextToken(set []byte) (token, rest []byte) {
	set = trim(set)
	for i, c := range set {
		if isSpace(c) {
			return set[:i], set[i:]
		}
	}
	return set, nil
}

func toLower(dst, b []byte) []byte {
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
