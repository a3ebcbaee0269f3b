package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCheck(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 8 << 10 // several segments
	job, a := newJob(t, opt)
	appendAll(t, a, pages(0, 40)...)
	end := syncArchive(t, a)
	closeArchive(t, a)
	if n, faults := Check(job, end); n != 40 || len(faults) != 0 {
		t.Fatalf("%d captures, %v", n, faults)
	}
	segments, err := filepath.Glob(filepath.Join(job, DirName, "*.warc.gz"))
	if err != nil || len(segments) < 3 {
		t.Fatalf("%v, %v", segments, err)
	}
	damage := map[string]func(b []byte) []byte{
		"a flipped byte near the start": func(b []byte) []byte { b[300] ^= 0x55; return b },
		"a flipped byte in the middle":  func(b []byte) []byte { b[len(b)/2] ^= 0x55; return b },
		"a flipped byte near the end":   func(b []byte) []byte { b[len(b)-40] ^= 0x55; return b },
		"an end cut off":                func(b []byte) []byte { return b[:len(b)-200] },
		"nothing left":                  func([]byte) []byte { return nil },
	}
	for name, change := range damage {
		for _, at := range []int{0, len(segments) - 1} {
			t.Run(name, func(t *testing.T) {
				whole, err := os.ReadFile(segments[at])
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(segments[at], change(append([]byte(nil), whole...)), 0o644); err != nil {
					t.Fatal(err)
				}
				n, faults := Check(job, end)
				if n >= 40 || len(faults) != 1 || !errors.Is(faults[0], ErrDamaged) {
					t.Errorf("segment %d: %d captures, faults %v", at, n, faults)
				}
				if err := os.WriteFile(segments[at], whole, 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	if err := os.Remove(segments[1]); err != nil {
		t.Fatal(err)
	}
	if n, faults := Check(job, end); n >= 40 || len(faults) != 1 {
		t.Errorf("a missing segment: %d captures, faults %v", n, faults)
	}
}
