package storage

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstModel kills and reopens an archive at random; the model is the list of what was committed.
func TestAgainstModel(t *testing.T) {
	// Each check waits for many fsyncs, so that fewer do unless a number is given.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("30"); err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	_, first := newJob(t, testOptions())
	var encoded []*Encoded
	for i := range 30 {
		encoded = append(encoded, encode(t, first, page(i), Meta{}))
	}
	rapid.Check(t, func(rt *rapid.T) {
		job, err := os.MkdirTemp(base, "job-*")
		if err != nil {
			rt.Fatal(err)
		}
		dir := filepath.Join(job, DirName)
		opt := testOptions()
		opt.SegmentBytes = int64(rapid.SampledFrom([]int{3000, 5000, 1e6}).Draw(rt, "segment bytes"))
		a, err := Create(dir, opt)
		if err != nil {
			rt.Fatal(err)
		}
		var committed, appended, synced []string
		var ends, syncedEnds Ends
		reopen := func() {
			if a, err = Open(dir, opt, ends); err != nil {
				rt.Fatalf("open at %+v: %v", ends, err)
			}
			appended, synced, syncedEnds = slices.Clone(committed), slices.Clone(committed), ends
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				var es []*Encoded
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 29), 1, 5).Draw(rt, "pages") {
					es = append(es, encoded[i])
					appended = append(appended, encoded[i].entry.URL)
				}
				if _, err := a.Append(es); err != nil {
					rt.Fatal(err)
				}
			},
			"sync": func(rt *rapid.T) {
				if syncedEnds, err = a.Sync(); err != nil {
					rt.Fatal(err)
				}
				synced = slices.Clone(appended)
			},
			"commit": func(*rapid.T) { ends, committed = syncedEnds, slices.Clone(synced) },
			"close": func(rt *rapid.T) {
				if syncedEnds, err = a.Sync(); err != nil {
					rt.Fatal(err)
				}
				ends, committed = syncedEnds, slices.Clone(appended)
				if err := a.Close(); err != nil {
					rt.Fatal(err)
				}
				reopen()
			},
			"crash": func(rt *rapid.T) {
				a.abandon()
				hurt(rt, dir, ends, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "crash"), 0)))
				reopen()
			},
			"": func(rt *rapid.T) {
				es, err := tryReadAll(job, &ends)
				if err != nil {
					rt.Fatal(err)
				}
				if got := urlsOf(es); !slices.Equal(got, committed) {
					rt.Fatalf("read %q, committed %q", got, committed)
				}
			},
		})
		a.abandon()
	})
}

// abandon closes the files as a killed process does.
func (a *Archive) abandon() {
	if a.cur != nil {
		a.cur.close()
	}
	for _, s := range a.full {
		s.close()
	}
	a.closed = true
}

// hurt does to the files what a crash may: bytes behind the committed end go or turn to zeros, indexes lose their ends.
func hurt(rt *rapid.T, dir string, ends Ends, r *rand.Rand) {
	list, err := listSegments(dir)
	if err != nil {
		rt.Fatal(err)
	}
	for _, s := range list {
		low := int64(0)
		switch {
		case ends.Segment != "" && s.serial < ends.Serial:
			low = s.size
		case s.name == ends.Segment:
			low = ends.End
		}
		if s.size > low && r.IntN(2) == 0 {
			at := low + r.Int64N(s.size-low)
			if err := os.Truncate(s.path(dir), at); err != nil {
				rt.Fatal(err)
			}
			if r.IntN(2) == 0 {
				if err := os.Truncate(s.path(dir), s.size); err != nil {
					rt.Fatal(err)
				}
			}
		}
	}
	for _, s := range list {
		path := indexPath(dir, s.name)
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || r.IntN(2) == 0 {
			continue
		}
		if err := os.Truncate(path, r.Int64N(info.Size())); err != nil {
			rt.Fatal(err)
		}
	}
}
