package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"amble/storage"
)

// maxLinks is how many symbolic links in a row are followed, as Linux does it.
const maxLinks = 40

// followed is path with its folder's and its own symbolic links resolved; the file itself need not be there.
func followed(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if errors.Is(err, fs.ErrNotExist) {
			return "", &OptionError{"--output", fmt.Sprintf("%s leads to %s, whose folder is not there; make it, or name another file", path, at)}
		}
		if err != nil {
			return "", err
		}
		at = filepath.Join(dir, filepath.Base(at))
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", &OptionError{"--output", fmt.Sprintf("%s leads through more than %d symbolic links; name the file itself", path, maxLinks)}
}

// spoolDir is the folder of a job for bodies on their way.
const spoolDir = "spool"

// isOwn tells whether a name in a job's folder is that of a file or folder of the crawl's own. Case does not count, as on
// some file systems.
func isOwn(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "status.json", "control.addr", "amble.yaml", storage.DirName, spoolDir:
		return true
	}
	return strings.HasPrefix(name, "amble.db") || strings.HasPrefix(name, "crawl") && strings.HasSuffix(name, ".jsonl")
}

// refuseOwn refuses to write over what the crawl in job needs: an export would replace a database or a segment for good.
// dest is path with its links resolved.
func refuseOwn(job, path, dest string) error {
	refused := &OptionError{"--output", fmt.Sprintf("%s would lie among the crawl's own files in %s; name a file elsewhere", path, job)}
	folder, err := os.Stat(job)
	if err != nil {
		return nil // no job: reading it says so
	}
	dir := filepath.Dir(dest)
	if here, err := os.Stat(dir); err == nil && os.SameFile(here, folder) && isOwn(filepath.Base(dest)) {
		return refused
	}
	for _, name := range []string{storage.DirName, spoolDir} {
		inner, err := os.Stat(filepath.Join(job, name))
		if err != nil {
			continue
		}
		for at := dir; ; at = filepath.Dir(at) {
			if here, err := os.Stat(at); err == nil && os.SameFile(here, inner) {
				return refused
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	// A file of the job may itself be a link to where dest lies.
	there, err := os.Stat(dest)
	if err != nil {
		return nil
	}
	names, err := os.ReadDir(job)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !isOwn(n.Name()) {
			continue
		}
		if own, err := os.Stat(filepath.Join(job, n.Name())); err == nil && os.SameFile(own, there) {
			return refused
		}
	}
	return nil
}
