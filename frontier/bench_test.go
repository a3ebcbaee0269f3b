package frontier

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"amble/frontier/canon"
)

// BenchmarkPages is the frontier's part of a crawl at 1e5 URLs: a page is one dequeue, one result and 50 outlinks, five
// of them new; 500 pages a transaction, synced. Written bytes are what the kernel was handed (Linux).
func BenchmarkPages(b *testing.B) {
	const (
		size  = 100_000
		hosts = 1000
		batch = 500
	)
	f, path := benchFrontier(b, size, hosts)
	r := rand.New(rand.NewPCG(3, 4))
	links := make([]canon.URL, 0, 50*batch)
	var items []Item
	urls := f.URLs()
	cpu, written := cpuTime(), writtenBytes()
	var spent time.Duration
	var usage time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; {
		// Which links the pages have is made apart from the clock.
		b.StopTimer()
		made := cpuTime()
		n := min(batch, b.N-done)
		links = links[:0]
		for i := range 50 * n {
			page := r.IntN(int(urls))
			if i%10 == 0 {
				page = int(urls)
				urls++
			}
			links = append(links, benchURL(b, page, hosts))
		}
		usage += cpuTime() - made
		b.StartTimer()
		began := time.Now()
		tx := f.NewBatch()
		items = items[:0]
		for h := 0; len(items) < n; h = (h + 1) % f.Hosts() {
			it, ok, _, err := f.Offer(HostID((h*7+done)%f.Hosts()), now)
			if err != nil {
				b.Fatal(err)
			}
			if ok {
				f.Take(it)
				items = append(items, it)
			}
		}
		for i, it := range items {
			for _, u := range links[50*i : 50*i+50] {
				f.Admit(tx, Candidate{URL: u, Via: it.Ordinal, Hop: 'L', Seed: it.Seed, ViaPath: "LL", ViaDepth: 2})
			}
			f.Finish(tx, it.Host, Result{
				Ordinal: it.Ordinal, Outcome: Stored, Attempt: 1, Time: now, Status: 200, Bytes: 20000,
				PayloadDigest: [16]byte{1, byte(i)}, ContentDigest: [16]byte{2, byte(i)}, Freshness: [16]byte{3},
				Archive: Position{Serial: 1, Offset: int64(done) * 5000, Length: 5000},
			})
		}
		if err := f.Commit(tx); err != nil {
			b.Fatal(err)
		}
		f.Applied(tx)
		spent += time.Since(began)
		done += n
	}
	b.StopTimer()
	pages := float64(b.N)
	b.ReportMetric(pages/spent.Seconds(), "pages/s")
	b.ReportMetric(float64((cpuTime()-cpu-usage).Microseconds())/pages, "cpu-us/page")
	if w := writtenBytes() - written; w > 0 {
		b.ReportMetric(float64(w)/1000/pages, "KB-written/page")
	}
	total := f.URLs()
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(total), "disk-B/URL")
}

// BenchmarkOpen rebuilds the index of 1e5 URLs.
func BenchmarkOpen(b *testing.B) {
	f, path := benchFrontier(b, 100_000, 1000)
	f.Close()
	var took time.Duration
	for b.Loop() {
		f, rec, err := Open(path, anywhere())
		if err != nil {
			b.Fatal(err)
		}
		took += rec.Took
		f.Close()
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/100_000, "ns/URL")
}

// BenchmarkMemory is what the index of 1e6 URLs on 10,000 hosts takes at rest.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		x := newIndex()
		r := rand.New(rand.NewPCG(1, 2))
		before := heap()
		for h := range 10_000 {
			x.addHost(fmt.Sprintf("www.host%d.example", h))
		}
		for o := range uint32(1_000_000) {
			x.seen.add(r.Uint64(), o)
			x.enqueue(HostID(r.IntN(10_000)), uint8(4+r.IntN(4)), Ordinal(o))
		}
		b.ReportMetric(float64(heap()-before)/1e6, "B/URL")
		runtime.KeepAlive(x)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func benchURL(tb testing.TB, n, hosts int) canon.URL {
	return canon.FromOrigin(fmt.Sprintf("https://www.host%d.example", n*7919%hosts), fmt.Sprintf("/section/%d/some-article-of-a-site-%d.html", n%97, n))
}

func benchFrontier(b *testing.B, size, hosts int) (*Frontier, string) {
	path := filepath.Join(b.TempDir(), "amble.db")
	f, err := Create(path, anywhere())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	tx := f.NewBatch()
	f.AddSeed(tx, Seed{URL: benchURL(b, 0, hosts), Implied: -1})
	for i := 1; i < size; i++ {
		f.Admit(tx, Candidate{URL: benchURL(b, i, hosts), Via: Ordinal(max(0, i-50)), Hop: 'L', ViaPath: "LL", ViaDepth: i % 4})
		if i%20_000 == 0 || i == size-1 {
			if err := f.Commit(tx); err != nil {
				b.Fatal(err)
			}
			f.Applied(tx)
			if i < size-1 {
				tx = f.NewBatch()
			}
		}
	}
	return f, path
}
