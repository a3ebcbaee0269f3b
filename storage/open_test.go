package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crashed is a job that was stopped: 3 captures committed, 3 more synced, no commit.
type crashed struct {
	files map[string][]byte
	ends  Ends
	all   Ends
	name  string
}

func newCrashed(t *testing.T) crashed {
	t.Helper()
	job, a := newJob(t, testOptions())
	appendAll(t, a, pages(0, 3)...)
	c := crashed{ends: syncArchive(t, a), files: map[string][]byte{}}
	appendAll(t, a, pages(3, 6)...)
	c.all = syncArchive(t, a)
	c.name = c.ends.Segment
	dir := filepath.Join(job, DirName)
	for _, n := range dirNames(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		c.files[n] = b
	}
	return c
}

func (c crashed) segment() []byte { return c.files[c.name+openSuffix] }
func (c crashed) index() []byte   { return c.files[c.name+indexSuffix] }

// lay writes files into a new job.
func lay(t *testing.T, files map[string][]byte) (job, dir string) {
	t.Helper()
	job = t.TempDir()
	dir = filepath.Join(job, DirName)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for n, b := range files {
		if b == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return job, dir
}

// goOn opens, appends what was lost, closes, and checks everything.
func goOn(t *testing.T, job string, ends Ends, from, to int) {
	t.Helper()
	dir := filepath.Join(job, DirName)
	a, err := Open(dir, testOptions(), ends)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	wantPages(t, readAll(t, job, nil), from)
	appendAll(t, a, pages(from, to)...)
	final := syncArchive(t, a)
	wantPages(t, readAll(t, job, &final), to)
	closeArchive(t, a)
	for _, n := range dirNames(t, dir) {
		if strings.HasSuffix(n, openSuffix) {
			t.Errorf("%s is left", n)
		}
		if strings.HasSuffix(n, segmentSuffix) {
			strictRead(t, filepath.Join(dir, n))
			checkIndex(t, dir, n)
		}
	}
}

// checkIndex compares an index with one that is made from the segment anew.
func checkIndex(t *testing.T, dir, name string) {
	t.Helper()
	got, err := os.ReadFile(indexPath(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	segment, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	job, other := lay(t, map[string][]byte{name: segment})
	serial, _ := parseSegmentName(name)
	a, err := Open(other, testOptions(), Ends{name, serial, int64(len(segment))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want, err := os.ReadFile(indexPath(other, name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("index of %s: %d bytes differ from the %d made from the segment", name, len(got), len(want))
	}
	_ = job
}

func TestOpenCutsBack(t *testing.T) {
	c := newCrashed(t)
	whole := c.segment()
	list := c.memberEnds(t)
	next := list[10] // the fourth capture's response
	cuts := map[string][]byte{
		"at the committed end":       whole[:c.ends.End],
		"a byte more":                whole[:c.ends.End+1],
		"in a gzip header":           whole[:c.ends.End+5],
		"in a response":              whole[:(c.ends.End+next)/2],
		"before the checksum":        whole[:next-8],
		"in the checksum":            whole[:next-3],
		"behind a response":          whole[:next],
		"behind a request":           whole[:list[11]],
		"behind a capture":           whole[:list[12]],
		"a byte short":               whole[:len(whole)-1],
		"whole":                      whole,
		"with zeros behind":          append(bytes.Clone(whole), make([]byte, 5000)...),
		"with garbage behind":        append(bytes.Clone(whole[:c.ends.End]), bytesOf(300, 3)...),
		"with zeros for its content": append(bytes.Clone(whole[:c.ends.End]), make([]byte, int64(len(whole))-c.ends.End)...),
	}
	for name, segment := range cuts {
		for _, suffix := range []string{openSuffix, ""} {
			t.Run(name+suffix, func(t *testing.T) {
				job, _ := lay(t, map[string][]byte{c.name + suffix: segment, c.name + indexSuffix: c.index()})
				goOn(t, job, c.ends, 3, 6)
			})
		}
	}
}

// memberEnds lists where the members of the segment end.
func (c crashed) memberEnds(t *testing.T) []int64 {
	t.Helper()
	_, dir := lay(t, c.files)
	f, err := os.Open(filepath.Join(dir, c.name+openSuffix))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var p readerPool
	z := p.get(f, 0)
	var ends []int64
	for {
		if _, err := z.Next(); err == io.EOF {
			return ends
		} else if err != nil {
			t.Fatal(err)
		}
		if err := z.Finish(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, z.Offset())
	}
}

func TestReaderStopsAtWholeCapture(t *testing.T) {
	c := newCrashed(t)
	list := c.memberEnds(t)
	captures := func(size int64) (n int) {
		for i := 3; i < len(list); i += 3 {
			if list[i] <= size {
				n++
			}
		}
		return n
	}
	for size := int64(0); size <= int64(len(c.segment())); size += 97 {
		for name, index := range map[string][]byte{"index": c.index(), "none": nil, "torn": c.index()[:indexHeaderSize+200]} {
			job, _ := lay(t, map[string][]byte{c.name + openSuffix: c.segment()[:size], c.name + indexSuffix: index})
			es, err := tryReadAll(job, nil)
			if err != nil {
				t.Fatalf("cut at %d, %s: %v", size, name, err)
			}
			wantPages(t, es, captures(size))
		}
	}
}

func TestReaderStopsAtEnds(t *testing.T) {
	c := newCrashed(t)
	job, _ := lay(t, c.files)
	wantPages(t, readAll(t, job, &c.ends), 3)
	wantPages(t, readAll(t, job, &c.all), 6)
	wantPages(t, readAll(t, job, &Ends{}), 0)
	inside := c.ends
	inside.End -= 10
	if err := os.Remove(indexPath(filepath.Join(job, DirName), c.name)); err != nil {
		t.Fatal(err)
	}
	if _, err := tryReadAll(job, &inside); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.name) {
		t.Errorf("an end in the midst of a capture: %v", err)
	}
}

func TestIndexIsRebuilt(t *testing.T) {
	c := newCrashed(t)
	good := c.index()
	other, b := newJob(t, Options{})
	appendAll(t, b, pages(0, 6)...)
	syncArchive(t, b)
	foreign, err := filepath.Glob(filepath.Join(other, DirName, "*"+indexSuffix))
	if err != nil || len(foreign) != 1 {
		t.Fatal(foreign, err)
	}
	foreignIndex, err := os.ReadFile(foreign[0])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 0x40
		return b
	}
	indexes := map[string][]byte{
		"missing": nil, "empty": {}, "half a header": good[:10], "header alone": good[:indexHeaderSize],
		"another version": flip(len(indexMagic) - 1), "another warcinfo": flip(12), "of another segment": foreignIndex,
		"with zeros behind": append(bytes.Clone(good), make([]byte, 100)...), "garbage": bytesOf(1000, 9),
		"zeros": make([]byte, len(good)), "huge length": append(bytes.Clone(good[:indexHeaderSize]), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0),
		"two of one": append(bytes.Clone(good), good[indexHeaderSize:]...),
	}
	for at := indexHeaderSize; at < len(good); at += 83 {
		indexes[fmt.Sprintf("cut at %d", at)] = good[:at]
		indexes[fmt.Sprintf("flipped at %d", at)] = flip(at)
	}
	for name, index := range indexes {
		t.Run(name, func(t *testing.T) {
			job, _ := lay(t, map[string][]byte{c.name + openSuffix: c.segment(), c.name + indexSuffix: index})
			wantPages(t, readAll(t, job, &c.all), 6)
			wantPages(t, readAll(t, job, &c.ends), 3)
			goOn(t, job, c.ends, 3, 6)
		})
	}
}

// An index whose numbers and checksums fit, but whose records are not the segment's.
func TestIndexOfOtherRecords(t *testing.T) {
	c := newCrashed(t)
	index := bytes.Clone(c.index()[:indexHeaderSize])
	id, infoEnd, _ := parseIndexHeader(index)
	x, ok := newIndexReader(bytes.NewReader(c.index()), id, infoEnd)
	if !ok {
		t.Fatal("no index")
	}
	for e, ok := x.next(c.all.End); ok; e, ok = x.next(c.all.End) {
		e.ID[0] ^= 1
		index = appendEntry(index, &e)
	}
	job, _ := lay(t, map[string][]byte{c.name + openSuffix: c.segment(), c.name + indexSuffix: index})
	if _, err := tryReadAll(job, &c.all); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "remove "+c.name+indexSuffix) {
		t.Errorf("a record that is not the index's: %v", err)
	}
	goOn(t, job, c.all, 6, 7)
}

func TestOpenRefuses(t *testing.T) {
	c := newCrashed(t)
	segment, index := c.segment(), c.index()
	damaged := bytes.Clone(segment)
	damaged[c.ends.End/2] ^= 0xff
	later := segmentName("AMBLE", testTime, 1, "elsewhere")
	twin := segmentName("AMBLE", testTime, 0, "elsewhere")
	tests := []struct {
		name  string
		files map[string][]byte
		ends  Ends
		want  []string
	}{
		{"short", map[string][]byte{c.name + openSuffix: segment[:c.ends.End-1]}, c.ends,
			[]string{c.name, fmt.Sprint(c.ends.End - 1), fmt.Sprint(c.ends.End), "put the whole file back"}},
		{"missing", nil, c.ends, []string{c.name, "missing", "put the file back"}},
		{"emptied", map[string][]byte{c.name + openSuffix: {}}, c.ends, []string{c.name, "has 0 bytes"}},
		{"another in its place", map[string][]byte{twin: segment}, c.ends, []string{c.name, twin}},
		{"both names", map[string][]byte{c.name: segment, c.name + openSuffix: segment}, c.ends, []string{"both", c.name}},
		{"one serial twice", map[string][]byte{c.name: segment, twin: segment}, c.ends, []string{"same serial", twin}},
		{"another's later segment", map[string][]byte{c.name + openSuffix: segment, later: segment}, c.ends, []string{later, "another folder"}},
		{"another's, nothing committed", map[string][]byte{later: segment}, Ends{}, []string{later, "another folder"}},
		{"damaged, no index", map[string][]byte{c.name + openSuffix: damaged}, c.ends, []string{c.name, "offset"}},
		{"end in a member", map[string][]byte{c.name + openSuffix: segment, c.name + indexSuffix: index}, Ends{c.name, 0, c.ends.End + 9}, []string{c.name, "offset"}},
		{"wrong serial", map[string][]byte{c.name + openSuffix: segment}, Ends{c.name, 4, c.ends.End}, []string{c.name, "4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, dir := lay(t, tt.files)
			a, err := Open(dir, testOptions(), tt.ends)
			if err == nil {
				a.Close()
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			for n, b := range tt.files {
				if got, err := os.ReadFile(filepath.Join(dir, n)); strings.Contains(n, segmentSuffix) && (err != nil || !bytes.Equal(got, b) && !strings.HasSuffix(n, indexSuffix)) {
					t.Errorf("%s was touched: %v", n, err)
				}
			}
		})
	}
}

func TestOpenWithNothingCommitted(t *testing.T) {
	c := newCrashed(t)
	job, dir := lay(t, c.files)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir, testOptions(), Ends{})
	if err != nil {
		t.Fatal(err)
	}
	if got := dirNames(t, dir); !slices.Equal(got, []string{"notes.txt"}) {
		t.Errorf("left: %q", got)
	}
	appendAll(t, a, pages(0, 2)...)
	ends := syncArchive(t, a)
	closeArchive(t, a)
	wantPages(t, readAll(t, job, &ends), 2)
	if ends.Serial != 0 {
		t.Errorf("serial %d", ends.Serial)
	}
}

func TestCreateRefusesAnArchive(t *testing.T) {
	c := newCrashed(t)
	_, dir := lay(t, c.files)
	if _, err := Create(dir, testOptions()); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), c.name) {
		t.Errorf("%v", err)
	}
}
