package fetcher

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"amble/fetcher/capture"
)

// TestConnectTimeout connects to a listener whose queue is full: Linux drops what comes then.
func TestConnectTimeout(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", sa.(*syscall.SockaddrInet4).Port)
	full := false
	for range 16 {
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			full = true
			break
		}
		defer c.Close()
	}
	if !full {
		t.Skip("the queue of the listener does not fill up here")
	}
	f := testFetcher(t, Config{ConnectTimeout: 100 * time.Millisecond})
	c := get(t, f, addr, "/")
	if c.Class != capture.TimeoutConnect || c.Sent || c.Phases.Connect == 0 || c.Addr.IsValid() {
		t.Errorf("%s %q, sent %v, phases %+v", c.Class, c.Err, c.Sent, c.Phases)
	}
	// The total time ends it as well, and so does a cancelled context.
	f = testFetcher(t, Config{Timeout: 100 * time.Millisecond})
	if c := get(t, f, addr, "/"); c.Class != capture.TimeoutConnect || c.Sent {
		t.Errorf("total: %s %q, sent %v", c.Class, c.Err, c.Sent)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if c := testFetcher(t, Config{}).Do(ctx, Request{URL: mustURL(t, "http://"+addr+"/")}); c.Class != capture.TimeoutHead || c.Sent {
		t.Errorf("cancelled: %s %q, sent %v", c.Class, c.Err, c.Sent)
	}
}
