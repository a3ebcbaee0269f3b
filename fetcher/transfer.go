package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errTooLong: the body has more bytes than are taken.
var errTooLong = errors.New("body is over the size limit")

// bodyReader moves a body from a connection to dst, without its transfer coding.
type bodyReader struct {
	br   *bufio.Reader
	dst  io.Writer
	room int64 // bytes that may still be taken
	n    int64 // bytes taken
	// local is an error of dst.
	local error
}

// read takes the whole body. nil means that its framing says it is whole.
func (b *bodyReader) read(fr framing) error {
	switch {
	case fr.chunked:
		return b.chunks()
	case fr.length >= 0:
		return noEOF(b.take(fr.length))
	}
	if err := b.take(-1); err != io.EOF {
		return err
	}
	return nil
}

// take moves n bytes, or all up to the end of the connection when n is negative.
func (b *bodyReader) take(n int64) error {
	for n != 0 {
		if n > 0 && b.room == 0 {
			return errTooLong
		}
		if _, err := b.br.Peek(1); err != nil {
			return err
		}
		if b.room == 0 {
			return errTooLong
		}
		m := min(int64(b.br.Buffered()), b.room)
		if n > 0 {
			m = min(m, n)
			n -= m
		}
		p, err := b.br.Peek(int(m))
		if err != nil {
			return err
		}
		wrote, err := b.dst.Write(p)
		b.n += int64(wrote)
		b.room -= int64(wrote)
		if err != nil {
			b.local = err
			return err
		}
		if _, err := b.br.Discard(int(m)); err != nil {
			return err
		}
	}
	return nil
}

// noEOF makes the end of a connection inside a message an error that says so.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

const (
	// maxChunkLine bounds a chunk's size line with its extensions.
	maxChunkLine = 4 << 10
	// maxChunkWaste is how many bytes of framing beyond a plain sender's are borne in one body.
	maxChunkWaste = 64 << 10
)

// chunks takes a chunked body (RFC 9112 section 7.1). Trailer fields are read and dropped; a body
// whose last chunk has come is whole, whatever happens after it.
func (b *bodyReader) chunks() error {
	waste := 0
	for {
		line, err := b.line(maxChunkLine)
		if err != nil {
			return err
		}
		size, err := parseChunkSize(line)
		if err != nil {
			return err
		}
		if size == 0 {
			return b.trailer()
		}
		if waste += len(line) - 16; waste > maxChunkWaste {
			return protocolError("chunked body is mostly framing")
		}
		waste = max(waste-int(min(size, maxChunkWaste)), 0)
		if err := b.take(size); err != nil {
			return noEOF(err)
		}
		if line, err = b.line(maxChunkLine); err != nil {
			return err
		}
		if len(line) != 0 {
			return protocolError("chunk is longer than its size says")
		}
	}
}

// errTrailer: the connection is of no further use, but the body is whole.
var errTrailer = errors.New("chunked body without a whole trailer section")

func (b *bodyReader) trailer() error {
	for left := maxHeadBytes; left > 0; {
		line, err := b.line(left)
		if err != nil {
			return errTrailer
		}
		if len(line) == 0 {
			return nil
		}
		left -= len(line)
	}
	return errTrailer
}

// line reads up to a line's end, which it takes off; it is valid until the next read.
func (b *bodyReader) line(limit int) ([]byte, error) {
	line, err := b.br.ReadSlice('\n')
	if err == bufio.ErrBufferFull || len(line) > limit {
		return nil, protocolError("line in a chunked body is too long")
	}
	if err != nil {
		return nil, noEOF(err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// parseChunkSize reads the hexadecimal size before extensions and blanks.
func parseChunkSize(line []byte) (int64, error) {
	size := line
	if i := bytes.IndexByte(size, ';'); i >= 0 {
		size = size[:i]
	}
	size = bytes.TrimRight(size, " \t")
	var n int64
	for _, c := range size {
		d := int64(-1)
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int64(c|0x20-'a') + 10
		}
		if d < 0 || n > 1<<58 {
			n = -1
			break
		}
		n = n<<4 | d
	}
	if len(size) == 0 || n < 0 {
		return 0, protocolError(fmt.Sprintf("malformed chunk size %.40q", line))
	}
	return n, nil
}
