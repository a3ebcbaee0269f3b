package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"amble/storage"
)

// An output among the job's own files is refused, whatever leads there, and whether it is there or not.
func TestOwnFilesAreRefused(t *testing.T) {
	job, ends := newJob(t, shots(), 1e9)
	if err := os.MkdirAll(filepath.Join(job, spoolDir, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	link := func(to, name string) string {
		path := filepath.Join(elsewhere, name)
		if err := os.Symlink(to, path); err != nil {
			t.Skip("no symbolic links here")
		}
		return path
	}
	for _, name := range []string{"amble.db", "status.json"} {
		if err := os.WriteFile(filepath.Join(job, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(elsewhere, "config")
	if err := os.WriteFile(outside, []byte("config"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(job, "amble.yaml")); err != nil {
		t.Skip("no symbolic links here")
	}
	segment := ends.Segment + ".open"
	linked := link(job, "job")
	paths := []string{
		outside, filepath.Join(linked, "amble.db"), link(filepath.Join(linked, "status.json"), "to-status"),
		filepath.Join(link(filepath.Join(job, storage.DirName), "segments"), "new.jsonl"), link(filepath.Join(job, storage.DirName, segment), "to-segment"),
		link(filepath.Join(elsewhere, "second"), "first"), link(filepath.Join(job, "control.addr"), "second"),
		filepath.Join(job, "export") + "/../amble.db",
	}
	if err := os.Mkdir(filepath.Join(job, "export"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"amble.db", "amble.db.creating", "amble.db-wal", "Amble.DB", "crawl.jsonl", "crawl-00001.jsonl", "status.json", "control.addr", "amble.yaml",
		"warc/" + segment, "warc/" + ends.Segment + ".idx", "warc/new.jsonl", "spool/x", "spool/a/x", "./warc/../amble.db",
	} {
		paths = append(paths, job+"/"+name)
	}
	before := contents(t, job)
	for _, path := range paths {
		for _, overwrite := range []bool{false, true} {
			_, err := Run(context.Background(), job, Options{Format: "jsonl", Output: path, Overwrite: overwrite})
			var oe *OptionError
			if !errors.As(err, &oe) || oe.Flag != "--output" {
				t.Errorf("%s, overwrite %v: %v", path, overwrite, err)
			}
		}
	}
	_, err := Run(context.Background(), job, Options{Format: "jsonl", Output: filepath.Join(job, "crawl.jsonl"), ShardBytes: 100, Overwrite: true})
	if err == nil {
		t.Error("shards take the names of crawl logs")
	}
	if after := contents(t, job); !slices.Equal(before, after) {
		t.Errorf("the job was\n%q\nand is\n%q", before, after)
	}
	for _, name := range []string{"pages.jsonl", "export/pages.jsonl", "export/amble.db"} {
		if _, err := Run(context.Background(), job, Options{Format: "jsonl", Output: filepath.Join(job, name)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// contents are the files below dir with what is in them.
func contents(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files = append(files, path+": "+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// An output that is a symbolic link is left alone without Overwrite; with it, the file that it leads to is replaced.
func TestOutputIsALink(t *testing.T) {
	job, _ := newJob(t, shots(), 1e9)
	want, _ := runString(t, job, Options{Format: "urls"})
	dir, far := t.TempDir(), t.TempDir()
	file, link, second := filepath.Join(far, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "second")
	if err := errors.Join(os.Symlink(second, link), os.Symlink(file, second)); err != nil {
		t.Skip("no symbolic links here")
	}
	opt := Options{Format: "urls", Output: link}
	if _, err := Run(context.Background(), job, opt); !errors.Is(err, fs.ErrExist) {
		t.Errorf("without overwrite: %v", err)
	}
	opt.Overwrite = true
	for _, old := range []string{"", "old"} { // the target is not there at first
		if old != "" {
			if err := os.WriteFile(file, []byte(old), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		stats, err := Run(context.Background(), job, opt)
		if err != nil || !slices.Equal(stats.Files, []string{link}) {
			t.Fatalf("%+v, %v", stats, err)
		}
		got, err := os.ReadFile(file)
		if info, lerr := os.Lstat(link); err != nil || lerr != nil || string(got) != want || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%v, %v, %v: %q", err, lerr, info, got)
		}
		if l, r := names(t, dir), names(t, far); !slices.Equal(l, []string{"link", "second"}) || !slices.Equal(r, []string{"file"}) {
			t.Errorf("left %q, %q", l, r)
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "none", "x"), nowhere); err != nil {
		t.Fatal(err)
	}
	bad := []string{loop, nowhere}
	if runtime.GOOS != "windows" {
		bad = append(bad, os.DevNull)
	}
	for _, path := range bad {
		opt.Output = path
		_, err := Run(context.Background(), job, opt)
		var oe *OptionError
		if !errors.As(err, &oe) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
