//go:build linux

package storage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

const fullDiskEnv = "AMBLE_TEST_FULL_DISK"

// WA-04 (b): a file that cannot grow. The limit holds for a whole process, so a child meets it.
func TestFullDisk(t *testing.T) {
	if os.Getenv(fullDiskEnv) != "" {
		fullDiskChild(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), fullDiskEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fullDiskChild(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	for _, segmentBytes := range []int64{1e9, 6000} {
		opt := testOptions()
		opt.SegmentBytes = segmentBytes
		job, a := newJob(t, opt)
		appendAll(t, a, pages(0, 3)...)
		ends := syncArchive(t, a)
		var es []*Encoded
		for _, x := range pages(3, 20) {
			es = append(es, encode(t, a, x, Meta{}))
		}

		// With the small segments the captures fit one by one; the large page at the end does not.
		limit := uint64(ends.End + 2000)
		if segmentBytes < 1e9 {
			limit = 8000
			large := page(20)
			large.body = bytesOf(20_000, 4)
			es = append(es, encode(t, a, large, Meta{}))
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		_, err := a.Append(es)
		if !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("append beyond the limit: %v", err)
		}
		if _, err := a.Append(es[:1]); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("append after the error: %v", err)
		}
		if _, err := a.Sync(); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("sync after the error: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(job, DirName)
		list, err := listSegments(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(list), fmt.Sprint([]segmentFile{{ends.Segment, 0, true, ends.End}}); got != want {
			t.Errorf("left %s, want %s", got, want)
		}
		wantPages(t, readAll(t, job, nil), 3)
		goOn(t, job, ends, 3, 20)
	}
}
