package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DirName is the folder of a job that holds its segments.
const DirName = "warc"

const (
	segmentSuffix = ".warc.gz"
	openSuffix    = ".open"
	indexSuffix   = ".idx"

	timeDigits = 17
)

// segmentName puts a segment's name together, without the suffix of an open one.
func segmentName(prefix string, begun time.Time, serial uint32, machine string) string {
	t := begun.UTC().Format("20060102150405.000")
	return fmt.Sprintf("%s-%s-%05d-%s%s", prefix, t[:14]+t[15:], serial, machine, segmentSuffix)
}

// parseSegmentName takes the serial from a segment's name; machine and prefix may hold hyphens.
func parseSegmentName(name string) (serial uint32, ok bool) {
	rest, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	parts := strings.Split(rest, "-")
	for i := 1; i+2 < len(parts); i++ {
		if len(parts[i]) != timeDigits || !allDigits(parts[i]) || len(parts[i+1]) < 5 || !allDigits(parts[i+1]) {
			continue
		}
		n, err := strconv.ParseUint(parts[i+1], 10, 32)
		return uint32(n), err == nil
	}
	return 0, false
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// machineName is the host name as a segment's name can carry it.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return fileNamePart(name, "localhost")
}

func fileNamePart(s, otherwise string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '_'
	}, s)
	s = strings.TrimLeft(s[:min(len(s), 64)], ".-")
	if s == "" {
		return otherwise
	}
	return s
}

// segmentFile is a segment in a folder.
type segmentFile struct {
	name   string // without ".open"
	serial uint32
	open   bool // the name on disk ends in ".open"
	size   int64
}

func (s segmentFile) path(dir string) string {
	p := filepath.Join(dir, s.name)
	if s.open {
		p += openSuffix
	}
	return p
}

func indexPath(dir, segment string) string {
	return filepath.Join(dir, segment+indexSuffix)
}

// listSegments lists the segments in dir by serial. A missing folder has none.
func listSegments(dir string) ([]segmentFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list archive: %w", err)
	}
	var list []segmentFile
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), openSuffix)
		serial, ok := parseSegmentName(name)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			// Renamed since the folder was read: its other name has the same meaning.
			open = false
			info, err = os.Stat(filepath.Join(dir, name))
		}
		if err != nil {
			return nil, fmt.Errorf("list archive: %w", err)
		}
		list = append(list, segmentFile{name: name, serial: serial, open: open, size: info.Size()})
	}
	slices.SortFunc(list, func(a, b segmentFile) int {
		if a.serial != b.serial {
			return int(int64(a.serial) - int64(b.serial))
		}
		return strings.Compare(a.name, b.name)
	})
	for i := 1; i < len(list); i++ {
		if list[i].serial != list[i-1].serial {
			continue
		}
		if list[i].name == list[i-1].name && list[i].open != list[i-1].open {
			return nil, fmt.Errorf("archive %s: both %s and %s%s exist; move one of them away", dir, list[i].name, list[i].name, openSuffix)
		}
		return nil, fmt.Errorf("archive %s: %s and %s have the same serial; move the one that is not of this crawl away", dir, list[i-1].name, list[i].name)
	}
	return list, nil
}

// openSegment opens a segment under whichever of its names it has at this moment.
func openSegment(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	for range 2 {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if f, err = os.Open(path + openSuffix); errors.Is(err, fs.ErrNotExist) {
			f, err = os.Open(path)
		}
	}
	return f, err
}
