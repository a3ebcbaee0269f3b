package export

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"amble/storage"
	"amble/storage/warc"
)

// warcFormat copies the gzip members of captures.
type warcFormat struct {
	out     *output
	opt     *Options
	file    *outFile // whose segments are known
	segment string   // whose warcinfo was last copied into file
	unzip   *gzip.Reader
}

func (w *warcFormat) capture(r *storage.Reader, e *storage.Entry) (bool, error) {
	if err := verifyRecords(r, e); err != nil {
		return false, err
	}
	w.out.header = w.warcinfo
	if err := w.out.begin(e.End() - e.Offset); err != nil {
		return false, err
	}
	if w.file != w.out.cur || w.segment != e.Segment {
		member, err := r.Warcinfo(e)
		if err != nil {
			return false, err
		}
		if err := w.copy(strings.NewReader(string(member))); err != nil {
			return false, err
		}
		w.file, w.segment = w.out.cur, e.Segment
	}
	members, err := r.Members(e)
	if err != nil {
		return false, err
	}
	defer func() { _ = members.Close() }() // only read
	return true, w.copy(members)
}

// verifyRecords reads the records of a capture, with their checksums.
func verifyRecords(r *storage.Reader, e *storage.Entry) error {
	rec, err := r.Record(e)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Payload.Close() }() // only read
	return verify(e, rec)
}

// warcinfo begins a file.
func (w *warcFormat) warcinfo() error {
	var id [1]warc.ID
	warc.NewIDs(id[:])
	name := "stdout.warc.gz"
	if path := w.out.cur.path; path != "" {
		name = filepath.Base(path)
	}
	member, err := storage.WarcinfoMember(id[0], name, time.Now(), w.opt.Info)
	if err != nil {
		return err
	}
	return w.copy(strings.NewReader(string(member)))
}

// copy writes members as they are, or inflated where the file's name asks for that.
func (w *warcFormat) copy(members io.Reader) error {
	if w.opt.toStdout() || strings.HasSuffix(w.opt.Output, ".gz") {
		_, err := io.Copy(w.out, members)
		return err
	}
	if w.unzip == nil {
		w.unzip = new(gzip.Reader)
	}
	if err := w.unzip.Reset(members); err != nil {
		return err
	}
	_, err := io.Copy(w.out, w.unzip)
	return err
}

func (w *warcFormat) finish(context.Context) error {
	w.out.header = w.warcinfo
	return nil
}

func (w *warcFormat) close() {}
