package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// MaxHeaderBytes is the longest record header that is read.
const MaxHeaderBytes = 1 << 20

// SyntaxError says what is wrong with a file, and where.
type SyntaxError struct {
	// Offset, in the file, is where the record or its gzip member begins.
	Offset int64
	// Msg says what is wrong.
	Msg string
	// Err is the cause, if there is one: io.ErrUnexpectedEOF where the file is cut.
	Err error
}

func (e *SyntaxError) Error() string {
	s := "WARC record at offset " + strconv.FormatInt(e.Offset, 10) + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Field is a line of a record header.
type Field struct {
	Name, Value string
}

// Record is one record that is read. It is an io.Reader of its block, until the next call of the Reader's methods.
type Record struct {
	// Offset, in the file, is where the record begins, or the gzip member that holds it.
	Offset int64
	// Version is what follows "WARC/": "1.1".
	Version string
	// Fields are the header's, in order.
	Fields []Field
	// Length is the length of the block.
	Length int64

	r    *Reader
	left int64
}

// Get is the first value of a field; names are matched without regard to case.
func (rec *Record) Get(name string) string {
	for i := range rec.Fields {
		if strings.EqualFold(rec.Fields[i].Name, name) {
			return rec.Fields[i].Value
		}
	}
	return ""
}

// Type is WARC-Type, in lower case.
func (rec *Record) Type() string { return strings.ToLower(rec.Get("WARC-Type")) }

// TargetURI is WARC-Target-URI without the angle brackets that files of version 1.0 may have.
func (rec *Record) TargetURI() string {
	u := rec.Get("WARC-Target-URI")
	if len(u) > 1 && u[0] == '<' && u[len(u)-1] == '>' {
		return u[1 : len(u)-1]
	}
	return u
}

// Read reads from the block. A block that the file does not hold whole ends in a *SyntaxError.
func (rec *Record) Read(p []byte) (int, error) {
	if rec.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > rec.left {
		p = p[:rec.left]
	}
	n, err := rec.r.text.Read(p)
	rec.left -= int64(n)
	if err != nil {
		if rec.left == 0 && err == io.EOF {
			return n, nil
		}
		return n, rec.r.fail(rec.Offset, fmt.Sprintf("its block ends %d bytes early", rec.left), err)
	}
	return n, nil
}

// Reader reads the records of a file in order, compressed or not, as the first bytes say. It takes what other writers
// are known to do: several records in one gzip member, LF for CRLF, folded lines, versions before 1.1.
type Reader struct {
	// Strict demands what Amble itself writes: one record in a gzip member, CRLF, exactly two line ends behind a block.
	Strict bool

	src     counter
	file    *bufio.Reader
	gz      *gzip.Reader
	inner   *bufio.Reader // reads gz
	text    *bufio.Reader // file or inner
	member  bool          // a gzip member is open
	begin   int64         // where the record or member begins
	rec     *Record
	scratch []byte
	err     error
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader reads from r, whose first byte has the offset base in its file.
func NewReader(r io.Reader, base int64) *Reader {
	z := &Reader{}
	z.Reset(r, base)
	return z
}

// Reset is NewReader with the memory of z; Strict stays.
func (z *Reader) Reset(r io.Reader, base int64) {
	z.src = counter{r: r, n: base}
	if z.file == nil {
		z.file = bufio.NewReaderSize(&z.src, 16<<10)
	} else {
		z.file.Reset(&z.src)
	}
	z.text, z.member, z.rec, z.err = nil, false, nil, nil
	z.begin = base
}

// Offset, in the file, is where what was read ends. After Finish it is the end of the record.
func (z *Reader) Offset() int64 { return z.src.n - int64(z.file.Buffered()) }

func (z *Reader) fail(offset int64, msg string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	var se *SyntaxError
	if errors.As(err, &se) {
		z.err = err
		return err
	}
	z.err = &SyntaxError{Offset: offset, Msg: msg, Err: err}
	return z.err
}

// Next gives the next record; io.EOF is the clean end of the file. After another error the Reader is at its end.
func (z *Reader) Next() (*Record, error) {
	if err := z.Finish(); err != nil {
		return nil, err
	}
	if err := z.start(); err != nil {
		return nil, err
	}
	rec, err := z.header()
	if err != nil {
		return nil, err
	}
	z.rec = rec
	return rec, nil
}

// start opens the gzip member, or finds the place in it or in the plain file, where a record begins.
func (z *Reader) start() error {
	if z.member {
		return nil
	}
	z.begin = z.Offset()
	magic, err := z.file.Peek(2)
	if len(magic) == 0 {
		if err == io.EOF {
			z.err = io.EOF
			return io.EOF
		}
		return z.fail(z.begin, "cannot be read", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z.text = z.file
		return nil
	}
	if z.gz == nil {
		z.gz = new(gzip.Reader)
	}
	if err := z.gz.Reset(z.file); err != nil {
		return z.fail(z.begin, "bad gzip member", err)
	}
	z.gz.Multistream(false)
	if z.inner == nil {
		z.inner = bufio.NewReaderSize(z.gz, 8<<10)
	} else {
		z.inner.Reset(z.gz)
	}
	z.text, z.member = z.inner, true
	return nil
}

func (z *Reader) header() (*Record, error) {
	rec := &Record{Offset: z.begin, r: z, Length: -1}
	left := MaxHeaderBytes
	line, err := z.line(&left)
	if err != nil {
		return nil, err
	}
	version, ok := bytes.CutPrefix(line, []byte("WARC/"))
	if !ok || len(version) == 0 || len(version) > 8 {
		return nil, z.fail(z.begin, fmt.Sprintf("does not begin with a version line, but with %.40q", line), nil)
	}
	rec.Version = string(version)
	rec.Fields = make([]Field, 0, 14)
	for {
		line, err := z.line(&left)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if z.Strict || len(rec.Fields) == 0 {
				return nil, z.fail(z.begin, "has a folded header line", nil)
			}
			f := &rec.Fields[len(rec.Fields)-1]
			f.Value = strings.TrimSpace(f.Value + " " + string(bytes.TrimSpace(line)))
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 {
			return nil, z.fail(z.begin, fmt.Sprintf("has a header line without a name: %.40q", line), nil)
		}
		rec.Fields = append(rec.Fields, Field{string(bytes.TrimSpace(name)), string(bytes.TrimSpace(value))})
	}
	length := rec.Get("Content-Length")
	n, err := strconv.ParseUint(length, 10, 63)
	if err != nil {
		return nil, z.fail(z.begin, fmt.Sprintf("has no usable Content-Length: %.40q", length), nil)
	}
	rec.Length, rec.left = int64(n), int64(n)
	return rec, nil
}

// line reads one line of the header without its end. It is valid until the next call.
func (z *Reader) line(left *int) ([]byte, error) {
	z.scratch = z.scratch[:0]
	for {
		part, err := z.text.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return nil, z.fail(z.begin, fmt.Sprintf("its header is longer than %d bytes", MaxHeaderBytes), nil)
		}
		if err == nil && len(z.scratch) == 0 {
			return z.trimEnd(part)
		}
		z.scratch = append(z.scratch, part...)
		if err == nil {
			return z.trimEnd(z.scratch)
		}
		if err != bufio.ErrBufferFull {
			return nil, z.fail(z.begin, "its header is cut", err)
		}
	}
}

func (z *Reader) trimEnd(line []byte) ([]byte, error) {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1], nil
	}
	if z.Strict {
		return nil, z.fail(z.begin, "has a header line that ends in LF alone", nil)
	}
	return line, nil
}

// Finish reads the current record to its end, with the checksum of the gzip member. Next calls it.
func (z *Reader) Finish() error {
	if z.err != nil {
		return z.err
	}
	rec := z.rec
	if rec == nil {
		return nil
	}
	z.rec = nil
	for rec.left > 0 {
		n, err := z.text.Discard(int(min(rec.left, 1<<30)))
		rec.left -= int64(n)
		if err != nil {
			return z.fail(rec.Offset, fmt.Sprintf("its block ends %d bytes early", rec.left), err)
		}
	}
	if z.Strict {
		return z.endStrict(rec.Offset)
	}
	for {
		c, err := z.text.ReadByte()
		if err == io.EOF {
			z.member = false
			return nil
		}
		if err != nil {
			return z.fail(rec.Offset, "its end cannot be read", err)
		}
		if c != '\r' && c != '\n' {
			if err := z.text.UnreadByte(); err != nil {
				return z.fail(rec.Offset, "its end cannot be read", err)
			}
			// Another record in the same member; a plain file's is found by Next.
			return nil
		}
	}
}

func (z *Reader) endStrict(offset int64) error {
	var end [len(Trailer)]byte
	if _, err := io.ReadFull(z.text, end[:]); err != nil {
		return z.fail(offset, "its end is cut", err)
	}
	if string(end[:]) != Trailer {
		return z.fail(offset, fmt.Sprintf("its block is followed by %q", end[:]), nil)
	}
	if !z.member {
		return nil
	}
	switch _, err := z.text.ReadByte(); err {
	case io.EOF:
		z.member = false
		return nil
	case nil:
		return z.fail(offset, "its gzip member holds more than the record", nil)
	default:
		return z.fail(offset, "its gzip member is broken", err)
	}
}
