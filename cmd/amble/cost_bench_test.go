//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"amble/frontier/canon"
)

// The cost benchmark: 200 hosts with 10 pages of about 20 KB each, no pace, archive on. It prints CPU milliseconds a page
// and the peak resident memory of a child process: Amble's, a bare loop's that fetches, tokenises and resolves the links,
// and those of other crawlers where they are installed. Runs are interleaved, medians printed.
//
// It runs with AMBLE_BENCH=1 only (make bench): its numbers are for reading, not for passing or failing.
const (
	costHosts = 200
	costPages = 10
	costRuns  = 3
)

func TestCostBenchmark(t *testing.T) {
	if seeds := os.Getenv("AMBLE_BENCH_BARE"); seeds != "" {
		bareLoop(t, seeds)
		return
	}
	if os.Getenv("AMBLE_BENCH") == "" {
		t.Skip("a benchmark: AMBLE_BENCH=1, or make bench")
	}
	dir := t.TempDir()
	for _, coding := range []string{"gzip", "identity"} {
		seeds := costWeb(t, coding == "gzip")
		list := filepath.Join(dir, "seeds-"+coding+".txt")
		if err := os.WriteFile(list, []byte(strings.Join(seeds, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		type contender struct {
			name string
			cmd  func(run int) *exec.Cmd
		}
		all := []contender{
			{"amble", func(run int) *exec.Cmd {
				c := exec.Command(os.Args[0], "crawl", "--job", filepath.Join(dir, fmt.Sprintf("job-%s-%d", coding, run)), "--seeds", list,
					"--own", "127.0.0.0/8", "--floor", "0", "-q")
				c.Env = append(os.Environ(), "AMBLE_TEST_MAIN=1")
				return c
			}},
			{"bare net/http loop", func(int) *exec.Cmd {
				c := exec.Command(os.Args[0], "-test.run=^TestCostBenchmark$")
				c.Env = append(os.Environ(), "AMBLE_BENCH_BARE="+list)
				return c
			}},
		}
		if p, err := exec.LookPath("wget2"); err == nil {
			all = append(all, contender{"wget2", func(run int) *exec.Cmd {
				return exec.Command(p, "-r", "-l", "inf", "-e", "robots=off", "--max-threads=32", "-q", "-i", list, "-P", filepath.Join(dir, fmt.Sprintf("wget2-%d", run)))
			}})
		}
		if p, err := exec.LookPath("httrack"); err == nil {
			all = append(all, contender{"httrack", func(run int) *exec.Cmd {
				return exec.Command(p, "--list", list, "-O", filepath.Join(dir, fmt.Sprintf("httrack-%s-%d", coding, run)), "-c32", "-%c0", "-A0",
					"--disable-security-limits", "-s0", "-I0", "-q", "-r99", "-n", "+127.1.*")
			}})
		}
		if p, err := exec.LookPath("scrapy"); err == nil {
			spider := filepath.Join(dir, "spider.py")
			if err := os.WriteFile(spider, []byte(scrapySpider), 0o644); err != nil {
				t.Fatal(err)
			}
			all = append(all, contender{"Scrapy", func(run int) *exec.Cmd {
				c := exec.Command(p, "runspider", spider, "-a", "seeds="+list, "-o", filepath.Join(dir, fmt.Sprintf("scrapy-%s-%d.jl", coding, run)))
				for _, s := range []string{
					"LOG_LEVEL=ERROR", "TELNETCONSOLE_ENABLED=False", "CONCURRENT_REQUESTS=100", "COOKIES_ENABLED=False", "RETRY_ENABLED=False",
					"SCHEDULER_PRIORITY_QUEUE=scrapy.pqueues.DownloaderAwarePriorityQueue", "REACTOR_THREADPOOL_MAXSIZE=20", "ROBOTSTXT_OBEY=True",
				} {
					c.Args = append(c.Args, "-s", s)
				}
				return c
			}})
		}
		cpu, wall, rss := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		for run := range costRuns {
			for _, c := range all {
				cmd := c.cmd(run)
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				began := time.Now()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				peak := watchResident(cmd.Process.Pid)
				if err := cmd.Wait(); err != nil && c.name != "wget2" && c.name != "httrack" {
					t.Fatalf("%s: %v\n%s", c.name, err, out.String())
				}
				maxrss := float64(peak()) / (1 << 20)
				cpu[c.name] = append(cpu[c.name], (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()*1000/(costHosts*costPages))
				wall[c.name] = append(wall[c.name], time.Since(began).Seconds())
				rss[c.name] = append(rss[c.name], maxrss)
			}
		}
		fmt.Printf("\n%d pages of about 20 KB over %d loopback hosts, served %s; medians of %d interleaved runs\n", costHosts*costPages, costHosts, coding, costRuns)
		fmt.Printf("%-20s %14s %10s %14s\n", "", "CPU ms/page", "wall s", "resident MiB")
		for _, c := range all {
			fmt.Printf("%-20s %14.2f %10.1f %14.0f\n", c.name, median(cpu[c.name]), median(wall[c.name]), median(rss[c.name]))
		}
	}
}

// watchResident samples a process's peak resident memory until it is gone; the function returned waits for that and
// gives the bytes. (getrusage would count this process's own pages, which a child shares until it executes.)
func watchResident(pid int) func() int64 {
	done := make(chan int64)
	go func() { // ends with the process
		var peak int64
		for {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, ok := bytes.Cut(b, []byte("VmHWM:"))
			if err != nil || !ok {
				done <- peak
				return
			}
			var kib int64
			if _, err := fmt.Sscan(string(after[:min(len(after), 40)]), &kib); err == nil {
				peak = max(peak, kib<<10)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() int64 { return <-done }
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// scrapySpider follows the links of the seeds' hosts, with the settings that Scrapy's manual advises for broad crawls.
const scrapySpider = `import scrapy
from urllib.parse import urlsplit


class Cost(scrapy.Spider):
    name = "cost"

    def __init__(self, seeds, **kw):
        super().__init__(**kw)
        self.start_urls = open(seeds).read().split()
        self.allowed_domains = [urlsplit(u).hostname for u in self.start_urls]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for a in response.css("a::attr(href)"):
            yield response.follow(a.get())
`

// costWeb serves the hosts from this process and returns their home pages.
func costWeb(t *testing.T, gzipped bool) []string {
	t.Helper()
	var seeds []string
	for h := range costHosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.1:0", h))
		if err != nil {
			t.Skipf("this system has no loopback addresses beside 127.0.0.1: %v", err)
		}
		pages, coded := map[string][]byte{}, map[string][]byte{}
		for p := range costPages {
			path := "/"
			if p > 0 {
				path = fmt.Sprintf("/page/%d.html", p)
			}
			pages[path] = costPage(uint64(h), uint64(p))
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(pages[path]); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			coded[path] = b.Bytes()
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, ok := pages[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if gzipped && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				b = coded[r.URL.Path]
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
			_, _ = w.Write(b) // a crawler that left is its own affair
		})}
		go func() { _ = srv.Serve(l) }() // ends with Close
		t.Cleanup(func() { _ = srv.Close() })
		seeds = append(seeds, "http://"+l.Addr().String()+"/")
	}
	return seeds
}

// costPage is about 20 KB of markup with 50 links to the host's other pages.
func costPage(host, page uint64) []byte {
	r := rand.New(rand.NewPCG(host, page))
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html><html lang=en><head><meta charset=utf-8><title>Page %d of host %d</title></head><body>\n", page, host)
	for i := range 50 {
		p := (int(page) + i) % costPages
		target := "/"
		if p > 0 {
			target = fmt.Sprintf("/page/%d.html", p)
		}
		fmt.Fprintf(&b, "<p class=para id=p%d>", i)
		for range 52 {
			for range 3 + r.IntN(6) {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "<a href=%q>further %d</a></p>\n", target, i)
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// bareLoop is the least that any crawler in Go does with net/http: fetch, tokenise, resolve, remember, no archive.
func bareLoop(t *testing.T, list string) {
	file, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, MaxIdleConns: 256}}
	var wg sync.WaitGroup
	sem := make(chan struct{}, 32)
	for seed := range strings.FieldsSeq(string(file)) {
		wg.Go(func() {
			sem <- struct{}{}
			defer func() { <-sem }()
			queue, seen := []string{seed}, map[string]bool{seed: true}
			for len(queue) > 0 {
				at := queue[0]
				queue = queue[1:]
				resp, err := client.Get(at)
				if err != nil {
					t.Error(err)
					return
				}
				doc, err := io.ReadAll(resp.Body)
				if err := resp.Body.Close(); err != nil {
					t.Error(err)
				}
				if err != nil {
					t.Error(err)
					return
				}
				base, err := canon.Parse(at)
				if err != nil {
					t.Error(err)
					return
				}
				z := html.NewTokenizer(bytes.NewReader(doc))
				for tt := z.Next(); tt != html.ErrorToken; tt = z.Next() {
					if tt != html.StartTagToken {
						continue
					}
					name, more := z.TagName()
					if string(name) != "a" {
						continue
					}
					for more {
						var k, v []byte
						k, v, more = z.TagAttr()
						if string(k) != "href" {
							continue
						}
						if u, err := base.Resolve(string(v)); err == nil && !seen[u.String()] {
							seen[u.String()] = true
							queue = append(queue, u.String())
						}
					}
				}
			}
		})
	}
	wg.Wait()
}
