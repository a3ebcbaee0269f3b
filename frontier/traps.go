package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// Limits on the form of a URL, generous: a site seldom means what lies beyond them. Seeds pass all but the length.
const (
	// maxURLBytes is the longest URL that is fetched. RFC 9110 section 4.1 recommends support for 8000 octets.
	maxURLBytes = 8 << 10
	// maxPathSegments is the deepest path.
	maxPathSegments = 40
	// maxRepeatsInARow is how often the same segment, or the same two, may follow themselves: /a/b/a/b/a/b/ passes.
	maxRepeatsInARow = 3
	// maxRepeatsInAll is how often a segment may be in a path.
	maxRepeatsInAll = 5
	// mostURLBytes is what the log can hold in any case.
	mostURLBytes = 60_000
)

// Traps are the reasons that Rules.TrapsOf may name.
var Traps = []Reason{
	ReasonTrapDepth, ReasonTrapLength, ReasonTrapRepeat, ReasonTrapQuery, ReasonTrapCalendar, ReasonTrapSession,
}

// trapSet are those that hold: bits by their place in Traps.
type trapSet uint8

const allTraps trapSet = 1<<6 - 1

func (s trapSet) has(r Reason) bool { return s>>slices.Index(Traps, r)&1 != 0 }

func newTrapSet(names []Reason) (s trapSet, err error) {
	for _, n := range names {
		i := slices.Index(Traps, n)
		if i < 0 {
			return 0, fmt.Errorf("trap %q is unknown", n)
		}
		s |= 1 << i
	}
	return s, nil
}

// trapsOf are those that hold for a pace key.
func (r *scopeRules) trapsOf(key string) trapSet {
	if s, ok := r.trapSets[key]; ok {
		return s
	}
	return allTraps
}

// trapLength tells a URL over maxURLBytes.
func trapLength(href string, on trapSet) bool {
	return len(href) > maxURLBytes && on.has(ReasonTrapLength) || len(href) > mostURLBytes
}

// trapPath looks at the path alone: it begins with "/".
func trapPath(path string, on trapSet) Reason {
	path = strings.TrimPrefix(path, "/")
	segments := strings.Count(path, "/") + 1
	if segments > maxPathSegments && on.has(ReasonTrapDepth) {
		return ReasonTrapDepth
	}
	if segments <= maxRepeatsInARow || !on.has(ReasonTrapRepeat) {
		return ""
	}
	var store [maxPathSegments]string
	seg := store[:0]
	for s := range strings.SplitSeq(path, "/") {
		seg = append(seg, s)
	}
	if seg[len(seg)-1] == "" {
		seg = seg[:len(seg)-1]
	}
	if repeats(seg, 1) > maxRepeatsInARow || repeats(seg, 2) > maxRepeatsInARow {
		return ReasonTrapRepeat
	}
	for i := range seg {
		n := 1
		for j := range seg[:i] {
			if seg[i] == seg[j] {
				n++
			}
		}
		if n > maxRepeatsInAll {
			return ReasonTrapRepeat
		}
	}
	return ""
}

// repeats is the most times that a group of so many segments stands in a row.
func repeats(seg []string, group int) int {
	most, run := 1, 0
	for i := group; i < len(seg); i++ {
		if seg[i] != seg[i-group] {
			run = 0
			continue
		}
		run++
		most = max(most, 1+run/group)
	}
	return most
}
