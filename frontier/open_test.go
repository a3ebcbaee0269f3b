package frontier

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"amble/frontier/canon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the time of all tests that need one.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatalf("parse %q: %v", s, err)
	}
	return u
}

func anywhere() Options { return Options{Rules: Rules{Scope: ScopeAll, Depth: -1}} }

func create(t testing.TB, opt Options) (*Frontier, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "amble.db")
	f, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path
}

// crash closes the file as a killed process leaves it.
func (f *Frontier) crash() error { return f.file.db.Close() }

func reopen(t testing.TB, path string, opt Options) (*Frontier, Recovery) {
	t.Helper()
	f, rec, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, rec
}

// commit commits and applies a batch.
func commit(t testing.TB, f *Frontier, b *Batch) []HostID {
	t.Helper()
	if err := f.Commit(b); err != nil {
		t.Fatal(err)
	}
	woken := f.Applied(b)
	if err := f.err(); err != nil {
		t.Fatal(err)
	}
	return woken
}

func seed(t testing.TB, f *Frontier, b *Batch, url string) uint32 {
	t.Helper()
	n, v := f.AddSeed(b, Seed{URL: parse(t, url), Raw: url, Implied: -1})
	if !v.New {
		t.Fatalf("seed %s: %+v", url, v)
	}
	return n
}

// take offers and takes the host's best.
func take(t testing.TB, f *Frontier, host HostID) Item {
	t.Helper()
	it, ok, at, err := f.Offer(host, now)
	if err != nil || !ok {
		t.Fatalf("offer host %d: %v, due %v, %v", host, ok, at, err)
	}
	f.Take(it)
	return it
}

func TestWayOfAPage(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	n := seed(t, f, b, "https://example.com/")
	if _, ok, at, err := f.Offer(0, now); ok || err != nil || !at.IsZero() {
		t.Fatal("offered before it was applied")
	}
	if woken := commit(t, f, b); len(woken) != 1 || f.HostKey(woken[0]) != "example.com" {
		t.Fatalf("woken %v", woken)
	}
	it := take(t, f, 0)
	if it.URL.String() != "https://example.com/" || it.Via != NoOrdinal || it.Hop != 0 || it.Path != "" || it.Flags != FlagSeed {
		t.Fatalf("seed is offered as %+v", it)
	}

	b = f.NewBatch()
	page := parse(t, "http://example.com:8080/a?b=%20c")
	lastMod := time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC)
	c := Candidate{URL: page, Via: it.Ordinal, Hop: 'L', Seed: n, ViaPath: it.Path, ViaDepth: it.Depth, LastMod: lastMod}
	v := f.Admit(b, c)
	if !v.New || v.Ordinal != 1 {
		t.Fatalf("admit: %+v", v)
	}
	if v := f.Admit(b, c); v.New || v.Skip != "" || v.Ordinal != 1 {
		t.Fatalf("admit again: %+v", v)
	}
	want := Result{
		Ordinal: it.Ordinal, Outcome: Stored, Attempt: 1, Time: now, Status: 200, Bytes: 1234,
		PayloadDigest: [16]byte{1}, ContentDigest: [16]byte{2}, Freshness: [16]byte{3},
	}
	f.Finish(b, it.Host, want)
	f.SetAll(b)
	want.Archive = Position{Serial: 3, Offset: 1 << 40, Length: 999}
	b.SetArchive(0, want.Archive)
	if b.Len() != 1 || b.Bytes() == 0 {
		t.Fatal("the batch does not count its result")
	}
	commit(t, f, b)
	if f.Pending() != 1 || f.URLs() != 2 || f.Hosts() != 2 || f.Origins() != 2 {
		t.Fatalf("pending %d of %d URLs, %d hosts, %d origins", f.Pending(), f.URLs(), f.Hosts(), f.Origins())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	f, rec := reopen(t, path, anywhere())
	rec.Took = 0
	if diff := cmp.Diff(Recovery{
		Ends:     Ends{Segment: "s", SegmentSerial: 3, SegmentEnd: 5, Log: "l", LogEnd: 7},
		Counters: []byte("counters"), URLs: 2, Pending: 1,
	}, rec); diff != "" {
		t.Fatal(diff)
	}
	_, got, err := f.Item(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Fatal(diff)
	}
	host, ok := f.FindHost("example.com:8080")
	if !ok {
		t.Fatal("host is not found")
	}
	it = take(t, f, host)
	if it.URL != page || it.Via != 0 || it.Hop != 'L' || it.Path != "L" || it.Depth != 1 || it.Seed != n || !it.LastMod.Equal(lastMod) {
		t.Fatalf("offered %+v", it)
	}
	if text, h := f.Origin(it.Origin); text != "http://example.com:8080" || h != host {
		t.Fatalf("origin %q of host %d", text, h)
	}
	if o, ok := f.FindOrigin("http://example.com:8080"); !ok || o != it.Origin {
		t.Fatal("origin is not found")
	}
	if o, ok, err := f.Find(page); !ok || o != 1 || err != nil {
		t.Fatal("URL is not found")
	}
	if hb, err := f.HostBlob(0); string(hb) != "host" || err != nil {
		t.Fatalf("host blob %q, %v", hb, err)
	}
	if ob, err := f.OriginBlob(0); string(ob) != "origin" || err != nil {
		t.Fatalf("origin blob %q, %v", ob, err)
	}
	if ob, err := f.OriginBlob(1); ob != nil || err != nil {
		t.Fatalf("origin blob %q, %v", ob, err)
	}
	if wrong := f.Verify(); wrong != nil {
		t.Fatal(wrong)
	}
}

// SetAll sets everything but results and URLs.
func (f *Frontier) SetAll(b *Batch) {
	b.SetHostBlob(0, []byte("first"))
	b.SetHostBlob(0, []byte("host"))
	b.SetOriginBlob(0, []byte("origin"))
	b.SetEnds(Ends{Segment: "s", SegmentSerial: 3, SegmentEnd: 5, Log: "l", LogEnd: 7})
	b.SetCounters([]byte("counters"))
}

func TestSeeds(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	depth, floor, prio := 3, 2*time.Second, -1
	given := Seed{
		URL: parse(t, "http://a.example/"), Raw: "a.example", Depth: &depth, Scope: ScopePath, MaxPages: 7, Floor: &floor,
		Priority: &prio, Labels: map[string]string{"k": "v"}, Implied: -1, TryHTTP: true,
	}
	f.AddSeed(b, given)
	if n, v := f.AddSeed(b, given); n != 0 || v.New || v.Skip != "" {
		t.Fatalf("seed again: %d %+v", n, v)
	}
	f.Admit(b, Candidate{URL: parse(t, "http://a.example/x"), Via: 0, Hop: 'L', Seed: 0})
	n, v := f.AddSeed(b, Seed{URL: parse(t, "http://a.example/x"), Raw: "x", Implied: -1})
	if n != 1 || v.New || v.Skip != "" || v.Ordinal != 1 {
		t.Fatalf("seed that was a link: %d %+v", n, v)
	}
	commit(t, f, b)

	b = f.NewBatch()
	depth2 := 5
	changed := given
	changed.Depth = &depth2
	f.AddSeed(b, changed)
	f.AddSeed(b, Seed{URL: given.URL, Implied: 1}) // changes nothing
	long := parse(t, "http://a.example/"+longPath(maxURLBytes))
	if _, v := f.AddSeed(b, Seed{URL: long, Implied: -1}); v.Skip != ReasonTrapLength || !v.First {
		t.Fatalf("long seed: %+v", v)
	}
	commit(t, f, b)
	f.Close()

	f, _ = reopen(t, path, anywhere())
	want := []Seed{changed, {Number: 1, URL: parse(t, "http://a.example/x"), Raw: "x", Implied: -1}}
	if diff := cmp.Diff(want, f.Seeds(), cmp.AllowUnexported(canon.URL{})); diff != "" {
		t.Fatal(diff)
	}
	if o, ok := f.SeedOrdinal(1); !ok || o != 1 {
		t.Fatal("the second seed is URL 1")
	}
	take(t, f, 0)
	it := take(t, f, 0)
	if it.Seed != 1 || it.Depth != 0 || it.Path != "" || it.Hop != 0 || f.Recheck(it) != "" {
		t.Fatalf("a link that became a seed is offered as %+v", it)
	}
}

func longPath(n int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = 'x'
	}
	return string(p)
}

// TestLongURLs: those over a chunk's size have one of their own.
func TestLongURLs(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	var want []canon.URL
	for i, n := range []int{1, 900, 930, 2, 8000, 3, 4, 7000} {
		u := parse(t, "http://a.example/"+string(rune('a'+i))+longPath(n))
		want = append(want, u)
		if v := f.Admit(b, Candidate{URL: u, Hop: 'L'}); !v.New {
			t.Fatalf("%d: %+v", n, v)
		}
		if i%3 == 0 {
			commit(t, f, b)
			b = f.NewBatch()
		}
	}
	commit(t, f, b)
	f.Close()
	f, _ = reopen(t, path, anywhere())
	for i, u := range want {
		it, _, err := f.Item(Ordinal(i + 1))
		if err != nil || it.URL != u {
			t.Fatalf("URL %d: %v", i+1, err)
		}
	}
	if wrong := f.Verify(); wrong != nil {
		t.Fatal(wrong)
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "amble.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, anywhere()); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, _, err := Open(filepath.Join(t.TempDir(), "none"), anywhere()); !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "such", "folder"), anywhere()); err == nil {
		t.Fatal("created in a folder that does not exist")
	}
}

// TestCreateLeavesNothingElse: the other name that the file is written under is gone.
func TestCreateLeavesNothingElse(t *testing.T) {
	_, path := create(t, anywhere())
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
}

func TestLocked(t *testing.T) {
	f, path := create(t, anywhere())
	for _, readOnly := range []bool{false, true} {
		if _, _, err := Open(path, Options{ReadOnly: readOnly}); !errors.Is(err, ErrLocked) {
			t.Fatalf("read-only %v: %v", readOnly, err)
		}
	}
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	f.Close()

	one, _ := reopen(t, path, Options{ReadOnly: true})
	two, rec := reopen(t, path, Options{ReadOnly: true})
	if rec.Pending != 1 || len(one.Verify()) != 0 || len(two.Seeds()) != 1 {
		t.Fatalf("read-only: %+v", rec)
	}
	if _, _, err := Open(path, anywhere()); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	if err := two.Commit(two.NewBatch()); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
}

func TestRulesAreChecked(t *testing.T) {
	for _, r := range []Rules{
		{Scope: "planet"}, {Embeds: "some"}, {Also: []string{"a b"}}, {Also: []string{"http://["}}, {Also: []string{"a.example/path"}},
	} {
		path := filepath.Join(t.TempDir(), "amble.db")
		if _, err := Create(path, Options{Rules: r}); err == nil {
			t.Errorf("%+v is accepted", r)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("a file was made")
		}
	}
}

func TestMisuseStops(t *testing.T) {
	for name, misuse := range map[string]func(f *Frontier, b *Batch){
		"take what is not there":    func(f *Frontier, b *Batch) { f.Take(Item{Ordinal: 9}) },
		"finish what was not taken": func(f *Frontier, b *Batch) { f.Finish(b, 0, Result{Outcome: Stored}) },
		"return what was not taken": func(f *Frontier, b *Batch) { f.Return(Item{}) },
		"no outcome":                func(f *Frontier, b *Batch) { f.Finish(b, 0, Result{}) },
		"apply before commit":       func(f *Frontier, b *Batch) { f.Applied(b) },
		"admit into the older":      func(f *Frontier, b *Batch) { f.NewBatch(); f.Admit(b, Candidate{}) },
		"commit out of order":       func(f *Frontier, b *Batch) { f.Commit(f.NewBatch()) },
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := create(t, anywhere())
			b := f.NewBatch()
			misuse(f, b)
			if err := f.Commit(b); !errors.Is(err, ErrMisuse) {
				t.Fatal(err)
			}
			if _, _, _, err := f.Offer(0, now); !errors.Is(err, ErrMisuse) {
				t.Fatal(err)
			}
		})
	}
}

// TestFailedCommitStops: after a write error nothing is accepted, and the file is as it was before.
func TestFailedCommitStops(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	b = f.NewBatch()
	f.Admit(b, Candidate{URL: parse(t, "http://a.example/x"), Hop: 'L'})
	f.file.db.Close()
	if err := f.Commit(b); err == nil {
		t.Fatal("committed to a closed file")
	}
	if err := f.Commit(b); err == nil {
		t.Fatal("committed after a failure")
	}
	_, rec := reopen(t, path, anywhere())
	if rec.URLs != 1 || rec.Pending != 1 {
		t.Fatalf("%+v", rec)
	}
}

func TestBoltOptions(t *testing.T) {
	f, _ := create(t, anywhere())
	if f.file.db.NoFreelistSync || f.file.db.NoSync || f.file.db.FreelistType != bbolt.FreelistMapType || f.file.db.Info().PageSize != pageSize {
		t.Fatal("bbolt is open with other options than format v1 has")
	}
}
