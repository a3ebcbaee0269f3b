package storage

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// whole is everything that the index path reads of a capture.
func whole(r *Reader, e *Entry) (s string, err error) {
	rec, err := r.Record(e)
	if err != nil {
		return "", err
	}
	defer func() { _ = rec.Payload.Close() }()
	body, err := io.ReadAll(rec.Payload)
	if err != nil {
		return "", err
	}
	m, err := r.Meta(e)
	if err != nil {
		return "", err
	}
	members, err := r.Members(e)
	if err != nil {
		return "", err
	}
	defer func() { _ = members.Close() }()
	n, err := io.Copy(io.Discard, members)
	return fmt.Sprintf("%s %s %q %q %q %x %d %+v %+v %d", rec.URL, rec.Start, rec.Head, rec.RequestHead, body, rec.PayloadDigest, rec.Status, rec.Meta, m, n), err
}

// A flipped bit, wherever it is, is an error of its own capture, or (in fields of the gzip header that no checksum covers)
// changes nothing that is read. It is never a panic, and never another capture.
func TestFlippedBits(t *testing.T) {
	job, a := newJob(t, testOptions())
	appendAll(t, a, pages(0, 3)...)
	ends := syncArchive(t, a)
	entries := readAll(t, job, &ends)
	hit := entries[1]
	closeArchive(t, a)
	path := filepath.Join(job, DirName, hit.Segment)
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	readEach := func() (texts []string, errs []error) {
		r, err := OpenReader(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			e, err := r.Next()
			if err == io.EOF {
				return texts, errs
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := whole(r, &e)
			texts, errs = append(texts, s), append(errs, err)
		}
	}
	want, errs := readEach()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("capture %d, intact: %v", i, err)
		}
	}
	found := 0
	for at := hit.Offset; at < hit.End(); at++ {
		inMember := at - hit.Offset
		if m := hit.Offset + hit.Length; at >= m {
			inMember = at - m
		}
		for bit := range 8 {
			if inMember >= 250 && (inMember*8+int64(bit))%23 != 0 {
				continue
			}
			b := bytes.Clone(intact)
			b[at] ^= 1 << bit
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			got, errs := readEach()
			if len(got) != len(want) {
				t.Fatalf("byte %d, bit %d: %d captures, want %d", at, bit, len(got), len(want))
			}
			for i := range got {
				switch {
				case errs[i] != nil && i == 1:
					found++
				case errs[i] != nil:
					t.Errorf("byte %d, bit %d: capture %d: %v", at, bit, i, errs[i])
				case got[i] != want[i]:
					t.Fatalf("byte %d, bit %d: capture %d is read, and is another:\n%s\nwant\n%s", at, bit, i, got[i], want[i])
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d flips were found", found)
	}
}
