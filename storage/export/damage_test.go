package export

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amble/storage"
)

// entriesOf are the captures of an intact archive.
func entriesOf(t *testing.T, job string) []storage.Entry {
	t.Helper()
	r, err := storage.OpenReader(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var es []storage.Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return es
		}
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
}

// A damaged capture is left out, named and counted, wherever the damage lies: what is written are the lines or the
// records of the others, as without damage.
func TestDamagedCapture(t *testing.T) {
	job, ends := newJob(t, shots(), 1e9)
	path := filepath.Join(job, storage.DirName, ends.Segment+".open")
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := entriesOf(t, job)
	hit := entries[3] // a page
	lines := map[string][]string{}
	for _, format := range []string{"jsonl", "csv"} {
		whole, _ := runString(t, job, Options{Format: format})
		lines[format] = strings.SplitAfter(whole, "\n")
	}
	// Where csv has its header, jsonl lacks a line.
	without := map[string]string{
		"jsonl": strings.Join(append(append([]string{}, lines["jsonl"][:2]...), lines["jsonl"][3:]...), ""),
		"csv":   strings.Join(append(append([]string{}, lines["csv"][:3]...), lines["csv"][4:]...), ""),
	}
	out := t.TempDir()
	for at := hit.Offset; at < hit.End(); at++ {
		if at-hit.Offset > 100 && at%5 != 0 {
			continue // 5 is prime to the 8 bits and to the 2 ways of jsonl
		}
		if err := os.WriteFile(path, intact, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{intact[at] ^ 1<<(at%8)}, at); err != nil {
			t.Fatal(err)
		}
		f.Close()
		for _, format := range []string{"jsonl", "csv", "warc"} {
			var said []error
			opt := Options{Format: format, End: &ends, Body: format == "jsonl" && at%2 == 0, Damaged: func(err error) { said = append(said, err) }}
			var b bytes.Buffer
			opt.Stdout = &b
			stats, err := Run(context.Background(), job, opt)
			if err != nil || int64(len(said)) != stats.Damaged || stats.Damaged > 1 {
				t.Fatalf("byte %d, %s: %v, %v, %+v", at, format, err, said, stats)
			}
			got := b.String()
			if stats.Damaged == 0 {
				// Fields of the gzip header that no checksum covers.
				if want := strings.Join(lines[format], ""); format != "warc" && !opt.Body && got != want {
					t.Fatalf("byte %d, %s: damage that is not seen changes the output", at, format)
				}
				continue
			}
			if !errors.Is(said[0], storage.ErrDamaged) || !strings.Contains(said[0].Error(), hit.Segment) || !strings.Contains(said[0].Error(), "offset") {
				t.Errorf("byte %d, %s: %v", at, format, said[0])
			}
			switch {
			case format == "warc":
				if at%16 == 0 {
					file := filepath.Join(out, "records.warc.gz")
					if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
						t.Fatal(err)
					}
					if types := strictRead(t, file); len(types) != 2+3*(len(entries)-1) {
						t.Errorf("byte %d: records %q", at, types)
					}
				}
			case !opt.Body && got != without[format]:
				t.Fatalf("byte %d, %s: got\n%s\nwant\n%s", at, format, got, without[format])
			}
		}
	}
	// A file is written as far as it can be.
	b := bytes.Clone(intact)
	b[hit.Offset+hit.Length-1] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "pages.jsonl")
	stats, err := Run(context.Background(), job, Options{Format: "jsonl", Output: file, End: &ends})
	if err != nil || stats.Damaged != 1 {
		t.Fatalf("%v, %+v", err, stats)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != without["jsonl"] {
		t.Errorf("%v, %s", err, got)
	}
}

// What ends an export ends standard output with a whole line.
func TestWholeLines(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	var out bytes.Buffer
	o, err := newOutput(&Options{Format: "jsonl", Stdout: &out}, job)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 50<<10)
	for range 3 {
		if err := writeLine(o, long); err != nil {
			t.Fatal(err)
		}
	}
	o.abandon()
	if got := out.String(); got != strings.Repeat(long+"\n", 3) {
		t.Errorf("%d bytes", len(got))
	}
}
