//go:build linux

package frontier

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"amble/frontier/canon"
)

// The benchmark of the sizes: frontiers of 1e5, 1e6 and 1e7 URLs on up to 100,000 hosts of very unequal size, 20 % of
// them fetched. A page is one dequeue (hosts at random, one URL each per batch), one result and 50 outlinks over all
// that is known, five of them new; 500 pages a transaction, synced. Each frontier is a process of its own with one core,
// and their rounds are interleaved, so that a busy minute of the machine falls on all; medians of the rounds are
// printed. A frontier grows by 20,000 URLs in each round. In the end the processes are killed and the files reopened.
//
// It runs with AMBLE_BENCH=1 only (make bench): its numbers are for reading, not for passing or failing.
const (
	sizeRounds = 8
	roundPages = 4000
	pageBatch  = 500
	// benchGC is the garbage collector's percentage. The index has no pointers, so that collecting costs little, and
	// a half of it as room for garbage is plenty.
	benchGC = 50
)

var benchSizes = []int{100_000, 1_000_000, 10_000_000}

func TestFrontierBenchmark(t *testing.T) {
	if spec := os.Getenv("AMBLE_BENCH_FRONTIER"); spec != "" {
		benchChild(t, spec)
		return
	}
	if os.Getenv("AMBLE_BENCH") == "" {
		t.Skip("AMBLE_BENCH=1 runs it")
	}
	dir := t.TempDir()
	children := make([]*benchProcess, len(benchSizes))
	for i, n := range benchSizes {
		began := time.Now()
		children[i] = startBench(t, filepath.Join(dir, fmt.Sprint(n)), n)
		children[i].ask("build", nil)
		t.Logf("%d URLs built in %.1f s", n, time.Since(began).Seconds())
	}
	rounds := make([][]round, len(benchSizes))
	for range sizeRounds {
		for i, c := range children {
			var r round
			c.ask("run", &r)
			rounds[i] = append(rounds[i], r)
		}
	}
	rows := make([]benchRow, len(benchSizes))
	for i, c := range children {
		var m memory
		c.ask("rest", &m)
		c.stop()
		again := startBench(t, filepath.Join(dir, fmt.Sprint(benchSizes[i])), 0)
		var o opened
		again.ask("open", &o)
		again.stop()
		rows[i] = newRow(rounds[i], m, o)
	}
	t.Log(rowHeads)
	for _, r := range rows {
		t.Log(r)
	}
	small, large := rows[0], rows[len(rows)-1]
	t.Logf("1e7 to 1e5: %.2f of the pages a second (goal 0.65), %.2f of the CPU a page, %.2f of the bytes written (goal 1.6)",
		large.rate/small.rate, large.cpu/small.cpu, large.written/small.written)
}

// round is what one round of pages took.
type round struct {
	Seconds, CPU float64 // in all, making the links apart
	Written      int64
	Anonymous    int64 // at its end, more than before the frontier was made
	URLs         int64
}

// memory is what a frontier holds once nothing goes on.
type memory struct{ Rest, File, URLs int64 }

type opened struct {
	Seconds, CPU float64
	Rest, URLs   int64
}

type benchRow struct {
	rate, cpu, written, disk, load, rest float64
	after, reopens, reopenCPU            float64
	urls                                 int64
}

const rowHeads = "     URLs  pages/s  CPU us/page  KB written/page  disk B/URL  anonymous B/URL under load, at rest, reopened  reopen s, its CPU s"

func (r benchRow) String() string {
	return fmt.Sprintf("%9d %8.0f %12.1f %16.2f %11.1f %27.1f %8.1f %9.1f %9.2f %10.2f",
		r.urls, r.rate, r.cpu, r.written, r.disk, r.load, r.rest, r.after, r.reopens, r.reopenCPU)
}

func newRow(rounds []round, m memory, o opened) benchRow {
	median := func(of func(round) float64) float64 {
		var v []float64
		for _, r := range rounds {
			v = append(v, of(r))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	most := 0.0
	for _, r := range rounds {
		most = max(most, float64(r.Anonymous)/float64(r.URLs))
	}
	return benchRow{
		urls:    m.URLs,
		rate:    median(func(r round) float64 { return roundPages / r.Seconds }),
		cpu:     median(func(r round) float64 { return r.CPU * 1e6 / roundPages }),
		written: median(func(r round) float64 { return float64(r.Written) / 1000 / roundPages }),
		disk:    float64(m.File) / float64(m.URLs), load: most, rest: float64(m.Rest) / float64(m.URLs),
		reopens: o.Seconds, reopenCPU: o.CPU, after: float64(o.Rest) / float64(o.URLs),
	}
}

// benchProcess is one frontier in a process of its own.
type benchProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startBench(t *testing.T, dir string, size int) *benchProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &benchProcess{t: t, cmd: exec.Command(exe, "-test.run=^TestFrontierBenchmark$")}
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("AMBLE_BENCH_FRONTIER=%d %s", size, dir))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// stop kills the process: nothing is closed in order.
func (p *benchProcess) stop() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func (p *benchProcess) ask(what string, answer any) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, what); err != nil {
		p.t.Fatal(err)
	}
	for p.out.Scan() {
		text, ok := strings.CutPrefix(p.out.Text(), "@")
		if !ok {
			p.t.Log(p.out.Text())
			continue
		}
		if answer != nil {
			if err := json.Unmarshal([]byte(text), answer); err != nil {
				p.t.Fatal(err)
			}
		}
		return
	}
	p.t.Fatalf("the process ended before %s", what)
}

func benchChild(t *testing.T, spec string) {
	text, dir, _ := strings.Cut(spec, " ")
	size, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &sized{t: t, path: filepath.Join(dir, "amble.db"), size: size, hosts: min(size/5, 100_000), r: rand.New(rand.NewPCG(7, 8))}
	debug.SetGCPercent(benchGC)
	debug.FreeOSMemory()
	s.before = anonymous()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var answer any
		switch in.Text() {
		case "build":
			s.build(dir)
		case "run":
			answer = s.run()
		case "rest":
			debug.FreeOSMemory()
			info, err := os.Stat(s.path)
			if err != nil {
				t.Fatal(err)
			}
			answer = memory{anonymous() - s.before, info.Size(), s.f.URLs()}
		case "open":
			cpu, began := cpuTime(), time.Now()
			f, rec, err := Open(s.path, anywhere())
			if err != nil {
				t.Fatal(err)
			}
			seconds, used := time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()
			debug.FreeOSMemory()
			s.f = f
			answer = opened{Seconds: seconds, CPU: used, Rest: anonymous() - s.before, URLs: rec.URLs}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", text)
	}
}

// sized is the frontier of a child.
type sized struct {
	t      *testing.T
	f      *Frontier
	path   string
	size   int
	hosts  int
	before int64
	r      *rand.Rand
	made   int // URLs that were made up
	buf    []byte
}

// url is the n-th URL that there is. Of the five that a page brings four are of one host; the host of rank r has a part
// of all that goes with 1/(r+20).
func (s *sized) url(n int) canon.URL {
	group := n / 5
	if n%5 == 4 {
		group = n
	}
	h := uint64(group) * 0x9e3779b97f4a7c15
	u := float64(h>>11) / (1 << 53)
	rank := min(int(20*(math.Pow(float64(s.hosts)/20+1, u)-1)), s.hosts-1)
	b := append(s.buf[:0], "https://www.host"...)
	b = strconv.AppendUint(b, uint64(rank)*0x9e3779b1%(1<<32), 36)
	b = append(b, ".example/section/"...)
	b = strconv.AppendInt(b, int64(n%97), 10)
	b = append(b, "/some-article-of-a-site-"...)
	b = strconv.AppendInt(b, int64(n), 10)
	s.buf = append(b, ".html"...)
	at := 8 + strings.IndexByte(string(s.buf[8:]), '/')
	return canon.FromOrigin(string(s.buf[:at]), string(s.buf[at:]))
}

func (s *sized) build(dir string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	f, err := Create(s.path, anywhere())
	if err != nil {
		s.t.Fatal(err)
	}
	s.f = f
	b := f.NewBatch()
	f.AddSeed(b, Seed{URL: s.url(0), Implied: -1})
	for s.made = 1; s.made < s.size; s.made++ {
		f.Admit(b, Candidate{URL: s.url(s.made), Via: Ordinal(max(0, s.made-50)), Hop: 'L', ViaPath: "LL", ViaDepth: s.made % 4})
		if s.made%20_000 == 0 {
			s.commit(b)
			b = f.NewBatch()
		}
	}
	s.commit(b)
	for done := 0; done < s.size/5; {
		b := f.NewBatch()
		for range min(20_000, s.size/5-done) {
			s.finish(b, s.take())
			done++
		}
		s.commit(b)
	}
}

func (s *sized) commit(b *Batch) {
	if err := s.f.Commit(b); err != nil {
		s.t.Fatal(err)
	}
	s.f.Applied(b)
}

// take takes a URL of some host.
func (s *sized) take() Item {
	for {
		it, ok, _, err := s.f.Offer(HostID(s.r.IntN(s.f.Hosts())), now)
		if err != nil {
			s.t.Fatal(err)
		}
		if ok {
			s.f.Take(it)
			return it
		}
	}
}

func (s *sized) finish(b *Batch, it Item) {
	n := byte(it.Ordinal)
	s.f.Finish(b, it.Host, Result{
		Ordinal: it.Ordinal, Outcome: Stored, Attempt: 1, Time: now, Status: 200, Bytes: 20000,
		PayloadDigest: [16]byte{1, n}, ContentDigest: [16]byte{2, n}, Freshness: [16]byte{3},
		Archive: Position{Serial: 1, Offset: int64(it.Ordinal) * 5000, Length: 5000},
	})
}

func (s *sized) run() round {
	var out round
	written := writtenBytes()
	links := make([]canon.URL, 0, 50*pageBatch)
	items := make([]Item, 0, pageBatch)
	for range roundPages / pageBatch {
		links = links[:0]
		for i := range 50 * pageBatch {
			n := s.r.IntN(s.made)
			if i%10 == 0 {
				n = s.made
				s.made++
			}
			links = append(links, s.url(n))
		}
		cpu, began := cpuTime(), time.Now()
		b := s.f.NewBatch()
		items = items[:0]
		for range pageBatch {
			items = append(items, s.take())
		}
		for i, it := range items {
			for _, u := range links[50*i : 50*i+50] {
				s.f.Admit(b, Candidate{URL: u, Via: it.Ordinal, Hop: 'L', Seed: it.Seed, ViaURL: it.URL, ViaPath: it.Path, ViaDepth: it.Depth})
			}
			s.finish(b, it)
		}
		s.commit(b)
		out.Seconds += time.Since(began).Seconds()
		out.CPU += (cpuTime() - cpu).Seconds()
	}
	out.Written, out.Anonymous, out.URLs = writtenBytes()-written, anonymous()-s.before, s.f.URLs()
	return out
}

// anonymous is the process's resident memory that no file backs (proc(5), status, RssAnon).
func anonymous() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
