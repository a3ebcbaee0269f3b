package frontier

import (
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// trap-calendar is a run: hop after hop in which only digits of the query or date-like segments of the path change,
// and nothing else is found. A long list (?page=N) brings what it lists, and a story told page by page differs from
// page to page; a calendar's empty months do neither. Lists that all pages link to are no run however long they are:
// a run needs one hop for each of its pages.
const (
	// runDeep is from which hop on a page can be in a run: nothing is followed before, and most sites end there.
	runDeep = 32
	// runWatched is how many pages of one form beyond that make it a run.
	runWatched = 8
	// runDated and runOther are how many hops a run may have without anything new, with a date in what changes and
	// without, when its pages are nearly of one size: five years of months.
	runDated = 60
	runOther = 500
	// runLong is the same when its pages differ in size, runLongest how long it may be whatever it brings.
	runLong    = 10_000
	runLongest = 50_000
	// runSample is how many pages must be fetched before their sizes are judged. runSizes different ones, or as many
	// as half of the pages, are content: a calendar has some dozens of month grids.
	runSample = 32
	runSizes  = 64
)

// run is what is known of a form since it is watched.
type run struct {
	outside uint64  // key of its path without dates
	first   Ordinal // members are the URLs of the form from this one on
	begin   uint32  // hops of the first
	found   uint32  // most hops of a member that brought something else, begin at least
	visited uint32  // members stored
	dated   bool
	sizes   distinct
}

// hopCount is the length of a hop path, of which the first part may be left out.
func hopCount(path string) int {
	if len(path) <= maxHops {
		return len(path)
	}
	n, rest, ok := strings.Cut(path, "+")
	if !ok {
		return len(path)
	}
	left, err := strconv.Atoi(n)
	if err != nil {
		return len(path)
	}
	return left + len(rest)
}

// runForm is a URL with what changes in a run taken out.
type runForm struct {
	key     uint64 // form, 0 when nothing could change
	outside uint64 // origin and path without date-like segments
	dated   bool   // there is a date in it
	// datedQuery: it is in the query.
	datedQuery bool
}

func (t *traps) form(href string) runForm {
	head, query, _ := strings.Cut(href, "?")
	buf := t.buf[:0]
	var f runForm
	for i, segment := range splitPath(head) {
		if dateLike(segment) && i > 0 {
			f.dated = true
			continue
		}
		buf = append(append(buf, '/'), segment...)
	}
	f.outside = xxh3.HashSeed(buf, t.seed)
	changes := f.dated
	if f.dated {
		buf = append(buf, "/#"...)
	}
	buf = append(buf, '?')
	digit := false
	for i := range len(query) {
		c := query[i]
		if c < '0' || c > '9' {
			buf = append(buf, c)
			digit = false
			continue
		}
		if !digit {
			buf = append(buf, '#')
		}
		digit, changes = true, true
	}
	f.datedQuery = dateQuery(query)
	f.dated = f.dated || f.datedQuery
	if changes {
		f.key = max(xxh3.HashSeed(buf, t.seed), 1)
	}
	t.buf = buf
	return f
}

// splitPath goes through origin (0) and segments of a URL without its query.
func splitPath(head string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		at := strings.Index(head, "://")
		rest := head[at+3:]
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			yield(0, head)
			return
		}
		if !yield(0, head[:at+3+slash]) {
			return
		}
		i := 1
		for s := range strings.SplitSeq(rest[slash+1:], "/") {
			if !yield(i, s) {
				return
			}
			i++
		}
	}
}

// dateLike tells that a segment is a year, month, day or week, or a whole date: 2031, 05, 20310517, 2031-05, 2031-05-17.
func dateLike(s string) bool {
	if len(s) == 0 || len(s) > len("2031-05-17") || s[0] < '0' || s[0] > '9' {
		return false
	}
	if digitsOnly(s) {
		return len(s) <= 2 || len(s) == 4 || len(s) == 6 || len(s) == 8
	}
	return yearAndMonth(s) && strings.Trim(s, "0123456789-") == ""
}

// yearAndMonth tells that s begins as 2031-05 or 2031-5.
func yearAndMonth(s string) bool {
	return len(s) >= len("2031-5") && digitsOnly(s[:4]) && s[4] == '-' && s[5] >= '0' && s[5] <= '9'
}

// dateQuery tells that a parameter with digits is a date by its name or by its form.
func dateQuery(query string) bool {
	if query == "" {
		return false
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			name, value = "", pair
		}
		if !strings.ContainsAny(value, "0123456789") {
			continue
		}
		if yearAndMonth(value) {
			return true
		}
		switch name = strings.ToLower(name); name {
		case "y", "yr", "mon", "day", "cal":
			return true
		}
		for _, part := range []string{"year", "month", "week", "date"} {
			if strings.Contains(name, part) {
				return true
			}
		}
	}
	return false
}

// trapRun decides about another page of a run, so many hops from the seed; next tells that it was found on one of the
// run: what a list names is no step of it, however far it is.
func (r *run) trapRun(hops int, next bool) bool {
	since, long := hops-int(r.found), hops-int(r.begin)
	if long >= runLongest || next && since >= runLong {
		return true
	}
	if !next {
		return false
	}
	limit := runOther
	if r.dated {
		limit = runDated
	}
	return since >= limit && r.visited >= runSample && r.sizes.estimate() < min(int(r.visited)/2, runSizes)
}
