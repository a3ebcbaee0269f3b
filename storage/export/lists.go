package export

import (
	"context"
	"io"

	"amble/storage"
)

// urlsFormat writes sorted URLs, a line each.
type urlsFormat struct {
	out    *output
	sorter *sorter
	stats  *Stats
}

func (u *urlsFormat) capture(_ *storage.Reader, e *storage.Entry) (bool, error) {
	return false, u.sorter.add(e.URL)
}

func (u *urlsFormat) finish(ctx context.Context) error {
	return u.sorter.each(func(url string) error {
		u.stats.Captures++
		if u.stats.Captures%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return writeLine(u.out, url)
	})
}

func (u *urlsFormat) close() { u.sorter.close() }

// seedsFormat writes the seeds of captures, a line each.
type seedsFormat struct {
	out  *output
	seen map[string]struct{}
}

func (s *seedsFormat) capture(r *storage.Reader, e *storage.Entry) (bool, error) {
	m, err := r.Meta(e)
	if err != nil || m.Seed == "" {
		return false, err
	}
	if _, ok := s.seen[m.Seed]; ok {
		return false, nil
	}
	s.seen[m.Seed] = struct{}{}
	return true, writeLine(s.out, m.Seed)
}

func (s *seedsFormat) finish(context.Context) error { return nil }

func (s *seedsFormat) close() {}

func writeLine(o *output, s string) error {
	if err := o.begin(int64(len(s)) + 1); err != nil {
		return err
	}
	_, err := io.WriteString(o, s+"\n")
	return err
}
