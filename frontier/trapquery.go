package frontier

import (
	"strings"

	"github.com/zeebo/xxh3"
)

// trap-query is a path whose queries multiply. A forum's viewtopic.php?t=N or a wiki's index.php?title=X may have a
// million, each with a value that no other had; facets recombine the same few values without end, and a session or a
// login page gives the same content under each query. So a path goes on while its queries are new in their values, are
// further pages of a list, or are no more than what they brought to light elsewhere; and in any case only while what is
// fetched differs.
const (
	// queryWatched is from how many queries on a path is followed: rare enough to cost half a byte per URL at most.
	queryWatched = 250
	// queryFree is how many more are taken in before anything is held against them: a shop of ordinary size.
	queryFree = 1000
	// queryMix is how many recombinations each value may have beyond that: a wiki's page has a history, a source, a
	// talk; a forum's topic a print view and its neighbours.
	queryMix = 4
	// querySample is how many must be fetched before their content is judged, querySame how many in a row may then be
	// of the same content on average.
	querySample = 200
	querySame   = 4
)

// queryPath is what is known of a path with many queries since it is watched.
type queryPath struct {
	key        uint64
	first      Ordinal // members are the queries from this URL on
	members    uint32
	values     uint32 // new name=value pairs among them
	recombined uint32 // members without any
	brought    uint32 // URLs of other paths that were found on members
	visited    uint32 // members stored
	digests    distinct
}

// pathKey is a path of an origin, whatever the query.
func (t *traps) pathKey(href string) uint64 {
	if i := strings.IndexByte(href, '?'); i >= 0 {
		href = href[:i]
	}
	return xxh3.HashStringSeed(href, t.seed)
}

// pageNames are parameters that go through the pages of one list, and so recombine with everything by nature.
var pageNames = map[string]bool{
	"page": true, "p": true, "pg": true, "pn": true, "pageno": true, "pagenum": true, "page_no": true, "pageindex": true,
	"page_id": true, "paged": true, "cpage": true, "start": true, "startat": true, "offset": true, "from": true, "skip": true, "st": true,
}

// query looks at the pairs of a query: fresh tells that one of them is new on its path, further that the rest beside
// page numbers is known. With take they are known from now on, and values counts the new ones.
func (t *traps) query(path uint64, query string, take bool) (values uint32, further bool) {
	rest, paged := path, false
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		h := xxh3.HashStringSeed(pair, path)
		if take && t.pairs.add(h) || !take && !t.pairs.has(h) {
			values++
		}
		name, value, _ := strings.Cut(pair, "=")
		if pageNames[strings.ToLower(name)] && digitsOnly(value) {
			paged = true
			continue
		}
		rest += h // in any order
	}
	rest ^= 0x5bd1e9955bd1e995
	if take {
		further = !t.pairs.add(rest)
	} else {
		further = t.pairs.has(rest)
	}
	return values, further && paged
}

func digitsOnly(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// took counts a query that was taken in.
func (t *traps) took(p *queryPath, query string) {
	values, further := t.query(p.key, query, true)
	p.members++
	p.values += values
	if values == 0 && !further {
		p.recombined++
	}
}

// trapQuery decides about another query of the path.
func (t *traps) trapQuery(p *queryPath, query string) bool {
	if p.members < queryFree {
		return false
	}
	if p.visited >= querySample && querySame*p.digests.estimate() < int(p.visited) {
		return true
	}
	if p.recombined < queryFree+queryMix*p.values || p.recombined < p.brought {
		return false
	}
	values, further := t.query(p.key, query, false)
	return values == 0 && !further
}
