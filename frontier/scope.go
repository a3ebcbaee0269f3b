package frontier

import (
	"fmt"
	"regexp"
	"strings"

	"amble/frontier/canon"
)

// scopeRules are Rules made ready.
type scopeRules struct {
	Rules
	sites    map[string]bool // sites of Also
	suffixes []string        // ".example.org" of "*.example.org"
	prefixes []string
	trapSets map[string]trapSet // of TrapsOf
}

func compileRules(r Rules) (*scopeRules, error) {
	c := &scopeRules{Rules: r, sites: map[string]bool{}, trapSets: map[string]trapSet{}}
	switch r.Scope {
	case "":
		c.Scope = ScopeHost
	case ScopePage, ScopePath, ScopeHost, ScopeDomain, ScopeAll:
	default:
		return nil, fmt.Errorf("scope %q is unknown", r.Scope)
	}
	switch r.Embeds {
	case "", EmbedsNone, EmbedsHost, EmbedsAll:
	default:
		return nil, fmt.Errorf("embeds %q is unknown", r.Embeds)
	}
	for key, names := range r.TrapsOf {
		on, err := newTrapSet(names)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", key, err)
		}
		c.trapSets[key] = on
	}
	for _, also := range r.Also {
		if strings.Contains(also, "://") {
			u, err := canon.Parse(also)
			if err != nil {
				return nil, fmt.Errorf("also %q: %w", also, err)
			}
			c.prefixes = append(c.prefixes, u.String())
			continue
		}
		name, wild := strings.CutPrefix(also, "*.")
		u, err := canon.Parse("http://" + name + "/")
		if err != nil || u.RequestTarget() != "/" {
			return nil, fmt.Errorf("also %q is neither a host nor a URL prefix", also)
		}
		if wild {
			c.suffixes = append(c.suffixes, "."+u.PaceKey())
		} else {
			c.sites[canon.SiteHost(u.PaceKey())] = true
		}
	}
	return c, nil
}

// seedScope is what a seed's scope compares with.
type seedScope struct {
	number uint32
	set    bool
	url    string
	site   string // pace key without "www."
	dir    string // path up to its last slash
	domain string
}

func newSeedScope(number uint32, u canon.URL) seedScope {
	path := u.Path()
	return seedScope{
		number: number, set: true, url: u.String(),
		site:   canon.SiteHost(u.PaceKey()),
		dir:    path[:strings.LastIndexByte(path, '/')+1],
		domain: canon.RegistrableDomain(u.Hostname()),
	}
}

// sameSite: example.com and www.example.com, http and https are one site, as are their default ports.
func (s *seedScope) sameSite(u canon.URL) bool { return canon.SiteHost(u.PaceKey()) == s.site }

func (s *seedScope) sameDomain(u canon.URL) bool {
	host := u.Hostname()
	return strings.HasSuffix(host, s.domain) && canon.RegistrableDomain(host) == s.domain
}

func (s *seedScope) covers(scope Scope, u canon.URL) bool {
	switch scope {
	case ScopePage:
		return u.String() == s.url
	case ScopePath:
		return strings.HasPrefix(u.Path(), s.dir) && s.sameSite(u)
	case ScopeHost:
		return s.sameSite(u)
	case ScopeDomain:
		return s.sameDomain(u)
	}
	return scope == ScopeAll
}

// also tells whether Also widens the scope to u.
func (r *scopeRules) also(u canon.URL) bool {
	if len(r.Also) == 0 {
		return false
	}
	key := u.PaceKey()
	if r.sites[canon.SiteHost(key)] {
		return true
	}
	for _, s := range r.suffixes {
		if strings.HasSuffix(key, s) {
			return true
		}
	}
	for _, p := range r.prefixes {
		if strings.HasPrefix(u.String(), p) {
			return true
		}
	}
	return false
}

func anyMatch(res []*regexp.Regexp, s string) bool {
	for _, re := range res {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// maxEmbedHops is how many E hops in a row may lie outside the scope.
const maxEmbedHops = 3

// inScope decides scope, Also, Include and Exclude for a URL that is no seed. path is its hop path.
//
// A sitemap file may lie anywhere in the seed's registrable domain, since robots.txt names it (sitemaps.org,
// "Sitemaps & Cross Submits"), and Include, which is about pages, does not narrow it.
func (r *scopeRules) inScope(seed *Seed, s *seedScope, u canon.URL, path string, flags Flags) bool {
	scope := seed.Scope
	if scope == "" {
		scope = r.Scope
	}
	embed := strings.HasSuffix(path, "E")
	if embed && r.Embeds == EmbedsHost && (scope == ScopePage || scope == ScopePath) {
		scope = ScopeHost
	}
	sitemap := flags&FlagSitemap != 0
	in := s.covers(scope, u) || r.also(u) ||
		sitemap && scope != ScopePage && s.sameDomain(u) ||
		embed && r.Embeds == EmbedsAll && len(path)-len(strings.TrimRight(path, "E")) <= maxEmbedHops
	if !in {
		return false
	}
	if len(r.Include) > 0 && !sitemap && !anyMatch(r.Include, u.String()) {
		return false
	}
	return !anyMatch(r.Exclude, u.String())
}
