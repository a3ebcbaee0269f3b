package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// halfDone is a job that was stopped with work left.
func halfDone(t *testing.T, h *host) (job string) {
	t.Helper()
	h.slow(10 * time.Millisecond)
	job = filepath.Join(t.TempDir(), "job")
	p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
	p.until("10 pages", func() bool { return h.requests(nil) >= 10 })
	p.signal(os.Interrupt)
	if code := p.wait(); code != 3 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	h.slow(0)
	return job
}

// contents are the files of a job with what is in them.
func contents(t *testing.T, job string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(job, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, job)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changed lists files that were removed or are others than before.
func changed(before, after map[string]string) (names []string) {
	for name, b := range before {
		if a, ok := after[name]; !ok || a != b {
			names = append(names, name)
		}
	}
	return names
}

// FR-03 (a), (b): a database that is empty or torn is named, with a remedy, and nothing is begun anew or spoilt.
func TestFR03DamagedDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(f *os.File, size int64) error
	}{
		{"empty", func(f *os.File, _ int64) error { return f.Truncate(0) }},
		{"head zeroed", func(f *os.File, _ int64) error { _, err := f.WriteAt(make([]byte, 8192), 0); return err }},
		{"cut in half", func(f *os.File, size int64) error { return f.Truncate(size / 2 &^ 4095) }},
		{"foreign", func(f *os.File, _ int64) error { _, err := f.WriteAt([]byte("SQLite format 3\x00"), 0); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(t, 40, leaves(60))
			job := halfDone(t, h)
			db := filepath.Join(job, "amble.db")
			f, err := os.OpenFile(db, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "foreign" {
				err = f.Truncate(16)
			}
			if err == nil {
				err = c.damage(f, info.Size())
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			before, asked := contents(t, job), len(h.seen())
			for _, args := range [][]string{
				append([]string{"resume"}, own(job)...),
				append([]string{"crawl", h.base + "/"}, own(job)...),
				{"status", "--job", job},
			} {
				p := launch(t, "", args...)
				if code := p.wait(); code != 1 && code != 2 {
					t.Errorf("amble %s: exit code %d", args[0], code)
				}
				said := p.stderr.String()
				if args[0] != "crawl" && !strings.Contains(said, "amble.db") {
					t.Errorf("amble %s does not name the file: %q", args[0], said)
				}
				if strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") {
					t.Errorf("amble %s panics: %s", args[0], head(said))
				}
			}
			if names := changed(before, contents(t, job)); len(names) > 0 {
				t.Errorf("changed or gone: %q", names)
			}
			if n := len(h.seen()); n != asked {
				t.Errorf("%d requests from a job that cannot be read", n-asked)
			}
		})
	}
}

// FR-03 (b): zeroes over the last 4 KiB are either harmless (nothing that counts lay there) or named; never a panic, and
// never a page that is lost without a word.
func TestFR03TornTail(t *testing.T) {
	t.Parallel()
	h := serve(t, 41, leaves(60))
	job := halfDone(t, h)
	db := filepath.Join(job, "amble.db")
	info, err := os.Stat(db)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(db, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 4096), info.Size()-4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, job)
	p := launch(t, "", append([]string{"resume"}, own(job)...)...)
	switch code := p.wait(); code {
	case 0:
		if d := cmp.Diff(h.urls(), once(t, captures(t, job))); d != "" {
			t.Error(d)
		}
	case 1, 2:
		if said := p.stderr.String(); !strings.Contains(said, "amble.db") || strings.Contains(said, "goroutine ") {
			t.Errorf("resume says %q", head(said))
		}
		if names := changed(before, contents(t, job)); len(names) > 0 {
			t.Errorf("changed or gone: %q", names)
		}
	default:
		t.Errorf("exit code %d\n%s", code, head(p.stderr.String()))
	}
}

// FR-03 (e): killed in its first moments, a crawl either has its seeds, or never began.
func TestFR03KilledAtTheStart(t *testing.T) {
	t.Parallel()
	h := serve(t, 42, leaves(3))
	begun := 0
	for delay := 4 * time.Millisecond; delay < time.Second && begun < 3; delay = delay * 3 / 2 {
		job := filepath.Join(t.TempDir(), "job")
		p := launch(t, "", append([]string{"crawl", h.base + "/"}, own(job)...)...)
		time.Sleep(delay)
		if p.ended() {
			break
		}
		p.kill()
		again := append([]string{"resume"}, own(job)...)
		if _, err := os.Stat(filepath.Join(job, "amble.db")); err != nil {
			// Resume says that there is nothing to go on with; the crawl can be begun.
			run(t, 2, again...)
			again = append([]string{"crawl", h.base + "/"}, own(job)...)
		} else {
			begun++
		}
		run(t, 0, again...)
		if d := cmp.Diff(h.urls(), once(t, captures(t, job))); d != "" {
			t.Errorf("killed after %v:\n%s", delay, d)
		}
	}
	t.Logf("%d kills after the job began", begun)
}

// FR-03 (f): two resumes from one snapshot both work.
func TestFR03TwoResumesFromOneSnapshot(t *testing.T) {
	t.Parallel()
	h := serve(t, 43, leaves(40))
	job := halfDone(t, h)
	copied := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(copied, os.DirFS(job)); err != nil {
		t.Fatal(err)
	}
	for _, j := range []string{job, copied} {
		run(t, 0, append([]string{"resume"}, own(j)...)...)
		if d := cmp.Diff(h.urls(), once(t, captures(t, j))); d != "" {
			t.Errorf("%s:\n%s", j, d)
		}
		checkJob(t, j)
	}
}

// FR-03 (c): a folder that may not be written is an error, with nothing fetched.
func TestFR03ReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a folder's mode does not keep anyone out on Windows")
	}
	h := serve(t, 44, leaves(40))
	job := halfDone(t, h)
	before, asked := contents(t, job), len(h.seen())
	// The child runs as an ordinary user, since nothing is read-only for root.
	open := func(path string, mode fs.FileMode) {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	var parents []string
	for p := filepath.Dir(job); p != filepath.Dir(os.TempDir()) && p != filepath.Dir(p) && strings.HasPrefix(p, os.TempDir()) && p != os.TempDir(); p = filepath.Dir(p) {
		parents = append(parents, p)
	}
	for _, p := range parents {
		open(p, 0o755)
	}
	err := filepath.WalkDir(job, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			open(path, 0o555)
		} else if err == nil {
			open(path, 0o444)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(job, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return os.Chmod(path, 0o755)
			}
			return err
		})
	})
	fresh := filepath.Join(filepath.Dir(job), "fresh")
	open(filepath.Dir(job), 0o555)
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(job), 0o755) })
	for _, args := range [][]string{
		append([]string{"resume"}, own(job)...),
		append([]string{"crawl", h.base + "/"}, own(fresh)...),
	} {
		p := launchAsUser(t, args...)
		if code := p.wait(); code != 1 && code != 2 {
			t.Errorf("amble %s: exit code %d\n%s", args[0], code, head(p.stderr.String()))
		}
		if said := p.stderr.String(); !strings.Contains(said, filepath.Base(filepath.Dir(job))) || strings.Contains(said, "goroutine ") {
			t.Errorf("amble %s says %q", args[0], head(said))
		}
	}
	if names := changed(before, contents(t, job)); len(names) > 0 {
		t.Errorf("changed or gone: %q", names)
	}
	if n := len(h.seen()); n != asked {
		t.Errorf("%d requests", n-asked)
	}
}
