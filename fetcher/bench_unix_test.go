//go:build unix

package fetcher

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// BenchmarkExchange fetches a page of 22 KB over a reused loopback connection. cpu-ns/op is what
// the process spends, the kernel's part included.
func BenchmarkExchange(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), benchServer+"=1")
	server.ExtraFiles = []*os.File{file}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()

	f := testFetcher(b, Config{UserAgent: "Amble/test (+https://example.org/bot)"})
	req := Request{URL: mustURL(b, "http://"+l.Addr().String()+"/page/1.html")}
	one := func() {
		c := f.Do(context.Background(), req)
		if c.Class != "ok" || c.Body.Len() < 20<<10 {
			b.Fatal(c.Class, c.Err)
		}
		c.Close()
	}
	one()
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
