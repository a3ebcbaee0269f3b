package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"amble/frontier/canon"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Entry is one location of a sitemap.
type Entry struct {
	URL canon.URL
	// Sitemap: the location is a sitemap itself, from an index.
	Sitemap bool
	// LastMod is zero when unknown.
	LastMod time.Time
	// Priority is 0 to 1; 0.5 when unknown.
	Priority float64
}

// Limits of one sitemap file (sitemaps.org: 50,000 locations, 50 MB).
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20
)

// Errors that Parse wraps. Match them with errors.Is.
var (
	// ErrNotSitemap: the body is in none of the formats.
	ErrNotSitemap = errors.New("not a sitemap")
	// ErrLimit: the file is longer than MaxEntries or MaxBytes; what stands before that was yielded.
	ErrLimit = errors.New("sitemap over its size limit")
)

// Parse reads a sitemap, a sitemap index, a text list, RSS or Atom, gzipped or not, leniently and streaming, and calls yield
// for every location until it returns false. A body that is none of these (an HTML page) yields nothing and is an error.
//
// gzip is told by its first octets, whatever name and type say, twice over if need be. Locations are resolved against base; those
// that give no http or https URL are left out. A lastmod that is no W3C datetime, or in RSS no RFC 822 date, is unknown. Entries
// yielded before an error are good. The errors are ErrNotSitemap, ErrLimit, and those of r and of gzip.
func Parse(r io.Reader, base canon.URL, yield func(Entry) bool) error {
	if err := parse(r, MaxBytes, &sink{base: base, yield: yield, charset: "utf-8"}); err != nil && err != errStop {
		return fmt.Errorf("read sitemap: %w", err)
	}
	return nil
}

func parse(r io.Reader, maxBytes int64, out *sink) error {
	in := bufio.NewReaderSize(&limited{r: r, left: maxBytes}, bufferBytes)
	for range maxGzip {
		head, _ := in.Peek(2)
		if string(head) != "\x1f\x8b" {
			break
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = bufio.NewReaderSize(&limited{r: z, left: maxBytes}, bufferBytes)
	}
	in = fromUTF16(in)
	first, err := skipBlanks(in)
	switch {
	case err == io.EOF:
		return ErrNotSitemap
	case err != nil:
		return err
	case first == '<':
		head, _ := in.Peek(declarationBytes)
		out.charset = declared(head)
		return parseXML(in, out)
	}
	return parseText(in, out)
}

const (
	// bufferBytes bounds what is held of the file. A single text or tag that is longer is passed over.
	bufferBytes = 32 << 10
	// maxGzip is for files that were compressed once by their author and once by the server, without a header to say so.
	maxGzip          = 2
	declarationBytes = 256
	// maxLocation is far beyond the 2,048 octets of the protocol and what servers take.
	maxLocation = 8 << 10
)

// errStop ends the reading: yield has had enough.
var errStop = errors.New("stop")

// sink turns locations into entries.
type sink struct {
	base    canon.URL
	yield   func(Entry) bool
	charset string
	n       int
}

// add yields the entry for a location. Its URL is filled in here.
func (s *sink) add(location string, e Entry) error {
	u, err := s.base.Resolve(location)
	if err != nil {
		return nil
	}
	if s.n == MaxEntries {
		return ErrLimit
	}
	s.n++
	e.URL = u
	if !s.yield(e) {
		return errStop
	}
	return nil
}

// parseText reads one absolute URL a line; other lines are passed over.
func parseText(in *bufio.Reader, out *sink) error {
	long := false
	for {
		chunk, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = true
			continue
		}
		if !long {
			for line := range bytes.SplitSeq(chunk, []byte{'\r'}) {
				line = bytes.TrimSpace(line)
				if len(line) > maxLocation || !isAbsolute(line) {
					continue
				}
				// A line that the end of the input cut is not known to be whole unless it is the true end.
				if err != nil && err != io.EOF {
					break
				}
				if err := out.add(string(line), Entry{Priority: defaultPriority}); err != nil {
					return err
				}
			}
		}
		long = false
		switch {
		case err == io.EOF && out.n == 0:
			return ErrNotSitemap
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func isAbsolute(line []byte) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if len(line) > len(scheme) && bytes.EqualFold(line[:len(scheme)], []byte(scheme)) {
			return true
		}
	}
	return false
}

// skipBlanks takes off blanks and byte order marks, which also stand after blanks, and says which octet follows.
func skipBlanks(in *bufio.Reader) (byte, error) {
	for {
		head, err := in.Peek(3)
		switch {
		case len(head) == 0:
			return 0, err
		case string(head) == "\xef\xbb\xbf":
			in.Discard(3)
		case head[0] <= ' ':
			in.Discard(1)
		default:
			return head[0], nil
		}
	}
}

// fromUTF16 decodes UTF-16, told by its byte order mark or by its first "<".
func fromUTF16(in *bufio.Reader) *bufio.Reader {
	head, _ := in.Peek(2)
	order := unicode.BigEndian
	switch string(head) {
	case "\xff\xfe", "<\x00":
		order = unicode.LittleEndian
	case "\xfe\xff", "\x00<":
	default:
		return in
	}
	return bufio.NewReaderSize(transform.NewReader(in, unicode.UTF16(order, unicode.UseBOM).NewDecoder()), bufferBytes)
}

// limited gives ErrLimit in place of the octets after its limit.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		n, err := l.r.Read(one[:])
		if n > 0 {
			return 0, ErrLimit
		}
		return 0, err
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
