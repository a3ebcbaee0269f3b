package robots

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"
)

// MaxBytes is how much of a decoded robots.txt is read (RFC 9309 section 2.5 asks for at least 500 KiB).
const MaxBytes = 512 << 10

// Rules is a parsed robots.txt. It is immutable and safe for concurrent use.
type Rules struct {
	groups   []group
	sitemaps []string
}

// group is one group as it stands in the file: a run of user-agent lines and what follows (RFC 9309 section 2.1).
type group struct {
	agents []agent
	rules  []record
}

// agent is one user-agent line.
type agent struct {
	// token is as written, "*" for everybody, empty for a value that can match nobody.
	token string
	// delay is the largest Crawl-delay between this line and the next one for an agent; noDelay for none. It holds for the
	// agents above as well.
	delay time.Duration
}

// Parse reads a robots.txt, at most MaxBytes of it. Every file parses: lines that do not are passed over (RFC 9309 section 2.2).
// The file is not kept.
func Parse(file []byte) *Rules {
	r := new(Rules)
	// open says that the last line that counts was a user-agent line, so that another one joins the same group.
	open := false
	lines := newLines(file)
	for {
		rec, ok := lines.next()
		if !ok {
			return r
		}
		switch rec.kind {
		case userAgent:
			if !open {
				r.groups = append(r.groups, group{})
				open = true
			}
			g := &r.groups[len(r.groups)-1]
			g.agents = append(g.agents, agent{token: agentToken(rec.value), delay: noDelay})
		case allow, disallow:
			// Rules before the first user-agent line are nobody's (RFC 9309 section 2.2.2).
			if len(r.groups) == 0 {
				continue
			}
			open = false
			g := &r.groups[len(r.groups)-1]
			g.rules = append(g.rules, rec)
		case crawlDelay:
			if d, ok := parseDelay(rec.value); ok && len(r.groups) > 0 {
				g := &r.groups[len(r.groups)-1]
				last := &g.agents[len(g.agents)-1]
				last.delay = max(last.delay, d)
			}
		case sitemap:
			if rec.value != "" {
				r.sitemaps = append(r.sitemaps, rec.value)
			}
		}
	}
}

// Decision is the answer for one request-target.
type Decision struct {
	Allowed bool
	// Rule is the deciding line as written ("Disallow: /x"), without its comment; empty when none matched.
	Rule string
	// Line is its number, from 1; 0 when none matched.
	Line int
}

// Group is the rules for one product token. It is immutable and safe for concurrent use.
type Group struct {
	agent string
	// rules stand in the order of precedence: the first that matches decides.
	rules []rule
	delay time.Duration
	// fallback holds for what no rule matches.
	fallback bool
}

// AllowAll and DenyAll are the groups of an unavailable and of an unreachable robots.txt (RFC 9309 sections 2.3.1.3 and 2.3.1.4).
// DenyAll permits /robots.txt itself.
var (
	AllowAll = &Group{delay: noDelay, fallback: true}
	DenyAll  = &Group{delay: noDelay}
)

// Group picks the rules for a product token (RFC 9309 section 2.2.1): all groups that name it, without regard to case, as one;
// else all groups for "*" as one; else no rules. Of token only the leading letters, "_" and "-" count, as in the file.
func (r *Rules) Group(token string) *Group {
	token = agentToken(token)
	if token == "" || !r.names(token) {
		token = "*"
	}
	g := &Group{delay: noDelay, fallback: true}
	var recs []record
	for i := range r.groups {
		name, delay := "", noDelay
		for _, a := range slices.Backward(r.groups[i].agents) {
			delay = max(delay, a.delay)
			if strings.EqualFold(a.token, token) {
				name = a.token
				g.delay = max(g.delay, delay)
			}
		}
		if name == "" {
			continue
		}
		recs = append(recs, r.groups[i].rules...)
		if g.agent == "" {
			g.agent = strings.Clone(name)
		}
	}
	g.rules = compile(recs)
	return g
}

func (r *Rules) names(token string) bool {
	for i := range r.groups {
		for _, a := range r.groups[i].agents {
			if strings.EqualFold(a.token, token) {
				return true
			}
		}
	}
	return false
}

// Sitemaps are the values of the Sitemap records, in order, as written.
func (r *Rules) Sitemaps() []string { return append([]string(nil), r.sitemaps...) }

// Agent is the product token of the group as the file's first line for it spells it, "*" for the rules for everybody, and empty
// when the file has neither and no rules apply.
func (g *Group) Agent() string { return g.agent }

// Decide says whether path and query may be fetched (RFC 9309 section 2.2.2). target is a request-target in origin form; a
// fragment is passed over, an empty path is "/". It must be the one that will be sent: dot segments are not resolved here.
// The time is linear in the length of target and of the rules, and nothing is allocated for targets of up to about 1 KiB.
func (g *Group) Decide(target string) Decision {
	var plain, alt [bufBytes]byte
	t := normalTarget(plain[:0], target)
	if rest, ok := bytes.CutPrefix(t, []byte("/robots.txt")); ok && (len(rest) == 0 || rest[0] == '?') {
		return Decision{Allowed: true}
	}
	// Reserved characters of a query may be written either way (RFC 9309 section 2.2.2, figure, second row).
	q, differs := encodeQuery(alt[:0], t)
	for i := range g.rules {
		r := &g.rules[i]
		if r.match(t, q, differs) {
			return Decision{Allowed: r.allow, Rule: r.line, Line: r.number}
		}
	}
	return Decision{Allowed: g.fallback}
}

// CrawlDelay is the largest Crawl-delay of the group, never clipped, and whether there is one. A value beyond 146 years is
// given as that, so that sums do not overflow.
func (g *Group) CrawlDelay() (time.Duration, bool) {
	if g.delay == noDelay {
		return 0, false
	}
	return g.delay, true
}

const (
	noDelay  time.Duration = -1
	maxDelay time.Duration = math.MaxInt64 / 2
)
