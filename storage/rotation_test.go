package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRotation(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 4000
	clock := testTime
	opt.Now = func() time.Time { clock = clock.Add(1001 * time.Millisecond); return clock }
	job, a := newJob(t, opt)
	at := appendAll(t, a, pages(0, 12)...)
	dir := filepath.Join(job, DirName)
	wantPages(t, readAll(t, job, &Ends{}), 0)
	for i, p := range at {
		rec, err := a.ReadAt(p)
		if err != nil {
			t.Fatal(err)
		}
		if rec.URL.String() != page(i).url {
			t.Errorf("capture %d is %s", i, rec.URL)
		}
		rec.Payload.Close()
	}
	ends := syncArchive(t, a)
	segments, err := listSegments(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(segments) < 3 || int(ends.Serial) != len(segments)-1 || ends.Segment != segments[len(segments)-1].name {
		t.Fatalf("%d segments, ends %+v", len(segments), ends)
	}
	for i, s := range segments {
		if int(s.serial) != i || s.open != (i == len(segments)-1) || s.size > opt.SegmentBytes {
			t.Errorf("segment %d: %+v", i, s)
		}
		want := testTime.Add(time.Duration(i+1) * 1001 * time.Millisecond).Format("20060102150405.000")
		if !strings.HasPrefix(s.name, "AMBLE-"+strings.Replace(want, ".", "", 1)+fmt.Sprintf("-%05d-", i)) {
			t.Errorf("segment %d is named %s", i, s.name)
		}
	}
	wantPages(t, readAll(t, job, &ends), 12)
	for i, p := range at {
		rec, err := a.ReadAt(p)
		if err != nil {
			t.Fatal(err)
		}
		if rec.URL.String() != page(i).url {
			t.Errorf("capture %d is %s", i, rec.URL)
		}
		rec.Payload.Close()
	}
	closeArchive(t, a)
	goOn(t, job, ends, 12, 15)
	if list, err := listSegments(dir); err != nil || len(list) != len(segments)+1 {
		t.Errorf("a finished archive went on in %v, %v", list, err)
	}
}

// A capture larger than SegmentBytes has a segment of its own, and no segment is without a capture.
func TestRotationOfLargeCaptures(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 10
	job, a := newJob(t, opt)
	at := appendAll(t, a, pages(0, 3)...)
	for i, p := range at {
		if int(p.Serial) != i {
			t.Errorf("capture %d in segment %d", i, p.Serial)
		}
	}
	ends := syncArchive(t, a)
	wantPages(t, readAll(t, job, &ends), 3)
}

// A crash after a rotation and its Sync, but before the commit.
func TestOpenTakesBackRotations(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 4000
	job, a := newJob(t, opt)
	appendAll(t, a, pages(0, 2)...)
	ends := syncArchive(t, a)
	appendAll(t, a, pages(2, 12)...)
	last := syncArchive(t, a)
	if last.Serial < 2 {
		t.Fatalf("no rotations: %+v", last)
	}
	goOn(t, job, ends, 2, 5)
	if list, err := listSegments(filepath.Join(job, DirName)); err != nil || len(list) != 1 {
		t.Errorf("segments %v, %v", list, err)
	}
}

func TestOpenFinishesEarlierSegments(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 4000
	job, a := newJob(t, opt)
	appendAll(t, a, pages(0, 6)...)
	ends := syncArchive(t, a)
	dir := filepath.Join(job, DirName)
	list, err := listSegments(dir)
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	path := filepath.Join(dir, list[0].name)
	if err := os.Rename(path, path+openSuffix); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(indexPath(dir, list[0].name)); err != nil {
		t.Fatal(err)
	}
	wantPages(t, readAll(t, job, nil), 6)
	goOn(t, job, ends, 6, 7)
}

func TestAppendNothing(t *testing.T) {
	job, a := newJob(t, testOptions())
	if at, err := a.Append(nil); err != nil || len(at) != 0 {
		t.Error(at, err)
	}
	if ends := syncArchive(t, a); ends != (Ends{}) {
		t.Errorf("ends %+v", ends)
	}
	closeArchive(t, a)
	closeArchive(t, a)
	if _, err := a.Append(nil); err == nil {
		t.Error("a closed archive accepts captures")
	}
	if got := dirNames(t, filepath.Join(job, DirName)); len(got) != 0 {
		t.Errorf("files %q", got)
	}
	if _, err := OpenReader(filepath.Join(job, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing job: %v", err)
	}
}

// Exports and `show` beside a crawl that appends and rotates.
func TestReadersBesideTheWriter(t *testing.T) {
	opt := testOptions()
	opt.SegmentBytes = 9000
	job, a := newJob(t, opt)
	_, other := newJob(t, opt)
	var es []*Encoded
	for _, x := range pages(0, 60) {
		es = append(es, encode(t, other, x, Meta{}))
	}
	type state struct {
		ends Ends
		at   []Position
	}
	states := make(chan state, 60)
	go func() { // ends when everything is appended
		defer close(states)
		var at []Position
		for i := 0; i < len(es); i += 4 {
			more, err := a.Append(es[i : i+4])
			if err != nil {
				t.Error(err)
				return
			}
			at = append(at, more...)
			ends, err := a.Sync()
			if err != nil {
				t.Error(err)
				return
			}
			states <- state{ends, slices.Clone(at)}
		}
	}()
	n := 0
	for s := range states {
		n = len(s.at)
		wantPages(t, readAll(t, job, &s.ends), n)
		if got := readAll(t, job, nil); len(got) < n {
			t.Errorf("%d captures of %d", len(got), n)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			rec, err := a.ReadAt(s.at[i])
			if err != nil {
				t.Fatal(err)
			}
			if rec.URL.String() != page(i).url {
				t.Errorf("capture %d is %s", i, rec.URL)
			}
			if err := rec.Payload.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if n != len(es) {
		t.Errorf("%d captures of %d", n, len(es))
	}
}
