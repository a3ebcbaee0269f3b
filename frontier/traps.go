package frontier

import "strings"

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
)

// trapLength tells a URL over maxURLBytes.
func trapLength(href string) bool { return len(href) > maxURLBytes }

// trapPath looks at the path alone: it begins with "/".
func trapPath(path string) Reason {
	path = strings.TrimPrefix(path, "/")
	segments := strings.Count(path, "/") + 1
	if segments > maxPathSegments {
		return ReasonTrapDepth
	}
	if segments <= maxRepeatsInARow {
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
