//go:build linux

package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"amble/fetcher/capture"
)

func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEncode reports the processor time of the thread too, which a busy machine does not spoil.
func BenchmarkEncode(b *testing.B) {
	var text bytes.Buffer
	words := strings.Fields("the of and crawl archive record politeness interval server request response window probe host latency <a href= class= </a> <p> </p> <div>")
	r := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 20<<10 {
		fmt.Fprintf(&text, "%s %d ", words[r.IntN(len(words))], r.IntN(5000))
	}
	zipped := gzipped(b, text.Bytes())
	for _, bb := range []struct {
		name string
		x    exchange
	}{
		{"gzip", exchange{url: "http://a.example/some/page.html", head: "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 14:00:00 GMT\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nConnection: keep-alive\r\nVary: Accept-Encoding\r\nETag: \"5f-2b\"", body: zipped}},
		{"plain", exchange{url: "http://a.example/some/page.html", head: "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 14:00:00 GMT\r\nContent-Type: text/html\r\nConnection: keep-alive\r\nVary: Accept-Encoding\r\nETag: \"5f-2b\"", body: text.Bytes()}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			opt := testOptions()
			opt.NewIDs = nil
			_, a := newJob(b, opt)
			budget := capture.NewBudget("", 64<<20)
			c := bb.x.capture(b, budget)
			m := Meta{Via: "http://a.example/", Hops: "LL", Depth: 2, Seed: "http://a.example/", MediaType: "text/html", Charset: "utf-8", Title: "A page", HasContent: true, Bytes: 20480, Attempt: 1}
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			start := threadTime(b)
			var n int64
			for b.Loop() {
				e, err := a.Encode(c, m, budget)
				if err != nil {
					b.Fatal(err)
				}
				n = e.Len()
				e.Close()
			}
			b.ReportMetric(float64((threadTime(b)-start).Nanoseconds())/1000/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(n), "stored-B")
		})
	}
}
