package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amble/frontier"
	"amble/storage"
)

func TestJobOfAnotherProcess(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": html()})
	dir := filepath.Join(t.TempDir(), "job")
	c, err := Start(dir, ModeNew, ownConfig(), seedsOf(t, s.URL+"/"), nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{ModeResume, ModeOverwrite} {
		_, err := Start(dir, mode, ownConfig(), nil, nil, "test")
		if !errors.Is(err, ErrJobLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{ModeNew, ModeOverwrite, ModeResume} {
		if _, err := Start(dir, mode, ownConfig(), nil, nil, "test"); !errors.Is(err, ErrJobForeign) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "thesis.txt")); err != nil {
		t.Error(err)
	}
	if _, err := Start(filepath.Join(t.TempDir(), "none"), ModeResume, ownConfig(), nil, nil, "test"); !errors.Is(err, ErrJobMissing) {
		t.Error(err)
	}
}

// A database that went missing or is older than the archive never costs a capture.
func TestArchiveIsNotRemovedUnderItsDatabase(t *testing.T) {
	pages := map[string]http.HandlerFunc{}
	var links []string
	for i := range 5000 {
		l := fmt.Sprintf("/p%d", i)
		links = append(links, l)
		pages[l] = text("leaf")
	}
	pages["/"] = html(links...)
	s := newSite(t, pages)
	dir := filepath.Join(t.TempDir(), "job")
	cfg := ownConfig()
	cfg.Archive.SegmentBytes = 256 << 10
	cfg.Limits.Pages = 10
	run(t, dir, ModeNew, cfg, seedsOf(t, s.URL+"/"))
	db := filepath.Join(dir, fileDB)
	old, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Limits.Pages = 0
	run(t, dir, ModeResume, cfg, nil)
	whole := treeOf(t, dir)
	if err := os.WriteFile(db, old, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(dir, ModeResume, cfg, nil, nil, "test"); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("an older database: %v", err)
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{ModeNew, ModeResume, ModeOverwrite} {
		if _, err := Start(dir, mode, cfg, seedsOf(t, s.URL+"/"), nil, "test"); !errors.Is(err, ErrJobForeign) {
			t.Errorf("mode %d without a database: %v", mode, err)
		}
	}
	delete(whole, fileDB)
	if left := treeOf(t, dir); !maps.Equal(whole, left) {
		t.Errorf("%d files with other sizes than %d", len(left), len(whole))
	}
}

// --overwrite takes away what the job wrote, and nothing else.
func TestOverwriteLeavesTheRest(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": html()})
	dir := filepath.Join(t.TempDir(), "job")
	run(t, dir, ModeNew, ownConfig(), seedsOf(t, s.URL+"/"))
	mine := []string{filepath.Join(dir, "notes.txt"), filepath.Join(dir, dirArchive, "mine.txt")}
	for _, f := range mine {
		if err := os.WriteFile(f, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if st := run(t, dir, ModeOverwrite, ownConfig(), seedsOf(t, s.URL+"/")); st.Pages != 1 || st.Requests != 2 {
		t.Errorf("status %+v", st)
	}
	for _, f := range mine {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	db := filepath.Join(dir, fileDB)
	if err := os.WriteFile(db, []byte("SQLite format 3\x00 and more of it, for it is another program's file altogether"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	if _, err := Start(dir, ModeOverwrite, ownConfig(), nil, nil, "test"); !errors.Is(err, frontier.ErrForeign) {
		t.Errorf("a foreign database: %v", err)
	}
	if !maps.Equal(before, treeOf(t, dir)) {
		t.Error("something was changed")
	}
}

// treeOf gives the sizes of the files that hold a job's work.
func treeOf(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sizes[strings.TrimPrefix(path, dir+string(filepath.Separator))] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}
