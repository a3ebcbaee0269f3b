package frontier

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"amble/frontier/canon"
)

// model is the Frontier in plain maps and slices: what is durable, what is live, and the batches between.
type model struct {
	urls    []modelURL
	byText  map[string]int
	durable int // URLs whose batch is committed
	hosts   map[HostID]*modelHost
	flight  map[int]int // URL -> attempt
	open    []*modelBatch
}

type modelURL struct {
	text    string
	host    HostID
	class   uint8
	last    Outcome // durable; 0: never visited
	reason  Reason
	due     time.Time
	attempt int
	applied Outcome
}

type modelHost struct {
	queued  [16][]int
	waiting []int // URLs that wait for a retry
	turn    bool
}

type modelBatch struct {
	b         *Batch
	urls      []int
	visits    []modelVisit
	committed bool
}

type modelVisit struct {
	url     int
	outcome Outcome
	reason  Reason
	due     time.Time
	attempt int
}

func (m *model) host(h HostID) *modelHost {
	if m.hosts[h] == nil {
		m.hosts[h] = &modelHost{}
	}
	return m.hosts[h]
}

func (m *model) apply(v modelVisit) {
	u := &m.urls[v.url]
	u.last, u.reason, u.due, u.attempt = v.outcome, v.reason, v.due, v.attempt
}

// pending counts what has no final applied outcome.
func (m *model) pending() (n int64) {
	for _, u := range m.urls {
		if u.applied == 0 || u.applied == Retry {
			n++
		}
	}
	return n
}

func (m *model) first(h *modelHost, now time.Time) (url int, retry, ok bool, at time.Time) {
	slices.SortFunc(h.waiting, func(a, b int) int {
		if c := m.urls[a].due.Compare(m.urls[b].due); c != 0 {
			return c
		}
		return a - b
	})
	fresh := -1
	for _, q := range h.queued {
		if len(q) > 0 {
			fresh = q[0]
			break
		}
	}
	if len(h.waiting) > 0 {
		due := m.urls[h.waiting[0]].due
		if !due.After(now) && (fresh < 0 || !h.turn) {
			return h.waiting[0], true, true, time.Time{}
		}
		if fresh < 0 {
			return 0, false, false, due
		}
	}
	return fresh, false, fresh >= 0, time.Time{}
}

// crash forgets what is not durable.
func (m *model) crash() {
	for _, u := range m.urls[m.durable:] {
		delete(m.byText, u.text)
	}
	m.urls = m.urls[:m.durable]
	m.hosts, m.flight, m.open = map[HostID]*modelHost{}, map[int]int{}, nil
	for i := range m.urls {
		u := &m.urls[i]
		u.applied = u.last
		h := m.host(u.host)
		switch u.last {
		case 0:
			h.queued[u.class] = append(h.queued[u.class], i)
		case Retry:
			h.waiting = append(h.waiting, i)
		}
	}
}

func TestFrontierAgainstModel(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		path := filepath.Join(dir, fmt.Sprint(run), "amble.db")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := Create(path, anywhere())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			f.Close()
			os.RemoveAll(filepath.Dir(path))
		}()
		m := &model{byText: map[string]int{}}
		m.crash()

		current := func() *modelBatch {
			if len(m.open) == 0 || m.open[len(m.open)-1].committed {
				m.open = append(m.open, &modelBatch{b: f.NewBatch()})
			}
			return m.open[len(m.open)-1]
		}
		newURL := func(mb *modelBatch, text string, v Verdict, class uint8) {
			if i, ok := m.byText[text]; ok {
				if v.New || v.Skip != "" || int(v.Ordinal) != i {
					t.Fatalf("%s is URL %d: %+v", text, i, v)
				}
				return
			}
			if !v.New || int(v.Ordinal) != len(m.urls) {
				t.Fatalf("%s is new: %+v", text, v)
			}
			_, h := f.NeedOrigin(mb.b, parseRapid(t, text))
			m.byText[text] = len(m.urls)
			mb.urls = append(mb.urls, len(m.urls))
			m.urls = append(m.urls, modelURL{text: text, host: h, class: class})
		}
		text := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%s://h%d.example%s/%d%s",
				rapid.SampledFrom([]string{"http", "https"}).Draw(t, "scheme"), rapid.IntRange(0, 3).Draw(t, "host"),
				rapid.SampledFrom([]string{"", ":80", ":443", ":8080"}).Draw(t, "port"), rapid.IntRange(0, 60).Draw(t, "page"),
				rapid.SampledFrom([]string{"", "", "", "?" + longPath(300), "?" + longPath(2000)}).Draw(t, "query"))
		})
		canonical := func(s string) string { return parseRapid(t, s).String() }
		clock := now

		restart := func(clean bool) {
			end := f.crash
			if clean {
				end = f.Close
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			var rec Recovery
			if f, rec, err = Open(path, anywhere()); err != nil {
				t.Fatal(err)
			}
			m.crash()
			if rec.URLs != int64(len(m.urls)) || rec.Pending != m.pending() {
				t.Fatalf("recovered %d pending of %d, want %d of %d", rec.Pending, rec.URLs, m.pending(), len(m.urls))
			}
		}

		t.Repeat(map[string]func(*rapid.T){
			"admit": func(t *rapid.T) {
				if len(f.Seeds()) == 0 {
					t.Skip("no seed")
				}
				mb := current()
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					s := canonical(text.Draw(t, "url"))
					depth := rapid.IntRange(0, 12).Draw(t, "depth")
					v := f.Admit(mb.b, Candidate{URL: parseRapid(t, s), Via: NoOrdinal, Hop: 'L', ViaDepth: depth})
					newURL(mb, s, v, class(depth+1, 0, 0))
				}
			},
			"seed": func(t *rapid.T) {
				mb := current()
				s := canonical(text.Draw(t, "url"))
				_, v := f.AddSeed(mb.b, Seed{URL: parseRapid(t, s), Raw: s, Implied: -1})
				newURL(mb, s, v, classSeed)
			},
			"take": func(t *rapid.T) {
				if len(m.hosts) == 0 {
					t.Skip("no host")
				}
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.hosts))).Draw(t, "host")
				h := m.hosts[id]
				url, retry, ok, at := m.first(h, clock)
				it, gotOK, gotAt, err := f.Offer(id, clock)
				if err != nil || gotOK != ok || !gotAt.Equal(at) {
					t.Fatalf("offer: %v, %v, %v; want %v, %v", gotOK, gotAt, err, ok, at)
				}
				if !ok {
					return
				}
				u := m.urls[url]
				if int(it.Ordinal) != url || it.URL.String() != u.text || it.Attempt != u.attempt {
					t.Fatalf("offered %d %s, attempt %d; want %d %s, %d", it.Ordinal, it.URL, it.Attempt, url, u.text, u.attempt)
				}
				f.Take(it)
				if retry {
					h.waiting = h.waiting[1:]
				} else {
					h.queued[u.class] = h.queued[u.class][1:]
				}
				h.turn = retry
				if rapid.IntRange(0, 4).Draw(t, "return") > 0 {
					m.flight[url] = u.attempt
					return
				}
				f.Return(it)
				if retry {
					h.waiting = append(h.waiting, url)
					h.turn = false
				} else {
					h.queued[u.class] = append([]int{url}, h.queued[u.class]...)
				}
			},
			"finish": func(t *rapid.T) {
				if len(m.flight) == 0 {
					t.Skip("nothing in flight")
				}
				url := rapid.SampledFrom(slices.Sorted(maps.Keys(m.flight))).Draw(t, "url")
				v := modelVisit{url: url, outcome: rapid.SampledFrom([]Outcome{Stored, Failed, Skipped, Retry}).Draw(t, "outcome")}
				v.attempt = m.flight[url] + 1
				if v.outcome == Retry {
					v.due = clock.Add(time.Duration(rapid.IntRange(-5, 60).Draw(t, "wait")) * time.Second)
				}
				if v.outcome == Skipped {
					v.reason = rapid.SampledFrom([]Reason{ReasonRobots, ReasonHostUnreachable}).Draw(t, "reason")
				}
				delete(m.flight, url)
				mb := current()
				mb.visits = append(mb.visits, v)
				f.Finish(mb.b, m.urls[url].host, Result{
					Ordinal: Ordinal(url), Outcome: v.outcome, Reason: v.reason, Attempt: v.attempt, NotBefore: v.due, Time: clock,
				})
			},
			"drop": func(t *rapid.T) {
				if len(m.hosts) == 0 || rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
					t.Skip()
				}
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.hosts))).Draw(t, "host")
				h := m.hosts[id]
				var all []int
				for c, q := range h.queued {
					all = append(all, q...)
					h.queued[c] = nil
				}
				all = append(all, h.waiting...)
				h.waiting = nil
				mb := current()
				n, err := f.DropHost(mb.b, id, ReasonHostUnreachable, clock)
				if err != nil || n != int64(len(all)) {
					t.Fatalf("dropped %d, %v; want %d", n, err, len(all))
				}
				for _, url := range all {
					mb.visits = append(mb.visits, modelVisit{url: url, outcome: Skipped, reason: ReasonHostUnreachable})
				}
			},
			"reopen failed": func(t *rapid.T) {
				if len(m.open) > 0 {
					t.Skip("only without open batches")
				}
				mb := current()
				n, err := f.Reopen(mb.b)
				var want int64
				for i, u := range m.urls {
					if u.last == Failed || u.last == Skipped && u.reason == ReasonHostUnreachable {
						want++
						mb.visits = append(mb.visits, modelVisit{url: i, outcome: Retry})
					}
				}
				if err != nil || n != want {
					t.Fatalf("reopened %d, %v; want %d", n, err, want)
				}
			},
			"commit": func(t *rapid.T) {
				for _, mb := range m.open {
					if mb.committed {
						continue
					}
					if err := f.Commit(mb.b); err != nil {
						t.Fatal(err)
					}
					mb.committed = true
					m.durable += len(mb.urls)
					for _, v := range mb.visits {
						m.apply(v)
					}
					return
				}
				t.Skip("nothing to commit")
			},
			"applied": func(t *rapid.T) {
				if len(m.open) == 0 || !m.open[0].committed {
					t.Skip("nothing committed")
				}
				mb := m.open[0]
				m.open = m.open[1:]
				woken := map[HostID]bool{}
				for _, i := range mb.urls {
					u := m.urls[i]
					h := m.host(u.host)
					h.queued[u.class] = append(h.queued[u.class], i)
					woken[u.host] = true
				}
				for _, v := range mb.visits {
					u := &m.urls[v.url]
					u.applied = v.outcome
					if v.outcome == Retry {
						h := m.host(u.host)
						h.waiting = append(h.waiting, v.url)
						woken[u.host] = true
					}
				}
				if got := f.Applied(mb.b); !slices.Equal(got, slices.Sorted(maps.Keys(woken))) {
					t.Fatalf("woken %v, want %v", got, woken)
				}
			},
			"wait":  func(t *rapid.T) { clock = clock.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "s")) * time.Second) },
			"crash": func(t *rapid.T) { restart(false) },
			"close": func(t *rapid.T) { restart(true) },
			"": func(t *rapid.T) {
				if err := f.err(); err != nil {
					t.Fatal(err)
				}
				if f.URLs() != int64(len(m.urls)) || f.Pending() != m.pending() {
					t.Fatalf("%d pending of %d, want %d of %d", f.Pending(), f.URLs(), m.pending(), len(m.urls))
				}
				for id, h := range m.hosts {
					n := len(h.waiting)
					for _, q := range h.queued {
						n += len(q)
					}
					if f.Queued(id) != int64(n) {
						t.Fatalf("host %d has %d queued, want %d", id, f.Queued(id), n)
					}
				}
			},
		})

		restart(true)
		for i, u := range m.urls {
			o, ok, err := f.Find(parseRapid(t, u.text))
			if !ok || int(o) != i || err != nil {
				t.Fatalf("find %s: %d, %v, %v; want %d", u.text, o, ok, err, i)
			}
			_, r, err := f.Item(o)
			if err != nil {
				t.Fatal(err)
			}
			if u.last == 0 != (r == nil) || r != nil && (r.Outcome != u.last || r.Attempt != u.attempt && u.reason == "") {
				t.Fatalf("last visit of %s: %+v, want outcome %d, attempt %d", u.text, r, u.last, u.attempt)
			}
		}
		if wrong := f.Verify(); wrong != nil {
			t.Fatal(wrong)
		}
	})
}

func parseRapid(t *rapid.T, s string) canon.URL {
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
