package body

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// codec undoes one content coding.
type codec interface {
	io.Reader
	reset(r io.Reader)
	// ahead is how many coded bytes have been read but not been used.
	ahead() int
	// release gives the codec back to its pool; it must not be used afterwards.
	release()
}

var (
	gzipCodecs    = sync.Pool{New: func() any { return &gzipCodec{in: newInput()} }}
	deflateCodecs = sync.Pool{New: func() any { return &deflateCodec{in: newInput()} }}
	brotliCodecs  = sync.Pool{New: func() any { return &brotliCodec{in: newInput()} }}
	zstdCodecs    = sync.Pool{New: func() any { return &zstdCodec{in: newInput()} }}
)

// inputBytes is the read-ahead of a codec.
const inputBytes = 8 << 10

func newInput() *bufio.Reader { return bufio.NewReaderSize(nothing{}, inputBytes) }

// nothing is what idle codecs read from, so that the pool keeps no body alive.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// gzipCodec reads the members of a gzip file (RFC 1952 section 2.2).
type gzipCodec struct {
	in    *bufio.Reader
	z     gzip.Reader
	state gzipState
}

type gzipState byte

const (
	gzipStart gzipState = iota
	gzipMember
	gzipPlain
	gzipEnd
)

func (c *gzipCodec) reset(r io.Reader) { c.in.Reset(r); c.state = gzipStart }
func (c *gzipCodec) ahead() int        { return c.in.Buffered() }
func (c *gzipCodec) release()          { c.in.Reset(nothing{}); gzipCodecs.Put(c) }

func (c *gzipCodec) Read(p []byte) (int, error) {
	for {
		switch c.state {
		case gzipStart:
			if err := c.start(); err != nil {
				return 0, err
			}
		case gzipMember:
			n, err := c.z.Read(p)
			if err == io.EOF {
				err = c.next()
			}
			if n > 0 || err != nil {
				return n, err
			}
		case gzipPlain:
			return c.in.Read(p)
		case gzipEnd:
			return 0, io.EOF
		}
	}
}

// start looks at the first octets: a gzip member, nothing at all, or text that is only called gzip.
func (c *gzipCodec) start() error {
	head, err := c.in.Peek(64)
	switch {
	case len(head) == 0:
		return err
	case isGzip(head):
		return c.member()
	case isText(head):
		c.state = gzipPlain
		return nil
	}
	if len(head) < 64 && err != nil && err != io.EOF {
		return err
	}
	if len(head) < len(gzipMagic) {
		return noEOF(io.EOF)
	}
	return gzip.ErrHeader
}

func (c *gzipCodec) member() error {
	if err := c.z.Reset(c.in); err != nil {
		return noEOF(err)
	}
	c.z.Multistream(false)
	c.state = gzipMember
	return nil
}

// next begins another member. What follows the last one and is none is padding or garbage and is passed over, as gzip(1)
// and browsers do.
func (c *gzipCodec) next() error {
	head, err := c.in.Peek(len(gzipMagic))
	if isGzip(head) {
		return c.member()
	}
	if err != nil && err != io.EOF {
		return err
	}
	c.state = gzipEnd
	return nil
}

const gzipMagic = "\x1f\x8b\x08"

func isGzip(head []byte) bool {
	return len(head) >= len(gzipMagic) && string(head[:len(gzipMagic)]) == gzipMagic
}

// isText says that head holds no octet which the MIME Sniffing standard (section 3) calls a binary data byte. Only then is a
// body without the gzip magic taken as it is: coded octets must never pass for a page.
func isText(head []byte) bool {
	for _, b := range head {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\f' && b != '\r' && b != 0x1b {
			return false
		}
	}
	return true
}

// noEOF is for places where the input must not end.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// deflateCodec reads the zlib format (RFC 1950) that the name stands for and the bare format (RFC 1951) that some senders
// mean by it.
type deflateCodec struct {
	in   *bufio.Reader
	zlib io.ReadCloser
	raw  io.ReadCloser
	cur  io.Reader
}

func (c *deflateCodec) reset(r io.Reader) { c.in.Reset(r); c.cur = nil }
func (c *deflateCodec) ahead() int        { return c.in.Buffered() }
func (c *deflateCodec) release()          { c.in.Reset(nothing{}); deflateCodecs.Put(c) }

func (c *deflateCodec) Read(p []byte) (int, error) {
	if c.cur == nil {
		if err := c.start(); err != nil {
			return 0, err
		}
	}
	return c.cur.Read(p)
}

func (c *deflateCodec) start() error {
	head, err := c.in.Peek(2)
	if len(head) == 0 {
		return err
	}
	if len(head) == 2 && isZlib(head) {
		if c.zlib == nil {
			z, err := zlib.NewReader(c.in)
			if err != nil {
				return noEOF(err)
			}
			c.zlib = z
		} else if err := c.zlib.(zlib.Resetter).Reset(c.in, nil); err != nil {
			return noEOF(err)
		}
		c.cur = c.zlib
		return nil
	}
	if c.raw == nil {
		c.raw = flate.NewReader(c.in)
	} else if err := c.raw.(flate.Resetter).Reset(c.in, nil); err != nil {
		return noEOF(err)
	}
	c.cur = c.raw
	return nil
}

// isZlib checks the header of RFC 1950 section 2.2: method 8, a window of at most 32 KiB, no preset dictionary, check bits.
func isZlib(head []byte) bool {
	cmf, flg := head[0], head[1]
	return cmf&0x0f == 8 && cmf>>4 <= 7 && flg&0x20 == 0 && (uint(cmf)<<8|uint(flg))%31 == 0
}

// brotliCodec reads br (RFC 7932). The large-window extension stays off, so a window has at most 16 MiB.
type brotliCodec struct {
	in      *bufio.Reader
	z       *brotli.Reader
	started bool
}

func (c *brotliCodec) reset(r io.Reader) { c.in.Reset(r); c.started = false }
func (c *brotliCodec) ahead() int        { return c.in.Buffered() }
func (c *brotliCodec) release()          { c.in.Reset(nothing{}); brotliCodecs.Put(c) }

func (c *brotliCodec) Read(p []byte) (int, error) {
	if !c.started {
		if head, err := c.in.Peek(1); len(head) == 0 {
			return 0, err
		}
		if c.z == nil {
			c.z = brotli.NewReader(c.in)
		} else if err := c.z.Reset(c.in); err != nil {
			return 0, err
		}
		c.started = true
	}
	n, err := c.z.Read(p)
	if err != nil && err.Error() == brotliTrailing {
		err = io.EOF
	}
	return n, err
}

// brotliTrailing is what the library says of octets after the end of the stream, all of which has been given out by then.
// It exports no value to compare with.
const brotliTrailing = "brotli: excessive input"

// zstdCodec reads zstd frames (RFC 8878). RFC 9659 limits the window to 8 MiB for this coding.
type zstdCodec struct {
	in      *bufio.Reader
	z       *zstd.Decoder
	started bool
}

const zstdWindow = 8 << 20

func (c *zstdCodec) reset(r io.Reader) { c.in.Reset(r); c.started = false }
func (c *zstdCodec) ahead() int        { return c.in.Buffered() }

func (c *zstdCodec) release() {
	c.in.Reset(nothing{})
	if c.z != nil && c.z.Reset(nil) != nil {
		c.z = nil
	}
	zstdCodecs.Put(c)
}

func (c *zstdCodec) Read(p []byte) (int, error) {
	if !c.started {
		if head, err := c.in.Peek(1); len(head) == 0 {
			return 0, err
		}
		if c.z == nil {
			// With a concurrency of 1 the decoder starts no goroutine, so the pool may drop it unclosed.
			z, err := zstd.NewReader(c.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
			if err != nil {
				return 0, fmt.Errorf("zstd decoder: %w", err)
			}
			c.z = z
		} else if err := c.z.Reset(c.in); err != nil {
			return 0, err
		}
		c.started = true
	}
	return c.z.Read(p)
}
