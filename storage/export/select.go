package export

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"amble/frontier/canon"
	"amble/storage"
)

// selection decides which captures are exported.
type selection struct {
	pages    bool // no robots.txt, no sitemaps
	hosts    []hostFilter
	statuses []statusRange
	mimes    []string
	url      *regexp.Regexp
	since    time.Time

	// URLs are remembered by 128-bit fingerprints under a random seed, so that no site can make two of them meet.
	seed   uint64
	first  map[xxh3.Uint128]struct{}
	newest map[xxh3.Uint128]uint64 // ordinal, among what matches, of the newest capture
	at     uint64                  // ordinal of the next one, in this pass
}

type statusRange struct{ from, to int }

func newSelection(opt *Options) (*selection, error) {
	s := &selection{pages: opt.Format != "warc", url: opt.URL, since: opt.Since, seed: rand.Uint64()}
	var err error
	if s.hosts, err = parseHosts(opt.Host); err != nil {
		return nil, err
	}
	if s.statuses, err = parseStatuses(opt.Status); err != nil {
		return nil, err
	}
	if s.mimes, err = parseMimes(opt.Mime); err != nil {
		return nil, err
	}
	if opt.First {
		s.first = map[xxh3.Uint128]struct{}{}
	}
	if opt.Newest {
		s.newest = map[xxh3.Uint128]uint64{}
	}
	return s, nil
}

// items splits a comma list; nothing between commas is an error.
func items(flag, list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if parts[i] = strings.ToLower(strings.TrimSpace(p)); parts[i] == "" {
			return nil, &OptionError{flag, fmt.Sprintf("%q has an empty item; remove the comma", list)}
		}
	}
	return parts, nil
}

// hostFilter is an item of --host.
type hostFilter struct {
	name string // "." before a domain whose subdomains are meant
	port string // "": any
}

func parseHosts(list string) (filters []hostFilter, err error) {
	hosts, err := items("--host", list)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		name, wild := strings.CutPrefix(h, "*.")
		u, err := canon.Parse("http://" + name + "/")
		// A port that is the scheme's default is not in the canonical form, and is asked for all the same.
		hasPort := strings.LastIndexByte(name, ':') > strings.LastIndexByte(name, ']')
		if err != nil || name == "" || strings.ContainsAny(name, `/\@?#*`) || hasPort && (wild || strings.HasSuffix(name, ":")) {
			return nil, &OptionError{"--host", fmt.Sprintf("%q is no host; write example.com, example.com:8080, or *.example.com for its subdomains", h)}
		}
		f := hostFilter{name: u.Hostname()}
		if hasPort {
			f.port = u.Port()
		}
		if wild {
			f.name = "." + f.name
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func parseStatuses(list string) ([]statusRange, error) {
	parts, err := items("--status", list)
	if err != nil {
		return nil, err
	}
	var ranges []statusRange
	for _, p := range parts {
		r, ok := parseStatus(p)
		if !ok {
			return nil, &OptionError{"--status", fmt.Sprintf("%q is no status; write 200, 2xx, 300-399, or several with commas", p)}
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func parseStatus(p string) (r statusRange, ok bool) {
	if len(p) == 3 && strings.HasSuffix(p, "xx") && p[0] >= '1' && p[0] <= '9' {
		from := int(p[0]-'0') * 100
		return statusRange{from, from + 99}, true
	}
	code := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || len(s) != 3 || n < 100 {
			ok = false
		}
		return n
	}
	ok = true
	from, to, isRange := strings.Cut(p, "-")
	if !isRange {
		to = from
	}
	r = statusRange{code(strings.TrimSpace(from)), code(strings.TrimSpace(to))}
	return r, ok && r.from <= r.to
}

func parseMimes(list string) ([]string, error) {
	mimes, err := items("--mime", list)
	if err != nil {
		return nil, err
	}
	for _, m := range mimes {
		kind, name, ok := strings.Cut(m, "/")
		if !ok || kind == "" || name == "" || strings.ContainsAny(m, " ;") || kind == "*" && name != "*" || name != "*" && strings.Contains(name, "*") {
			return nil, &OptionError{"--mime", fmt.Sprintf("%q is no media type; write text/html, text/*, or several with commas", m)}
		}
	}
	return mimes, nil
}

// matches applies the filters that look at one capture alone.
func (s *selection) matches(e *storage.Entry) bool {
	return (!s.pages || e.Kind == "") &&
		(s.since.IsZero() || !e.Time.Before(s.since)) &&
		s.matchesStatus(e.Status) && s.matchesMime(e.MediaType) && s.matchesHost(e.URL) &&
		(s.url == nil || s.url.MatchString(e.URL))
}

func (s *selection) matchesStatus(status int) bool {
	for _, r := range s.statuses {
		if r.from <= status && status <= r.to {
			return true
		}
	}
	return len(s.statuses) == 0
}

func (s *selection) matchesMime(mime string) bool {
	for _, m := range s.mimes {
		if kind, wild := strings.CutSuffix(m, "*"); m == mime || m == "*/*" || wild && strings.HasPrefix(mime, kind) {
			return true
		}
	}
	return len(s.mimes) == 0
}

func (s *selection) matchesHost(url string) bool {
	if len(s.hosts) == 0 {
		return true
	}
	u, err := canon.Parse(url)
	if err != nil {
		return false
	}
	host, port := u.Hostname(), u.Port()
	for _, h := range s.hosts {
		if (h.name == host || h.name[0] == '.' && strings.HasSuffix(host, h.name)) && (h.port == "" || h.port == port) {
			return true
		}
	}
	return false
}

func (s *selection) fingerprint(e *storage.Entry) xxh3.Uint128 {
	return xxh3.HashString128Seed(e.URL, s.seed)
}

// remember is the first pass of Newest: of each URL the last capture in the archive counts.
func (s *selection) remember(e *storage.Entry) {
	s.newest[s.fingerprint(e)] = s.at
	s.at++
}

// chosen applies First and Newest to the captures that match, in order.
func (s *selection) chosen(e *storage.Entry) bool {
	switch {
	case s.first != nil:
		k := s.fingerprint(e)
		_, seen := s.first[k]
		s.first[k] = struct{}{}
		return !seen
	case s.newest != nil:
		at := s.at
		s.at++
		return s.newest[s.fingerprint(e)] == at
	}
	return true
}
