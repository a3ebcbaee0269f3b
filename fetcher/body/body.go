package body

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Limits bound what decoding may produce.
type Limits struct {
	// MaxBytes is the most decoded bytes that are given out; 0 or less gives out none.
	MaxBytes int64
	// MaxRatio is the most decoded bytes per coded byte, checked beyond 1 MiB decoded; 0 means 200.
	MaxRatio int
}

// Errors of Read. What was given out before stays valid.
var (
	ErrTooLong     = errors.New("decoded body over the size limit")
	ErrRatio       = errors.New("decoded body over the ratio limit")
	ErrUndecodable = errors.New("broken content coding")
)

const (
	defaultRatio = 200
	// ratioFrom is how much may be decoded before the ratio counts: small pages of one repeated line are honest.
	ratioFrom = 1 << 20
	// firstBytes is what ReadAll allocates at least.
	firstBytes = 4 << 10
	// maxCodings bounds a stack of codings; two are seen in the wild, and each costs a decoder.
	maxCodings = 4
)

// NewReader decodes content codings (gzip, x-gzip, deflate in both its forms, br, zstd, identity;
// the Content-Encoding field values in order of application, RFC 9110 section 8.4). An unknown coding is ErrUndecodable,
// and so are more than four of them.
//
// A broken or cut body gives out what could be decoded, then an error that wraps ErrUndecodable and its cause, for a cut
// body io.ErrUnexpectedEOF. An error of r itself is passed on as it is. The reader is for one goroutine.
// Close gives pooled decoders back; it does not close r.
func NewReader(r io.Reader, contentEncoding []string, lim Limits) (io.ReadCloser, error) {
	d := new(decoder)
	if err := d.open(r, contentEncoding, lim); err != nil {
		return nil, err
	}
	return d, nil
}

// ReadAll decodes the whole into dst[:0] (grown as needed) and returns it, cut where a limit stopped it, with that error.
// A dst of the usual size of a page makes a call that allocates next to nothing.
func ReadAll(dst []byte, r io.Reader, contentEncoding []string, lim Limits) ([]byte, error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	dst = dst[:0]
	if err := d.open(r, contentEncoding, lim); err != nil {
		return dst, err
	}
	defer d.Close()
	for {
		var n int
		var err error
		if len(dst) < cap(dst) {
			n, err = d.Read(dst[len(dst):cap(dst)])
			dst = dst[:len(dst)+n]
		} else if n, err = d.Read(d.probe[:]); n > 0 {
			// There is more, so growing is not in vain. It stops at the limit: a bomb must not reserve twice as much.
			dst = slices.Grow(dst, int(max(firstBytes, min(int64(len(dst)), lim.MaxBytes-int64(len(dst))))))
			dst = append(dst, d.probe[0])
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// decoders spares ReadAll the allocation of its decoder, which nobody else sees.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder is a chain of codecs, the first reading the body as received.
type decoder struct {
	src    source
	chain  [maxCodings]codec
	n      int
	out    io.Reader
	lim    Limits
	given  int64
	err    error
	closed bool
	// probe is where a single byte goes to see whether there is more.
	probe [1]byte
}

func (d *decoder) open(r io.Reader, contentEncoding []string, lim Limits) error {
	if lim.MaxRatio <= 0 {
		lim.MaxRatio = defaultRatio
	}
	*d = decoder{src: source{r: r}, lim: lim}
	d.out = &d.src
	// The coding applied last is undone first.
	for i := len(contentEncoding) - 1; i >= 0; i-- {
		for rest := contentEncoding[i]; rest != ""; {
			cut := strings.LastIndexByte(rest, ',')
			name := strings.Trim(rest[cut+1:], " \t")
			rest = rest[:max(cut, 0)]
			if err := d.push(name); err != nil {
				d.Close()
				return err
			}
		}
	}
	return nil
}

func (d *decoder) push(name string) error {
	var pool *sync.Pool
	switch {
	case name == "" || strings.EqualFold(name, "identity"):
		return nil
	case strings.EqualFold(name, "gzip") || strings.EqualFold(name, "x-gzip"):
		pool = &gzipCodecs
	case strings.EqualFold(name, "deflate"):
		pool = &deflateCodecs
	case strings.EqualFold(name, "br"):
		pool = &brotliCodecs
	case strings.EqualFold(name, "zstd"):
		pool = &zstdCodecs
	default:
		return fmt.Errorf("content coding %.40q: %w", name, ErrUndecodable)
	}
	if d.n == maxCodings {
		return fmt.Errorf("more than %d content codings: %w", maxCodings, ErrUndecodable)
	}
	if d.n > 0 {
		d.out = &inner{d: d, r: d.out}
	}
	c := pool.Get().(codec)
	c.reset(d.out)
	d.chain[d.n] = c
	d.n++
	d.out = c
	return nil
}

// Read gives out decoded bytes until a limit, an error or the end.
func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	left := d.lim.MaxBytes - d.given
	if left <= 0 {
		// Only another byte tells a body of exactly the limit from a longer one.
		n, err := d.out.Read(d.probe[:])
		switch {
		case n > 0:
			d.err = ErrTooLong
		case err != nil:
			d.err = d.cause(err)
		}
		return 0, d.err
	}
	// A large p would let the ratio be overrun by as much before it is looked at.
	n, err := d.out.Read(p[:min(int64(len(p)), left, 64<<10)])
	d.given += int64(n)
	switch {
	case d.overRatio(d.given):
		d.err = ErrRatio
	case err != nil:
		d.err = d.cause(err)
	}
	return n, d.err
}

func (d *decoder) overRatio(decoded int64) bool {
	return d.n > 0 && decoded > ratioFrom && decoded/int64(d.lim.MaxRatio) > d.coded()
}

// coded is how many bytes as received the decoding has used: what is only read ahead must not raise the allowance.
func (d *decoder) coded() int64 {
	return d.src.n - int64(d.chain[0].ahead())
}

// cause tells an error of the source, which is no fault of the coding, from one of the coding.
func (d *decoder) cause(err error) error {
	switch {
	case err == io.EOF:
		return io.EOF
	case d.src.err != nil:
		return d.src.err
	case errors.Is(err, ErrRatio) || errors.Is(err, ErrTooLong) || errors.Is(err, ErrUndecodable):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUndecodable, err)
}

// Close gives the decoders back. A second call does nothing.
func (d *decoder) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	d.err = errClosed
	for i, c := range d.chain[:d.n] {
		c.release()
		d.chain[i] = nil
	}
	d.n = 0
	d.src.r, d.out = nil, nil
	return nil
}

var errClosed = errors.New("read of a closed body")

// source counts the body as received and keeps its error apart.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// inner stands between two codecs. Without limits of its own a stack of codings could be made to work for hours and give
// out nothing: the outer layer blows up into members or blocks that are empty.
type inner struct {
	d *decoder
	r io.Reader
	n int64
}

func (m *inner) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if m.d.overRatio(m.n) {
		return n, ErrRatio
	}
	// No coding makes data twice as long, so the decoded body would be over its limit too.
	if m.n/2 > max(m.d.lim.MaxBytes, ratioFrom) {
		return n, ErrTooLong
	}
	return n, err
}
