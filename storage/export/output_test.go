package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestFiles(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	plain, _ := runString(t, job, Options{Format: "jsonl"})
	unpack := map[string]func([]byte) ([]byte, error){
		"out.jsonl": func(b []byte) ([]byte, error) { return b, nil },
		"out.jsonl.gz": func(b []byte) ([]byte, error) {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(z)
		},
		"out.jsonl.zst": func(b []byte) ([]byte, error) {
			z, err := zstd.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			defer z.Close()
			return io.ReadAll(z)
		},
	}
	for name, open := range unpack {
		dir := t.TempDir()
		opt := Options{Format: "jsonl", Output: filepath.Join(dir, name)}
		stats, err := Run(context.Background(), job, opt)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(opt.Output)
		if err != nil {
			t.Fatal(err)
		}
		got, err := open(raw)
		if err != nil || string(got) != plain {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
		if !slices.Equal(stats.Files, []string{opt.Output}) || stats.Bytes != int64(len(raw)) {
			t.Errorf("%s: stats %+v", name, stats)
		}
		_, err = Run(context.Background(), job, opt)
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("%s again: %v", name, err)
		}
		opt.Overwrite = true
		if _, err := Run(context.Background(), job, opt); err != nil {
			t.Errorf("%s overwritten: %v", name, err)
		}
		if names := names(t, dir); !slices.Equal(names, []string{name}) {
			t.Errorf("left %q", names)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range es {
		ns = append(ns, e.Name())
	}
	return ns
}

func TestEmptyExports(t *testing.T) {
	job, _ := newJob(t, nil, 1e9)
	for format, want := range map[string]string{"jsonl": "", "urls": "", "seeds": "", "csv": "id,url,host,"} {
		got, stats := runString(t, job, Options{Format: format})
		if stats.Captures != 0 || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", format, got)
		}
	}
	path := filepath.Join(t.TempDir(), "none.warc.gz")
	if _, err := Run(context.Background(), job, Options{Format: "warc", Output: path}); err != nil {
		t.Fatal(err)
	}
	if got := strictRead(t, path); !slices.Equal(got, []string{"warcinfo"}) {
		t.Errorf("%q", got)
	}
}

func TestShards(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	dir := t.TempDir()
	opt := Options{Format: "jsonl", Output: filepath.Join(dir, "p.x.jsonl"), ShardBytes: 1500}
	stats, err := Run(context.Background(), job, opt)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := runString(t, job, Options{Format: "jsonl"})
	var all []byte
	for i, path := range stats.Files {
		if want := filepath.Join(dir, fmt.Sprintf("p-%05d.x.jsonl", i)); path != want {
			t.Errorf("shard %d is %s", i, path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 1500 || !bytes.HasSuffix(b, []byte("\n")) {
			t.Errorf("shard %d has %d bytes", i, len(b))
		}
		all = append(all, b...)
	}
	if string(all) != plain || len(stats.Files) < 3 {
		t.Errorf("%d shards, %d bytes of %d", len(stats.Files), len(all), len(plain))
	}
	if _, err := Run(context.Background(), job, opt); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
	opt.Overwrite, opt.ShardBytes = true, 1e6
	if _, err := Run(context.Background(), job, opt); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"p-00000.x.jsonl"}) {
		t.Errorf("overwritten: %q", got)
	}
}

func TestCancelled(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	for _, format := range Formats {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Run(ctx, job, Options{Format: format, Output: filepath.Join(dir, "o.warc.gz")}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", format, err)
		}
		if got := names(t, dir); len(got) != 0 {
			t.Errorf("%s left %q", format, got)
		}
	}
}

func TestProgress(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	for _, newest := range []bool{false, true} {
		var calls, last, of int64
		runString(t, job, Options{Format: "csv", Newest: newest, Progress: func(done, total int64) {
			calls++
			last, of = done, total
		}})
		if calls != 1 || last != of || of == 0 {
			t.Errorf("%d calls, %d of %d", calls, last, of)
		}
	}
}
