package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestSpoolModel writes to several Spools under one Budget and compares with plain slices.
func TestSpoolModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.SampledFrom([]int64{0, 10 << 10, 60 << 10, 4 << 20}).Draw(t, "max")
		b := NewBudget(dir, max)
		type twin struct {
			spool *Spool
			want  []byte
		}
		var open []*twin
		pick := func(t *rapid.T) *twin {
			if len(open) == 0 {
				t.Skip("none open")
			}
			return open[rapid.IntRange(0, len(open)-1).Draw(t, "which")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) { open = append(open, &twin{spool: b.NewSpool()}) },
			"write": func(t *rapid.T) {
				w := pick(t)
				n := rapid.SampledFrom([]int{0, 1, 100, 1000, 4 << 10, 5000, 20 << 10}).Draw(t, "n")
				p := bytes.Repeat([]byte{byte(len(w.want) + n)}, n)
				if wrote, err := w.spool.Write(p); wrote != n || err != nil {
					t.Fatalf("wrote %d of %d: %v", wrote, n, err)
				}
				w.want = append(w.want, p...)
			},
			"grow": func(t *rapid.T) {
				pick(t).spool.Grow(rapid.Int64Range(-1, 40<<10).Draw(t, "n"))
			},
			"close": func(t *rapid.T) {
				w := pick(t)
				got, err := io.ReadAll(w.spool.Reader())
				if err != nil || !bytes.Equal(got, w.want) {
					t.Fatalf("Reader gives %d bytes of %d: %v", len(got), len(w.want), err)
				}
				if err := w.spool.Close(); err != nil {
					t.Fatal(err)
				}
				for i := range open {
					if open[i] == w {
						open = append(open[:i], open[i+1:]...)
						break
					}
				}
			},
			"": func(t *rapid.T) {
				if used := b.Used(); used > max || used < 0 {
					t.Fatalf("%d bytes used of %d", used, max)
				}
				for _, w := range open {
					if w.spool.Len() != int64(len(w.want)) {
						t.Fatalf("Len is %d, want %d", w.spool.Len(), len(w.want))
					}
					if p, ok := w.spool.Bytes(); ok && !bytes.Equal(p, w.want) {
						t.Fatal("Bytes differs")
					} else if ok && len(p) > memoryLimit {
						t.Fatalf("%d bytes in memory", len(p))
					}
				}
			},
		})
		for _, w := range open {
			if err := w.spool.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if used := b.Used(); used != 0 {
			t.Fatalf("%d bytes used after all are closed", used)
		}
	})
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files left", len(left))
	}
}

func TestSpoolReaders(t *testing.T) {
	b := NewBudget(t.TempDir(), 1<<20)
	for _, size := range []int{0, 1, 5000, memoryLimit, memoryLimit + 1} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		s := b.NewSpool()
		if _, err := s.Write(want); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Bytes(); ok != (size <= memoryLimit) {
			t.Errorf("%d bytes: in memory %v", size, ok)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got, err := io.ReadAll(iotest.HalfReader(s.Reader())); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes of %d: %v", len(got), size, err)
				}
			})
		}
		wg.Wait()
		s.Close()
	}
}

func TestSpoolClosed(t *testing.T) {
	var none *Spool
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	b := NewBudget(t.TempDir(), 0)
	s := b.NewSpool()
	if _, err := s.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Reader().Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if p, ok := s.Bytes(); ok || p != nil {
		t.Errorf("%q is in memory", p)
	}
}

// TestSpoolNoDisk: when no file can be had, what was written stays and the error is the disk's.
func TestSpoolNoDisk(t *testing.T) {
	b := NewBudget(filepath.Join(t.TempDir(), "missing"), 10<<10)
	s := b.NewSpool()
	if _, err := s.Write([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Write(make([]byte, 20<<10)); n != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d, %v", n, err)
	}
	if p, ok := s.Bytes(); !ok || string(p) != "kept" || s.Len() != 4 {
		t.Errorf("%q, %v, %d", p, ok, s.Len())
	}
	if err := s.Close(); err != nil || b.Used() != 0 {
		t.Errorf("%v, %d bytes used", err, b.Used())
	}
}

func TestBudgetShared(t *testing.T) {
	b := NewBudget(t.TempDir(), 256<<10)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				s := b.NewSpool()
				s.Write(make([]byte, 60<<10))
				s.Write(make([]byte, 60<<10))
				if b.Used() > 256<<10 {
					t.Error("over the budget")
				}
				s.Close()
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 {
		t.Errorf("%d bytes used", b.Used())
	}
}

func BenchmarkSpool(b *testing.B) {
	budget, page := NewBudget(b.TempDir(), 64<<20), make([]byte, 20<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		s := budget.NewSpool()
		s.Grow(int64(len(page)))
		s.Write(page)
		s.Close()
	}
}
