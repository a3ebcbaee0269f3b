package frontier

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amble/frontier/canon"
)

// site answers a request target with what the page says and links to.
type site func(target string) (text string, links []string)

// walk crawls http://a.example/ to its end, or until most pages are fetched, in batches as a crawl commits them.
// between is called after each batch.
func walk(t testing.TB, f *Frontier, s site, most int, between func(*Frontier) *Frontier) (fetched map[string]int, skipped map[Reason]int, last *Frontier) {
	t.Helper()
	f.file.db.NoSync = true // a chain commits page by page
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	fetched, skipped = map[string]int{}, map[Reason]int{}
	for len(fetched) < most {
		b := f.NewBatch()
		for range 50 {
			it, ok, _, err := f.Offer(0, now)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || len(fetched) >= most {
				break
			}
			f.Take(it)
			fetched[it.URL.RequestTarget()]++
			text, links := s(it.URL.RequestTarget())
			f.Finish(b, it.Host, Result{
				Ordinal: it.Ordinal, Outcome: Stored, Attempt: 1, Time: now, Status: 200, Bytes: int64(len(text)),
				ContentDigest: digest(text),
			})
			for _, l := range links {
				u, err := it.URL.Resolve(l)
				if err != nil {
					t.Fatal(err)
				}
				v := f.Admit(b, Candidate{URL: u, Via: it.Ordinal, Hop: 'L', Seed: it.Seed, ViaURL: it.URL, ViaPath: it.Path, ViaDepth: it.Depth})
				if v.Skip != "" && v.First {
					skipped[v.Skip]++
				}
			}
		}
		if b.empty() {
			break
		}
		commit(t, f, b)
		if between != nil {
			f = between(f)
		}
	}
	return fetched, skipped, f
}

func digest(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:])
}

// number reads a target of that very form.
func number(target, format string, into ...any) bool {
	n, err := fmt.Sscanf(target, format, into...)
	return err == nil && n == len(into) && target == sprint(format, into)
}

func sprint(format string, ptrs []any) string {
	values := make([]any, len(ptrs))
	for i, p := range ptrs {
		values[i] = *p.(*int)
	}
	return fmt.Sprintf(format, values...)
}

// filler is text whose length depends on n, as an article's does.
func filler(n int) string { return strings.Repeat("x", 1000+n*7919%30_011) }

// traps of case FR-06 and their kin: each stops by itself, under its name, after at most so many pages.
func TestFR06(t *testing.T) {
	for name, c := range map[string]struct {
		site site
		most int
		want Reason
	}{
		"relative links stack segments": {func(target string) (string, []string) {
			return target, []string{"www.b.example/p/"}
		}, 10, ReasonTrapRepeat},
		"a year for ever": {func(target string) (string, []string) {
			n := 0
			number(target, "/cal?y=%d", &n)
			return fmt.Sprintf("The year %04d", n), []string{fmt.Sprintf("/cal?y=%d", n+1)}
		}, 120, ReasonTrapCalendar},
		"months with days, both ways": {func(target string) (string, []string) {
			y, m, d := 2026, 6, 0
			if !number(target, "/cal?y=%d&m=%d&d=%d", &y, &m, &d) {
				number(target, "/cal?y=%d&m=%d", &y, &m)
			}
			var links []string
			for _, k := range []int{-1, 1} {
				n := y*12 + m - 1 + k
				links = append(links, fmt.Sprintf("/cal?y=%d&m=%d", n/12, n%12+1))
			}
			for d := range 28 {
				links = append(links, fmt.Sprintf("/cal?y=%d&m=%d&d=%d", y, m, d+1), fmt.Sprintf("/event/add?date=%d-%02d-%02d", y, m, d+1))
			}
			return fmt.Sprintf("%d %d %d%s", y, m, d, strings.Repeat("<td>", 28+y%4+m%3)), links
		}, 3000, ReasonTrapQuery},
		"dates in the path": {func(target string) (string, []string) {
			y, m := 2026, 6
			number(target, "/archive/%d/%d/", &y, &m)
			n := y*12 + m
			return fmt.Sprintf("%04d-%02d", y, m), []string{fmt.Sprintf("/archive/%d/%d/", n/12, n%12+1), fmt.Sprintf("/archive/%d/", n/12)}
		}, 240, ReasonTrapCalendar},
		"a number for ever": {func(target string) (string, []string) {
			n := 0
			number(target, "/next?n=%d", &n)
			return fmt.Sprintf("%09d", n), []string{fmt.Sprintf("/next?n=%d", n+1)}
		}, 600, ReasonTrapCalendar},
		"400 facets with 400 values, the same goods": {func(target string) (string, []string) {
			return "no goods", facets(target)
		}, 9000, ReasonTrapQuery},
		"400 facets with 400 values, each saying so": {func(target string) (string, []string) {
			return target + filler(len(target)), facets(target)
		}, 9000, ReasonTrapQuery},
		"a new sid at each visit, the same pages": {func(target string) (string, []string) {
			h := sha256.Sum256([]byte(target))
			links := make([]string, 20)
			for i := range links {
				links[i] = fmt.Sprintf("/page?sid=%x&n=%d", h[:16], i)
			}
			return "page", links
		}, 50, ReasonTrapSession},
		"a new jsessionid at each visit": {func(target string) (string, []string) {
			h := sha256.Sum256([]byte(target))
			return "page", []string{fmt.Sprintf("/page;jsessionid=%X?n=1", h[:16]), fmt.Sprintf("/;jsessionid=%X", h[:16])}
		}, 2, ReasonTrapSession},
		"a token at each visit that no name gives away": {func(target string) (string, []string) {
			h := sha256.Sum256([]byte(target))
			return "page", []string{fmt.Sprintf("/page?t=%x", h[:9]), fmt.Sprintf("/page?t=%x", h[9:18])}
		}, 3000, ReasonTrapQuery},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := create(t, Options{Rules: Rules{Scope: ScopeHost, Depth: -1}})
			fetched, skipped, _ := walk(t, f, c.site, 2*c.most+1000, nil)
			t.Logf("%d pages, skipped %v", len(fetched), skipped)
			if len(fetched) > c.most || skipped[c.want] == 0 {
				t.Errorf("%d pages fetched, at most %d are meant to; skipped %v, want %s", len(fetched), c.most, skipped, c.want)
			}
			if f.Pending() != 0 {
				t.Errorf("%d pending", f.Pending())
			}

			if len(fetched) > 2000 {
				return // long enough
			}
			off, _ := create(t, Options{Rules: Rules{Scope: ScopeHost, Depth: -1, TrapsOf: map[string][]Reason{"a.example": nil}}})
			if fetched, skipped, _ := walk(t, off, c.site, len(fetched)+300, nil); len(skipped) > 0 {
				t.Errorf("traps are off: %d pages, skipped %v", len(fetched), skipped)
			}
		})
	}
}

// facets links to 20 other choices of two facets; 160,000 are there.
func facets(target string) (links []string) {
	a, b := 0, 0
	number(target, "/shop?a=%d&b=%d", &a, &b)
	for i := range 10 {
		links = append(links, fmt.Sprintf("/shop?a=%d&b=%d", (a+1+i*37)%400, b), fmt.Sprintf("/shop?a=%d&b=%d", a, (b+1+i*41)%400))
	}
	return links
}

// TestHonestSites: large sites that look like traps are fetched to the last page.
func TestHonestSites(t *testing.T) {
	for name, c := range map[string]struct {
		site  site
		pages int
	}{
		"forum": {forum, 1 + 20 + 20*20 + 20*20*20 + 20*20*20/10*2},
		"wiki": {func(target string) (string, []string) {
			n := 0
			number(target, "/index.php?title=T%d", &n)
			links := []string{"/index.php?title=T0"}
			for i := range 5 {
				title := fmt.Sprintf("T%d", (n*5+i+1)%1000)
				links = append(links, "/index.php?title="+title, "/index.php?title="+title+"&action=history",
					"/index.php?title=Talk:"+title, fmt.Sprintf("/index.php?title=%s&oldid=%d", title, 7*n+i))
			}
			return target + filler(n), links
		}, 0},
		"list with next alone": {func(target string) (string, []string) {
			n := 0
			number(target, "/list?page=%d", &n)
			var links []string
			if n < 800 {
				links = append(links, fmt.Sprintf("/list?page=%d", n+1))
			}
			for i := range 3 {
				links = append(links, fmt.Sprintf("/item?id=%d", n*3+i))
			}
			return fmt.Sprintf("%-99s", target), links
		}, 1 + 800 + 2403},
		"strips with next alone": {func(target string) (string, []string) {
			n := 0
			number(target, "/?strip=%d", &n)
			if n == 1500 {
				return "the end", nil
			}
			return target + filler(n), []string{fmt.Sprintf("/?strip=%d", n+1)}
		}, 1501},
		"diary with dates and next alone": {func(target string) (string, []string) {
			y, m, d := 2001, 0, 1
			number(target, "/diary/%d/%d/%d/", &y, &m, &d)
			next := (y*12+m)*28 + d
			if y == 2003 {
				return "the end", nil
			}
			return target + filler(next), []string{fmt.Sprintf("/diary/%d/%d/%d/", next/28/12, next/28%12, next%28+1)}
		}, 1 + 2*12*28},
		"events, then empty months": {func(target string) (string, []string) {
			n := 0
			number(target, "/events?month=%d", &n)
			links := []string{fmt.Sprintf("/events?month=%d", n+1)}
			for i := range 2 {
				links = append(links, fmt.Sprintf("/event/%d", n*2+i))
			}
			if n >= 200 {
				links = links[:1]
			}
			return fmt.Sprintf("%09d", n), links
		}, 0},
		"categories by pages": {func(target string) (string, []string) {
			c, p := 0, 0
			number(target, "/list?cat=%d&page=%d", &c, &p)
			var links []string
			for i := range 50 {
				links = append(links, fmt.Sprintf("/list?cat=%d&page=%d", i, 1))
			}
			for i := range min(10, 200-p) {
				links = append(links, fmt.Sprintf("/list?cat=%d&page=%d", c, p+i+1))
			}
			return target + filler(c*1000+p), links
		}, 1 + 50*200},
		"stories by a long sid": {func(target string) (string, []string) {
			var links []string
			for i := range 300 {
				h := sha256.Sum256(fmt.Append(nil, i))
				for _, form := range []string{"/story?sid=%x", "/story?sid=%x&print=1", "/talk?sid=%x"} {
					links = append(links, fmt.Sprintf(form, h[:16]))
				}
			}
			return target, links
		}, 901},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := create(t, Options{Rules: Rules{Scope: ScopeHost, Depth: -1}})
			fetched, skipped, _ := walk(t, f, c.site, 20_000, nil)
			switch name {
			case "wiki":
				for n := range 1000 {
					for _, form := range []string{"/index.php?title=T%d", "/index.php?title=Talk:T%d", "/index.php?title=T%d&action=history"} {
						if s := fmt.Sprintf(form, n); fetched[s] == 0 {
							t.Fatalf("%s was left out; skipped %v", s, skipped)
						}
					}
				}
			case "events, then empty months":
				if len(fetched) < 1+200+402 || len(fetched) > 1+200+402+100 || skipped[ReasonTrapCalendar] != 1 {
					t.Errorf("%d pages, skipped %v", len(fetched), skipped)
				}
				return
			default:
				if len(fetched) != c.pages {
					t.Errorf("%d pages fetched of %d", len(fetched), c.pages)
				}
			}
			if len(skipped) > 0 {
				t.Errorf("skipped %v", skipped)
			}
		})
	}
}

// forum has 20 boards of 20 pages with 20 topics each; every tenth topic has three pages.
func forum(target string) (string, []string) {
	f, t, start := 0, 0, 0
	var links []string
	board := func(f, start int) string { return fmt.Sprintf("/viewforum.php?f=%d&start=%d", f, start) }
	topic := func(t int) string { return fmt.Sprintf("/viewtopic.php?t=%d", t) }
	switch {
	case number(target, "/viewforum.php?f=%d&start=%d", &f, &start), number(target, "/viewforum.php?f=%d", &f):
		for i := range 20 {
			links = append(links, board(f, i*20))
		}
		for i := range 20 {
			links = append(links, topic(f*400+start+i))
		}
	case number(target, "/viewtopic.php?t=%d&start=%d", &t, &start), number(target, "/viewtopic.php?t=%d", &t):
		if t%10 == 0 {
			links = append(links, topic(t)+"&start=20", topic(t)+"&start=40")
		}
	default:
		for i := range 20 {
			links = append(links, fmt.Sprintf("/viewforum.php?f=%d", i))
		}
	}
	return target + filler(t), links
}

// TestTrapsOutliveAKill: what is known of traps is the same after a crash, and the crawl goes on to the same end.
func TestTrapsOutliveAKill(t *testing.T) {
	mixed := func(target string) (string, []string) {
		y, n := 0, 0
		h := sha256.Sum256([]byte(target))
		switch {
		case number(target, "/cal?y=%d", &y):
			return fmt.Sprintf("%04d", y), []string{fmt.Sprintf("/cal?y=%d", y+1)}
		case number(target, "/list?page=%d", &n):
			return target, []string{fmt.Sprintf("/list?page=%d", n+1), fmt.Sprintf("/item/%d/", n), fmt.Sprintf("/p?sid=%x", h[:10])}
		case strings.HasPrefix(target, "/shop"):
			return target, append(facets(target), fmt.Sprintf("/goods/%d", len(target)))
		}
		return target, []string{"/cal?y=1", "/list?page=1", "/shop?a=1&b=1", "/p?phpsessid=0123456789abcdef"}
	}
	opt := Options{Rules: Rules{Scope: ScopeHost, Depth: -1}}
	f, _ := create(t, opt)
	wantFetched, wantSkipped, _ := walk(t, f, mixed, 7000, nil)

	f, path := create(t, opt)
	batches := 0
	gotFetched, gotSkipped, f := walk(t, f, mixed, 7000, func(f *Frontier) *Frontier {
		if batches++; batches%45 != 0 {
			return f
		}
		f.crash()
		g, _ := reopen(t, path, opt)
		g.file.db.NoSync = true
		f.traps.via.ord, f.traps.buf = NoOrdinal, nil
		g.traps.via, g.traps.buf = f.traps.via, nil
		if !reflect.DeepEqual(f.traps, g.traps) {
			t.Fatalf("batch %d: other traps after a crash", batches)
		}
		return g
	})
	if d := cmp.Diff(wantFetched, gotFetched); d != "" {
		t.Errorf("%d fetched without crashes, %d with:\n%.2000s", len(wantFetched), len(gotFetched), d)
	}
	if len(wantSkipped) != 2 || len(gotSkipped) != 2 { // how often: what was skipped is forgotten by the crash
		t.Errorf("skipped %v without crashes, %v with", wantSkipped, gotSkipped)
	}
}

func TestTrapsOfAreChecked(t *testing.T) {
	_, err := Create(t.TempDir()+"/x", Options{Rules: Rules{TrapsOf: map[string][]Reason{"a.example": {"trap-door"}}}})
	if err == nil || !strings.Contains(err.Error(), "trap-door") {
		t.Fatal(err)
	}
}

// TestSingleTrapOff: the others hold on.
func TestSingleTrapOff(t *testing.T) {
	var most []Reason
	for _, r := range Traps {
		if r != ReasonTrapRepeat {
			most = append(most, r)
		}
	}
	f, _ := create(t, Options{Rules: Rules{Scope: ScopeHost, Depth: -1, TrapsOf: map[string][]Reason{"a.example": most}}})
	_, skipped, _ := walk(t, f, func(string) (string, []string) { return "", []string{"p/p/"} }, 100, nil)
	if len(skipped) != 1 || skipped[ReasonTrapDepth] != 1 {
		t.Fatal(skipped)
	}
}

func TestSessionOf(t *testing.T) {
	for s, rest := range map[string]string{
		"http://a.example/x;jsessionid=0123456789abcdef?y=1":       "http://a.example/x?y=1",
		"http://a.example/x?PHPSESSID=0123456789abcdef":            "http://a.example/x",
		"http://a.example/x?PHPSESSID=0123456789abcdef&y=1":        "http://a.example/x?y=1",
		"http://a.example/x?y=1&sid=0123456789abcdef&z=2":          "http://a.example/x?y=1&z=2",
		"http://a.example/x?y=1&ASPSESSIONIDABC=0123456789ABCDEFG": "http://a.example/x?y=1",
		"http://a.example/x?sid=17":                                "",
		"http://a.example/x?sid=talks-about-sessions":              "",
		"http://a.example/jsessionid=0123456789abcdef":             "",
		"http://a.example/x?title=sid&y":                           "",
	} {
		got, ok := newTraps().session(parse(t, s))
		if ok != (rest != "") || got.rest.String() != rest {
			t.Errorf("%s: %q, want %q", s, got.rest, rest)
		}
	}
}

func TestDateLike(t *testing.T) {
	for s, want := range map[string]bool{
		"2031": true, "05": true, "5": true, "20310517": true, "203105": true, "2031-05": true, "2031-5-7": true, "2031-05-17": true,
		"": false, "page": false, "123": false, "12345": false, "2031-x": false, "2031-05-17-title": false, "2031-": false,
	} {
		if dateLike(s) != want {
			t.Errorf("%q", s)
		}
	}
	for q, want := range map[string]bool{
		"y=1": true, "tribe-bar-date=2031-05-17": true, "d=2031-05": true, "startmonth=4": true, "2031-05": true,
		"page=3": false, "y=x": false, "id=2031": false, "": false,
	} {
		if dateQuery(q) != want {
			t.Errorf("%q", q)
		}
	}
}

func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 10, 100, 10_000, 300_000} {
		var d distinct
		for i := range n {
			h := sha256.Sum256(fmt.Append(nil, i))
			for range 2 {
				contentsOf(&Result{ContentDigest: [16]byte(h[:])}).addDigest(&d)
			}
		}
		if e := d.estimate(); e < n*7/10 || e > n*14/10 {
			t.Errorf("%d distinct, estimated %d", n, e)
		}
	}
}

// TestWatchIsBounded: 75,000 paths and forms with a few queries each are not followed.
func TestWatchIsBounded(t *testing.T) {
	tr := newTraps()
	for i := range 300_000 {
		tr.logged(Ordinal(i), canon.FromOrigin(fmt.Sprintf("http://h%d.example", i/4), fmt.Sprintf("/p?n=%d", i)), 40, NoOrdinal, noMember)
	}
	if len(tr.queries.list) > 0 || len(tr.runs.list) > 10_000 {
		t.Errorf("%d paths and %d forms are followed", len(tr.queries.list), len(tr.runs.list))
	}
}
