package robots

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// modelMatch is the matching of RFC 9309 section 2.2.3 as a table: reach[i] says that the pattern so far can end before
// target[i].
func modelMatch(pattern, target string) bool {
	anchored := strings.HasSuffix(pattern, "$")
	pattern = strings.TrimSuffix(pattern, "$")
	reach := make([]bool, len(target)+1)
	reach[0] = true
	for i := range len(pattern) {
		next := make([]bool, len(target)+1)
		seen := false
		for j := range reach {
			seen = seen || reach[j]
			if pattern[i] == '*' {
				next[j] = seen
			} else if j > 0 {
				next[j] = reach[j-1] && target[j-1] == pattern[i]
			}
		}
		reach = next
	}
	if anchored {
		return reach[len(target)]
	}
	for _, ok := range reach {
		if ok {
			return true
		}
	}
	return false
}

type modelRule struct {
	allow bool
	path  string
	line  int
}

// modelDecide looks at every rule and keeps the best.
func modelDecide(rules []modelRule, target string) Decision {
	best := Decision{Allowed: true}
	octets := -1
	for _, r := range rules {
		n := len(r.path)
		if n == 0 || !modelMatch(r.path, target) || n < octets || n == octets && (best.Allowed || !r.allow) {
			continue
		}
		octets = n
		best = Decision{Allowed: r.allow, Rule: "Disallow: " + r.path, Line: r.line}
		if r.allow {
			best.Rule = "Allow: " + r.path
		}
	}
	return best
}

// Files made of random groups decide as the model does, which keeps its rules by name from the start.
func TestDecideAgainstModel(t *testing.T) {
	path := rapid.StringMatching(`[/*][ab/*]{0,6}\$?|`)
	target := rapid.StringMatching(`/[ab/]{0,8}`)
	token := rapid.SampledFrom([]string{"amble", "Amble", "am", "*", "amble-news"})
	rapid.Check(t, func(t *rapid.T) {
		var file strings.Builder
		rules := make(map[string][]modelRule)
		line := 0
		// One kind for the whole file: a CR before an LF of another line would be one end.
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r", " # x\n"}).Draw(t, "end")
		emit := func(format string, args ...any) {
			line++
			fmt.Fprintf(&file, format, args...)
			file.WriteString(end)
		}
		for range rapid.IntRange(0, 6).Draw(t, "groups") {
			names := rapid.SliceOfN(token, 1, 3).Draw(t, "names")
			members := make(map[string]bool)
			for _, name := range names {
				emit("User-agent: %s", name)
				members[strings.ToLower(name)] = true
				if rapid.Bool().Draw(t, "extra") {
					emit("Crawl-delay: 1")
				}
			}
			// A group needs a rule, or the next one would join it.
			for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
				r := modelRule{allow: rapid.Bool().Draw(t, "allow"), path: path.Draw(t, "path"), line: line + 1}
				if r.allow {
					emit("Allow: %s", r.path)
				} else {
					emit("Disallow: %s", r.path)
				}
				for name := range members {
					rules[name] = append(rules[name], r)
				}
				if i == 0 && rapid.Bool().Draw(t, "blank") {
					emit("")
				}
			}
		}
		parsed := Parse([]byte(file.String()))
		for _, name := range []string{"amble", "amble-news", "other"} {
			want, ok := rules[name]
			if !ok {
				want = rules["*"]
			}
			g := parsed.Group(name)
			for range 8 {
				at := target.Draw(t, "target")
				if got, want := g.Decide(at), modelDecide(want, at); got != want {
					t.Fatalf("%s, %s: got %+v, want %+v in\n%q", name, at, got, want, file.String())
				}
			}
		}
	})
}

func TestMatchAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,12}\$?`).Draw(t, "pattern")
		target := rapid.StringMatching(`[ab]{0,16}`).Draw(t, "target")
		p := newPattern([]byte(pattern))
		if got, want := p.match([]byte(target)), modelMatch(pattern, target); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, target, got, want)
		}
	})
}

// The normal form is one: it stays when it is made again, and does not depend on which unreserved octets were escaped.
func TestNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "octets")
		once := normal(nil, string(raw))
		if twice := normal(nil, string(once)); string(twice) != string(once) && !strings.Contains(string(raw), "%") {
			t.Fatalf("%q: %q, then %q", raw, once, twice)
		}
		var spelt strings.Builder
		for _, b := range raw {
			if b == '%' || !isUnreserved(b) && ruleClass[b] == keep || rapid.Bool().Draw(t, "plain") {
				spelt.WriteByte(b)
			} else {
				fmt.Fprintf(&spelt, rapid.SampledFrom([]string{"%%%02x", "%%%02X"}).Draw(t, "case"), b)
			}
		}
		if got := normal(nil, spelt.String()); !strings.Contains(string(raw), "%") && string(got) != string(once) {
			t.Fatalf("%q as %q: %q, want %q", raw, spelt.String(), got, once)
		}
	})
}
