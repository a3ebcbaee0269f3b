package storage

import (
	"errors"
	"fmt"
	"io"
)

// Check reads every record of the job in jobDir as far as end: the checksum of each gzip member, the headers, and what
// belongs to one capture; segments are numbered without gaps. It returns what is wrong, at most one fault a segment, since behind a fault nothing is certain.
// captures counts those that are whole.
func Check(jobDir string, end Ends) (captures int64, faults []error) {
	r, err := OpenReader(jobDir, &end)
	if err != nil {
		return 0, []error{err}
	}
	defer r.Close()
	next := uint32(0)
	for _, seg := range r.list {
		for ; next < seg.serial; next++ {
			faults = append(faults, fmt.Errorf("%w: segment %05d is missing", ErrDamaged, next))
		}
		next = seg.serial + 1
		n, err := checkSegment(r, seg)
		captures += n
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", seg.name, err))
		}
	}
	return captures, faults
}

func checkSegment(r *Reader, seg segmentFile) (captures int64, err error) {
	f, err := openSegment(r.dir, seg.name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if st.Size() < seg.size {
		return 0, fmt.Errorf("%w: it has %d bytes where %d were committed", ErrDamaged, st.Size(), seg.size)
	}
	z := r.readers.get(nil, 0)
	defer r.readers.put(z)
	_, from, err := readWarcinfo(z, f, seg.size)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var s scanner
	s.reset(f, seg.name, seg.serial, from, seg.size)
	for {
		switch _, err := s.next(); err {
		case nil:
			captures++
		case io.EOF:
			return captures, nil
		default:
			return captures, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
}
