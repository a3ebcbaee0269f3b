package frontier

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestBreadthFirst(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	soon := 1
	f.AddSeed(b, Seed{URL: parse(t, "http://a.example/first"), Implied: -1, Priority: &soon})
	for _, c := range []Candidate{
		{URL: parse(t, "http://a.example/deep"), Hop: 'L', ViaDepth: 3},
		{URL: parse(t, "http://a.example/deeper"), Hop: 'L', ViaDepth: 9},
		{URL: parse(t, "http://a.example/shallow1"), Hop: 'L'},
		{URL: parse(t, "http://a.example/embed"), Hop: 'E', Flags: FlagEmbed},
		{URL: parse(t, "http://a.example/listed"), Hop: 'M', Flags: FlagListed},
		{URL: parse(t, "http://a.example/sitemap.xml"), Hop: 'M', Flags: FlagSitemap},
		{URL: parse(t, "http://a.example/shallow2"), Hop: 'L'},
	} {
		f.Admit(b, c)
	}
	commit(t, f, b)
	want := []string{"first", "", "embed", "sitemap.xml", "shallow1", "listed", "shallow2", "deep", "deeper"}
	for round := range 2 {
		for i, w := range want {
			if it := take(t, f, 0); it.URL.String() != "http://a.example/"+w {
				t.Errorf("round %d: offer %d is %s, want %s", round, i, it.URL, w)
			}
		}
		f.Close()
		f, _ = reopen(t, path, anywhere())
	}
}

func TestPriorityIsBounded(t *testing.T) {
	for _, p := range []int{math.MinInt, -100, 100, math.MaxInt} {
		if c := class(3, p, 0); c != lastClass && c != classFirst {
			t.Errorf("priority %d gives class %d", p, c)
		}
	}
}

// TestRetriesAndNewURLs: neither starves the other.
func TestRetriesAndNewURLs(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	for i := range 8 {
		f.Admit(b, Candidate{URL: parse(t, fmt.Sprintf("http://a.example/%d", i)), Hop: 'L'})
	}
	commit(t, f, b)
	b = f.NewBatch()
	for i := range 4 {
		it := take(t, f, 0)
		f.Finish(b, it.Host, Result{Ordinal: it.Ordinal, Outcome: Retry, Attempt: 1, NotBefore: now.Add(time.Duration(-i) * time.Second)})
	}
	if woken := commit(t, f, b); len(woken) != 1 {
		t.Fatalf("woken %v", woken)
	}
	f.Close()

	f, rec := reopen(t, path, anywhere())
	if rec.Pending != 9 || f.Queued(0) != 9 {
		t.Fatalf("%+v", rec)
	}
	b = f.NewBatch()
	want := []struct {
		ord     Ordinal
		attempt int
	}{{3, 1}, {4, 0}, {2, 1}, {5, 0}, {1, 1}, {6, 0}, {0, 1}, {7, 0}, {8, 0}}
	for i, w := range want {
		it := take(t, f, 0)
		if it.Ordinal != w.ord || it.Attempt != w.attempt {
			t.Errorf("offer %d is URL %d, attempt %d; want %d, %d", i, it.Ordinal, it.Attempt, w.ord, w.attempt)
		}
		outcome := Result{Ordinal: it.Ordinal, Outcome: Stored, Attempt: 2}
		if i == 0 {
			outcome = Result{Ordinal: it.Ordinal, Outcome: Retry, Attempt: 2, NotBefore: now.Add(time.Minute)}
		}
		f.Finish(b, it.Host, outcome)
	}
	commit(t, f, b)
	if _, ok, at, err := f.Offer(0, now); ok || !at.Equal(now.Add(time.Minute)) || err != nil {
		t.Fatalf("%v, %v, %v", ok, at, err)
	}
	if it, ok, _, err := f.Offer(0, now.Add(time.Minute)); !ok || it.Attempt != 2 || err != nil {
		t.Fatalf("%+v, %v, %v", it, ok, err)
	}
}

// TestTakeAfterABetterOneCame: what was offered can be taken though another is offered by now.
func TestTakeAfterABetterOneCame(t *testing.T) {
	f, _ := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://b.example/")
	f.Admit(b, Candidate{URL: parse(t, "http://a.example/x"), Hop: 'L'})
	commit(t, f, b)
	host, _ := f.FindHost("a.example")
	it, _, _, _ := f.Offer(host, now)
	b = f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	f.Take(it)
	if next := take(t, f, host); next.Ordinal == it.Ordinal {
		t.Fatal("offered twice")
	}
	if err := f.err(); err != nil {
		t.Fatal(err)
	}
}

func TestBudgets(t *testing.T) {
	opt := anywhere()
	opt.Rules.MaxPagesPerHost = 5
	opt.Rules.MaxPagesOf = map[string]int64{"c.example": 2, "d.example": 0}
	f, path := create(t, opt)
	b := f.NewBatch()
	f.AddSeed(b, Seed{URL: parse(t, "http://a.example/"), Implied: -1, MaxPages: 3})
	n := 0
	admit := func(host string, seed uint32) Reason {
		n++
		return f.Admit(b, Candidate{URL: parse(t, fmt.Sprintf("http://%s/%d", host, n)), Hop: 'L', Seed: seed}).Skip
	}
	for i, want := range []Reason{"", "", ReasonBudget, ReasonBudget} {
		if got := admit("a.example", 0); got != want {
			t.Errorf("seed: link %d gives %q, want %q", i, got, want)
		}
	}
	f.AddSeed(b, Seed{URL: parse(t, "http://b.example/"), Implied: -1})
	for i, want := range []Reason{"", "", "", "", ReasonBudget} {
		if got := admit("b.example", 1); got != want {
			t.Errorf("host: link %d gives %q, want %q", i, got, want)
		}
	}
	f.AddSeed(b, Seed{URL: parse(t, "http://c.example/"), Implied: -1})
	for i, want := range []Reason{"", ReasonBudget} {
		if got := admit("c.example", 2); got != want {
			t.Errorf("host of its own budget: link %d gives %q, want %q", i, got, want)
		}
	}
	for range 10 {
		if got := admit("d.example", 2); got != "" {
			t.Errorf("host without a budget: %q", got)
		}
	}
	commit(t, f, b)

	// What gave no page gives its place back.
	b = f.NewBatch()
	host, _ := f.FindHost("a.example")
	for _, o := range []Outcome{Stored, Skipped} {
		it := take(t, f, host)
		f.Finish(b, host, Result{Ordinal: it.Ordinal, Outcome: o})
	}
	commit(t, f, b)
	for range 2 {
		b = f.NewBatch()
		if got := f.Check(Candidate{URL: parse(t, "http://a.example/more"), Hop: 'L'}); got != "" {
			t.Errorf("after a skip: %q", got)
		}
		if got := f.Check(Candidate{URL: parse(t, "http://b.example/more"), Hop: 'L', Seed: 1}); got != ReasonBudget {
			t.Errorf("b: %q", got)
		}
		f.Close()
		f, _ = reopen(t, path, opt)
	}
}

func TestDropHostAndReopen(t *testing.T) {
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	for i := range 100 {
		f.Admit(b, Candidate{URL: parse(t, fmt.Sprintf("http://a.example/%d", i)), Hop: 'L'})
	}
	commit(t, f, b)
	b = f.NewBatch()
	for _, r := range []Result{{Outcome: Failed, Attempt: 3}, {Outcome: Skipped, Reason: ReasonRobots}, {Outcome: Stored}, {Outcome: Retry, NotBefore: now}} {
		it := take(t, f, 0)
		r.Ordinal = it.Ordinal
		f.Finish(b, 0, r)
	}
	commit(t, f, b)
	b = f.NewBatch()
	flying := take(t, f, 0)
	if n, err := f.DropHost(b, 0, ReasonHostUnreachable, now); n != 97 || err != nil {
		t.Fatal(n, err)
	}
	if b.Len() != 0 || f.Queued(0) != 0 || f.Pending() != 98 {
		t.Fatalf("%d results, %d queued, %d pending", b.Len(), f.Queued(0), f.Pending())
	}
	f.Finish(b, 0, Result{Ordinal: flying.Ordinal, Outcome: Stored})
	b.SetArchive(0, Position{Serial: 1, Length: 2})
	if woken := commit(t, f, b); len(woken) != 0 || f.Pending() != 0 {
		t.Fatalf("woken %v, pending %d", woken, f.Pending())
	}
	_, r, err := f.Item(50)
	if err != nil || r == nil || r.Outcome != Skipped || r.Reason != ReasonHostUnreachable || !r.Time.Equal(now) {
		t.Fatalf("%+v, %v", r, err)
	}
	f.Close()

	f, rec := reopen(t, path, anywhere())
	if rec.Pending != 0 {
		t.Fatalf("%+v", rec)
	}
	b = f.NewBatch()
	if n, err := f.Reopen(b); n != 98 || err != nil { // the dropped and the failed one
		t.Fatal(n, err)
	}
	if woken := commit(t, f, b); len(woken) != 1 || f.Pending() != 98 || f.Queued(0) != 98 {
		t.Fatalf("woken %v, %d pending", woken, f.Pending())
	}
	if it := take(t, f, 0); it.Ordinal != 0 || it.Attempt != 0 {
		t.Fatalf("%+v", it)
	}
	b = f.NewBatch()
	if n, err := f.Reopen(b); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	f.crash()
	if _, rec := reopen(t, path, anywhere()); rec.Pending != 98 {
		t.Fatalf("%+v", rec)
	}
}

// TestCommitBesideTheRest has a committer of its own, as in a crawl: the race detector looks at it.
func TestCommitBesideTheRest(t *testing.T) {
	f, path := create(t, anywhere())
	toCommit, done := make(chan *Batch), make(chan *Batch)
	failed := make(chan error, 1)
	go func() { // ends when toCommit is closed
		defer close(done)
		for b := range toCommit {
			for i := range b.Len() {
				b.SetArchive(i, Position{Serial: 1, Offset: int64(i)})
			}
			b.SetEnds(Ends{Segment: "s", SegmentEnd: int64(b.Len())})
			b.SetCounters([]byte{1})
			b.SetOriginBlob(0, []byte("robots"))
			if err := f.Commit(b); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
			done <- b
		}
	}()
	b := f.NewBatch()
	for i := range 10 {
		seed(t, f, b, fmt.Sprintf("http://h%d.example/", i))
	}
	committing := false
	finished := 0
	for finished < 2000 {
		if !committing && !b.empty() {
			toCommit <- b
			committing = true
			b = f.NewBatch()
		}
		progress := false
		for h := range f.Hosts() {
			it, ok, _, err := f.Offer(HostID(h), now)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			progress = true
			f.Take(it)
			f.Item(it.Ordinal)
			f.HostBlob(it.Host)
			for i := range 3 {
				u := parse(t, fmt.Sprintf("http://h%d.example/%d", (h+i)%10, f.URLs()))
				f.Admit(b, Candidate{URL: u, Via: it.Ordinal, Hop: 'L', Seed: it.Seed, ViaPath: it.Path, ViaDepth: it.Depth})
			}
			f.Finish(b, it.Host, Result{Ordinal: it.Ordinal, Outcome: Stored, Time: now})
			finished++
		}
		if committing && !progress {
			f.Applied(<-done)
			committing = false
		}
	}
	if committing {
		f.Applied(<-done)
	}
	close(toCommit)
	<-done
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	if wrong := f.Verify(); wrong != nil {
		t.Fatal(wrong)
	}
	f.crash()
	if _, rec := reopen(t, path, anywhere()); rec.Ends.Segment != "s" || string(rec.Counters) != "\x01" {
		t.Fatalf("%+v", rec)
	}
}
