package body

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
)

// repeat gives out a block n times.
type repeat struct {
	block []byte
	n     int
	at    int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.block[r.at:])
	if r.at += n; r.at == len(r.block) {
		r.at, r.n = 0, r.n-1
	}
	return n, nil
}

// Case SE-04: about 1 MB of gzip that stands for 1 GB is given up at the limit, and memory stays within it.
func TestBombMemory(t *testing.T) {
	const limit = 4 << 20
	member := coded(t, "gzip", bytes.Repeat([]byte{'A'}, 1<<20))
	inner := coded(t, "gzip", bytes.Repeat([]byte{'A'}, 16<<20))
	tests := []struct {
		name   string
		body   func() io.Reader
		values []string
		lim    Limits
		want   error
	}{
		{"size limit", func() io.Reader { return &repeat{block: member, n: 1000} }, []string{"gzip"}, Limits{MaxBytes: limit, MaxRatio: 1 << 20}, ErrTooLong},
		{"ratio limit", func() io.Reader { return &repeat{block: member, n: 1000} }, []string{"gzip"}, Limits{MaxBytes: 1 << 30}, ErrRatio},
		{"gzip in gzip", func() io.Reader { return bytes.NewReader(coded(t, "gzip", inner)) }, []string{"gzip, gzip"}, Limits{MaxBytes: limit}, ErrRatio},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.body()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			got, err := ReadAll(nil, r, tt.values, tt.lim)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if len(got) > limit+64<<10 {
				t.Errorf("%d bytes given out, limit %d", len(got), limit)
			}
			// Growing a slice allocates a few times its final size in all.
			if n := after.TotalAlloc - before.TotalAlloc; n > 8*limit {
				t.Errorf("%d bytes allocated for a limit of %d", n, limit)
			}
		})
	}
}

// A stack of codings whose outer layer blows up into members that are empty gives out nothing, so only the bounds between the
// layers end it.
func TestBombOfEmptyMembers(t *testing.T) {
	empty := bytes.Repeat(coded(t, "gzip", nil), 1<<18)
	outer := coded(t, "gzip", empty)
	if len(empty) < 100*len(outer) {
		t.Fatalf("%d bytes of empty members in %d", len(empty), len(outer))
	}
	_, err := ReadAll(nil, bytes.NewReader(outer), []string{"gzip, gzip"}, Limits{MaxBytes: 1 << 20})
	if !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrRatio) {
		t.Errorf("error %v, want a limit", err)
	}
}

// A zstd frame may ask for a window of terabytes in nine octets; RFC 9659 permits 8 MiB.
func TestZstdWindow(t *testing.T) {
	frame := func(window byte) []byte {
		// Magic, no flags, window descriptor, one last raw block of one octet (RFC 8878 section 3.1.1).
		return []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, window, 0x09, 0x00, 0x00, 'x'}
	}
	tests := []struct {
		name   string
		window byte
		ok     bool
	}{
		{"1 KiB", 0 << 3, true},
		{"8 MiB", 13 << 3, true},
		{"9 MiB", 13<<3 | 1, false},
		{"16 MiB", 14 << 3, false},
		{"3.75 TiB", 31<<3 | 7, false},
	}
	for _, tt := range tests {
		got, err := ReadAll(nil, bytes.NewReader(frame(tt.window)), []string{"zstd"}, wide)
		if tt.ok && (string(got) != "x" || err != nil) || !tt.ok && (len(got) > 0 || !errors.Is(err, ErrUndecodable)) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}
