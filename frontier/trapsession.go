package frontier

import (
	"strings"

	"amble/frontier/canon"
)

// trap-session is a URL with a session's number of which a page with another number, or without one, is known: the
// server gives one to each client that keeps no cookies, and so each page has a new URL at each visit.
const (
	// sessionBytes is the shortest value that can be one: 64 bits in hex.
	sessionBytes = 16
	// sessionRow is how many links of one page must carry the same value before a name that may mean other things
	// (sid= of a story) counts as a session's on its host.
	sessionRow = 10
)

// sessionNames are parameters that are sessions' (true) or may be (false).
var sessionNames = map[string]bool{
	"jsessionid": true, "phpsessid": true, "oscsid": true, "zenid": true, "asp.net_sessionid": true,
	"sid": false, "s": false, "sess": false, "sessid": false, "session": false, "sessionid": false, "session_id": false,
}

// session is a session's number in a URL.
type session struct {
	rest  canon.URL // the URL without it
	name  uint64    // host and parameter
	value uint64    // and its value
	sure  bool
}

// sessions remembers them.
type sessions struct {
	rests  seen            // fingerprints of the URLs without theirs
	proven map[uint64]bool // names
	via    Ordinal         // where the row is
	row    int
	value  uint64 // of the row
}

// session finds the first session's number of a URL: in the query, or behind ";" at the path's end.
func (t *traps) session(u canon.URL) (s session, ok bool) {
	target := u.RequestTarget()
	for from := 0; from < len(target); {
		i := strings.IndexAny(target[from:], ";?&")
		if i < 0 {
			break
		}
		i += from
		end := len(target)
		if j := strings.IndexAny(target[i+1:], ";?&"); j >= 0 {
			end = i + 1 + j
		}
		name, value, _ := strings.Cut(target[i+1:end], "=")
		lower := strings.ToLower(name)
		sure, known := sessionNames[lower]
		if strings.HasPrefix(lower, "aspsessionid") {
			sure, known = true, true
		}
		if !known || !token(value) {
			from = end
			continue
		}
		rest := target[:i] + target[end:]
		if target[i] == '?' && end < len(target) {
			rest = target[:i] + "?" + target[end+1:]
		}
		name = u.PaceKey() + "\n" + lower
		return session{canon.FromOrigin(u.Origin(), rest), t.hash(name), t.hash(name + "\n" + value), sure}, true
	}
	return session{}, false
}

// token tells that a value looks drawn: long, of letters and digits with a digit among them.
func token(s string) bool {
	if len(s) < sessionBytes || !strings.ContainsAny(s, "0123456789") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '!', c == '.', c == '-', c == '_', c == ',':
		default:
			return false
		}
	}
	return true
}

// tookSession remembers one that was taken in.
func (t *traps) tookSession(o, via Ordinal, s session) {
	t.sessions.rests.add(s.rest.Fingerprint(t.seed), uint32(o))
	if s.sure {
		return
	}
	x := &t.sessions
	if x.via != via || x.value != s.value {
		x.via, x.value, x.row = via, s.value, 0
	}
	if x.row++; x.row >= sessionRow && via != NoOrdinal {
		if x.proven == nil {
			x.proven = map[uint64]bool{}
		}
		x.proven[s.name] = true
	}
}

// trapSession decides about a URL with a session's number; pages is the seen set.
func (t *traps) trapSession(s session, pages *seen) bool {
	if !s.sure && !t.sessions.proven[s.name] {
		return false
	}
	fp := s.rest.Fingerprint(t.seed)
	if _, ok := t.sessions.rests.find(fp); ok {
		return true
	}
	_, ok := pages.find(fp)
	return ok
}
