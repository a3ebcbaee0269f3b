package export

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nlnwa/gowarc/v3"

	"amble/storage"
)

// strictRead reads a file with gowarc, digests included, and lists the types of its records.
func strictRead(t *testing.T, path string) []string {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var types []string
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return types
		}
		if err != nil {
			t.Fatal(err)
		}
		if vs, err := rec.WarcRecord.ValidateDigest(); err != nil || len(vs)+len(rec.Validation) > 0 {
			t.Errorf("%s: %v, %v, %v", rec.WarcRecord.Type(), err, vs, rec.Validation)
		}
		types = append(types, rec.WarcRecord.Type().String())
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWarc(t *testing.T) {
	job, _ := newJob(t, shots(), 3000)
	segments, err := filepath.Glob(filepath.Join(job, storage.DirName, "*.warc.gz*"))
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	count := 0
	for _, s := range segments {
		if strings.HasSuffix(s, ".idx") {
			continue
		}
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, b...)
		count++
	}
	if count < 2 {
		t.Fatalf("%d segments", count)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "all.warc.gz")
	stats, err := Run(context.Background(), job, Options{Format: "warc", Output: path})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Captures != 8 {
		t.Errorf("stats %+v", stats)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(got, stored) {
		t.Error("the members are not those of the segments, byte for byte")
	}
	types := strictRead(t, path)
	if types[0] != "warcinfo" || len(types) != 1+count+8*3 {
		t.Errorf("records %q", types)
	}

	plainPath := filepath.Join(dir, "all.warc")
	if _, err := Run(context.Background(), job, Options{Format: "warc", Output: plainPath, Status: "404"}); err != nil {
		t.Fatal(err)
	}
	if got := strictRead(t, plainPath); !slices.Equal(got, []string{"warcinfo", "warcinfo", "response", "request", "metadata"}) {
		t.Errorf("records %q", got)
	}

	stats, err = Run(context.Background(), job, Options{Format: "warc", Output: filepath.Join(dir, "s.warc.gz"), ShardBytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if len(stats.Files) < 3 {
		t.Errorf("shards %q", stats.Files)
	}
	n := 0
	for _, f := range stats.Files {
		types := strictRead(t, f)
		if !slices.Equal(types[:3], []string{"warcinfo", "warcinfo", "response"}) {
			t.Errorf("%s: %q", f, types)
		}
		for _, k := range types {
			if k == "response" {
				n++
			}
		}
	}
	if n != 8 {
		t.Errorf("%d responses in all shards", n)
	}
}
