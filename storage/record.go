package storage

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"

	"amble/frontier/canon"
	"amble/storage/warc"
)

// readerPool keeps WARC readers, of some 100 KB each.
type readerPool struct{ pool sync.Pool }

func (p *readerPool) get(r io.Reader, base int64) *warc.Reader {
	z, ok := p.pool.Get().(*warc.Reader)
	if !ok {
		z = new(warc.Reader)
	}
	z.Strict = true
	z.Reset(r, base)
	return z
}

func (p *readerPool) put(z *warc.Reader) {
	z.Reset(nil, 0)
	p.pool.Put(z)
}

// readRecord reads the capture whose response lies at offset. closer, when not nil, is closed with the Payload, or at
// once when there is an error.
func readRecord(p *readerPool, f io.ReaderAt, closer io.Closer, offset, length int64) (_ *Record, err error) {
	defer func() {
		if err != nil && closer != nil {
			_ = closer.Close() // the error that stands is the reading's
		}
	}()
	rec := &Record{}
	id, z, err := rec.readResponse(p, f, offset, length)
	if err != nil {
		return nil, err
	}
	payload := rec.Payload.(*payload)
	payload.pool, payload.z, payload.closer = p, z, closer
	if err := rec.readRest(p, f, id, offset+length); err != nil {
		payload.closer = nil
		_ = payload.Close()
		return nil, err
	}
	return rec, nil
}

// readResponse reads as far as the payload, which the reader that it gives goes on with. Without an error the caller
// puts that back.
func (rec *Record) readResponse(p *readerPool, f io.ReaderAt, offset, length int64) (id warc.ID, _ *warc.Reader, err error) {
	// Not a named result: an early return would set it to nil before the deferred put.
	z := p.get(io.NewSectionReader(f, offset, length), offset)
	defer func() {
		if err != nil {
			p.put(z)
		}
	}()
	w, err := z.Next()
	if err == io.EOF {
		err = &warc.SyntaxError{Offset: offset, Msg: "is not there", Err: io.ErrUnexpectedEOF}
	}
	if err != nil {
		return id, nil, err
	}
	bad := func(msg string) (warc.ID, *warc.Reader, error) {
		return warc.ID{}, nil, &warc.SyntaxError{Offset: offset, Msg: msg}
	}
	if t := w.Type(); t != warc.TypeResponse {
		return bad(fmt.Sprintf("is %q, not a response", t))
	}
	id, ok := warc.ParseID(w.Get("WARC-Record-ID"))
	if !ok {
		return bad("has no UUID for an id")
	}
	if rec.URL, err = canon.Parse(w.TargetURI()); err != nil {
		return bad("has no usable WARC-Target-URI: " + err.Error())
	}
	if rec.Start, err = warc.ParseDate(w.Get("WARC-Date")); err != nil {
		return bad("has no usable WARC-Date: " + err.Error())
	}
	rec.Meta.ID = id.String()
	rec.PayloadDigest, _ = warc.ParseDigest(w.Get("WARC-Payload-Digest"))
	rec.Truncated = w.Get("WARC-Truncated")
	if ip, err := netip.ParseAddr(w.Get("WARC-IP-Address")); err == nil {
		rec.Addr = ip
	}
	br := bufio.NewReaderSize(w, 4<<10)
	if rec.Head, err = readHead(br, offset); err != nil {
		return id, nil, err
	}
	rec.Status = headStatus(rec.Head)
	rec.PayloadBytes = w.Length - int64(len(rec.Head))
	rec.Payload = &payload{br: br, left: rec.PayloadBytes}
	return id, z, nil
}

// readHead reads a response head through its empty line.
func readHead(br *bufio.Reader, offset int64) ([]byte, error) {
	var head []byte
	for {
		from := len(head)
		for {
			part, err := br.ReadSlice('\n')
			head = append(head, part...)
			if len(head) > warc.MaxHeaderBytes {
				return nil, &warc.SyntaxError{Offset: offset, Msg: "its response head is too long"}
			}
			if err == nil {
				break
			}
			if err != bufio.ErrBufferFull {
				return nil, &warc.SyntaxError{Offset: offset, Msg: "its response head is cut", Err: err}
			}
		}
		if n := headEnd(head[from:]); n > 0 && len(head[from:]) <= 2 {
			return head, nil
		}
	}
}

// readRest reads the records behind the response: the request's head and the metadata.
func (rec *Record) readRest(p *readerPool, f io.ReaderAt, id warc.ID, from int64) error {
	// The end is not known; no more is read than the two records.
	z := p.get(io.NewSectionReader(f, from, 1<<62), from)
	defer p.put(z)
	for {
		w, err := z.Next()
		if err == io.EOF {
			return &warc.SyntaxError{Offset: from, Msg: "the metadata record is not there", Err: io.ErrUnexpectedEOF}
		}
		if err != nil {
			return err
		}
		if to, _ := warc.ParseID(w.Get("WARC-Concurrent-To")); to != id {
			return &warc.SyntaxError{Offset: w.Offset, Msg: "does not belong to the capture before it"}
		}
		block, err := readBlock(w)
		if err != nil {
			return err
		}
		switch w.Type() {
		case warc.TypeRequest:
			rec.RequestHead = block
		case warc.TypeMetadata:
			parseMeta(block, rec)
			return z.Finish() // its checksum too
		default:
			return &warc.SyntaxError{Offset: w.Offset, Msg: fmt.Sprintf("is %q, not the metadata", w.Type())}
		}
	}
}

// payload reads the rest of a response's block.
type payload struct {
	br     *bufio.Reader
	left   int64
	pool   *readerPool
	z      *warc.Reader
	closer io.Closer
}

func (b *payload) Read(p []byte) (int, error) {
	if b.z == nil {
		return 0, io.ErrClosedPipe
	}
	n, err := b.br.Read(p)
	b.left -= int64(n)
	if err == io.EOF && b.left == 0 {
		// The record's end and its checksum are read too, before the body counts as whole.
		if err := b.z.Finish(); err != nil {
			return n, err
		}
	}
	return n, err
}

func (b *payload) Close() error {
	if b.z == nil {
		return nil
	}
	b.pool.put(b.z)
	b.z = nil
	if b.closer == nil {
		return nil
	}
	return b.closer.Close()
}

// Field gives the values of a field of the response head, in order; names are matched without regard to case.
func (rec *Record) Field(name string) []string {
	var values []string
	for line := range bytes.Lines(rec.Head) {
		n, v, ok := bytes.Cut(line, []byte(":"))
		if ok && len(n) == len(name) && strings.EqualFold(string(n), name) {
			values = append(values, string(bytes.TrimSpace(v)))
		}
	}
	return values
}
