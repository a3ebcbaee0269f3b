package main

import (
	"errors"
	"io/fs"

	"amble/frontier"
	"amble/scheduler"
	"amble/storage"
)

// archiveEnd is how far the archive of the job is committed, and whether a crawl is running. The archive can be read
// without the database that knows that: where it is damaged or missing, a warning is given and end is nil, which is the
// last whole capture.
func (c *cli) archiveEnd() (end *storage.Ends, live bool, err error) {
	status, live, err := scheduler.ReadStatus(c.job)
	if err == nil {
		return &status.Archive, live, nil
	}
	if live || errors.Is(err, scheduler.ErrJobLocked) || errors.Is(err, frontier.ErrNewer) || errors.Is(err, fs.ErrPermission) || !hasCaptures(c.job) {
		return nil, live, err
	}
	c.notef("%s", printable(err.Error()))
	c.notef("going on without it: what the archive in %s holds, to its last whole capture", c.job)
	return nil, false, nil
}

// hasCaptures tells whether there are segments to read.
func hasCaptures(job string) bool {
	r, err := storage.OpenReader(job, nil)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }() // only read
	_, total := r.Bytes()
	return total > 0
}
