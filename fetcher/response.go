package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

const (
	// maxHeadBytes bounds one response head, as received.
	maxHeadBytes = 64 << 10
	// maxInterim bounds the 1xx responses before the final one.
	maxInterim = 16
)

// protocolError is what a peer says that is not HTTP/1.x, or too much of it.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// head is a response head, parsed.
type head struct {
	raw    []byte
	status int
	minor  int // of HTTP/1.minor
	header http.Header
}

// readHead reads one head through its empty line. A read error before that is given back as it
// is; what is no HTTP/1.x head is a protocolError.
func readHead(br *bufio.Reader) (head, error) {
	const proto = "HTTP/1."
	// Looked at before the line is whole: another protocol's greeting may have no end of line.
	if p, err := br.Peek(len(proto)); !strings.HasPrefix(proto, string(p)) {
		return head{}, protocolError(fmt.Sprintf("response does not begin with %s but with %q", proto, p))
	} else if err != nil {
		return head{}, err
	}
	raw := make([]byte, 0, 512)
	for newLine := true; ; {
		line, err := br.ReadSlice('\n')
		raw = append(raw, line...)
		if len(raw) > maxHeadBytes {
			return head{}, protocolError(fmt.Sprintf("response head is longer than %d bytes", maxHeadBytes))
		}
		if err == bufio.ErrBufferFull {
			newLine = false
			continue
		}
		if err != nil {
			return head{}, err
		}
		if newLine && len(bytes.TrimRight(line, "\r\n")) == 0 {
			return parseHead(raw)
		}
		newLine = true
	}
}

// parseHead reads status line and fields (RFC 9112 sections 4 and 5). As browsers do it takes a
// bare LF as the end of a line, and passes over lines that are no field; a NUL is refused.
func parseHead(raw []byte) (head, error) {
	if bytes.IndexByte(raw, 0) >= 0 {
		return head{}, protocolError("response head has a NUL byte")
	}
	text := string(raw)
	line, rest, _ := strings.Cut(text, "\n")
	h := head{raw: raw}
	var err error
	if h.minor, h.status, err = parseStatusLine(strings.TrimRight(line, "\r")); err != nil {
		return head{}, err
	}
	fields := strings.Count(rest, "\n") - 1
	h.header = make(http.Header, fields)
	values := make([]string, 0, fields)
	last := "" // name of the field that a continuation line belongs to
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			break
		}
		if strings.IndexByte(line, '\r') >= 0 {
			line = strings.ReplaceAll(line, "\r", " ")
		}
		if line[0] == ' ' || line[0] == '\t' {
			// Obsolete folding: RFC 9112 section 5.2 has it read as a space.
			if vs := h.header[last]; last != "" {
				vs[len(vs)-1] = strings.TrimSpace(vs[len(vs)-1] + " " + trimBlank(line))
			}
			continue
		}
		last = ""
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimRight(name, " \t"); !ok || !validName(name) {
			continue
		}
		last = textproto.CanonicalMIMEHeaderKey(name)
		if vs, ok := h.header[last]; ok {
			h.header[last] = append(vs, trimBlank(value))
			continue
		}
		values = append(values, trimBlank(value))
		h.header[last] = values[len(values)-1 : len(values) : len(values)]
	}
	return h, nil
}

// parseStatusLine reads "HTTP/1.1 200 OK"; the reason and the blank before it may be missing.
func parseStatusLine(line string) (minor, status int, err error) {
	bad := func() (int, int, error) {
		return 0, 0, protocolError(fmt.Sprintf("malformed status line %.80q", line))
	}
	rest, ok := strings.CutPrefix(line, "HTTP/1.")
	if !ok || len(rest) < len("1 200") || rest[0] < '0' || rest[0] > '9' || rest[1] != ' ' {
		return bad()
	}
	code := strings.TrimLeft(rest[2:], " ")
	if len(code) < 3 || len(code) > 3 && code[3] != ' ' {
		return bad()
	}
	status, err = strconv.Atoi(code[:3])
	if err != nil || status < 100 {
		return bad()
	}
	return int(rest[0] - '0'), status, nil
}

func trimBlank(s string) string { return strings.Trim(s, " \t") }

// validName tells field names that are tokens (RFC 9110 section 5.6.2).
func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		case strings.IndexByte("!#$%&'*+.^`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// framing says how a body's end is found (RFC 9112 section 6.3).
type framing struct {
	none    bool
	chunked bool
	length  int64 // -1: the connection's end
	// last: no other response can follow on this connection.
	last bool
}

// framing decides how the body that follows h ends, or refuses a head that says two things.
func (h *head) framing() (framing, error) {
	fr := framing{length: -1}
	if h.minor == 0 {
		fr.last = !hasToken(h.header["Connection"], "keep-alive")
	} else {
		fr.last = hasToken(h.header["Connection"], "close")
	}
	if h.status == http.StatusNoContent || h.status == http.StatusNotModified {
		fr.none = true
		return fr, nil
	}
	codings, err := transferCodings(h.header["Transfer-Encoding"])
	if err != nil {
		return fr, err
	}
	lengths := h.header["Content-Length"]
	if codings {
		// Transfer-Encoding wins over Content-Length, and over a version that does not know it;
		// in both cases the framing is suspect and the connection is not used again (section 6.1).
		fr.chunked = true
		fr.last = fr.last || len(lengths) > 0 || h.minor == 0
		return fr, nil
	}
	if len(lengths) == 0 {
		fr.last = true
		return fr, nil
	}
	for _, field := range lengths {
		for v := range strings.SplitSeq(field, ",") {
			n, err := parseLength(trimBlank(v))
			if err != nil {
				return fr, err
			}
			if fr.length >= 0 && n != fr.length {
				return fr, protocolError(fmt.Sprintf("conflicting Content-Length %.80q", strings.Join(lengths, ", ")))
			}
			fr.length = n
		}
	}
	return fr, nil
}

func parseLength(v string) (int64, error) {
	if v != "" && strings.Trim(v, "0123456789") == "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, protocolError(fmt.Sprintf("invalid Content-Length %.80q", v))
}

// transferCodings tells whether the body is chunked. Codings other than chunked were not asked
// for (no TE field is sent) and cannot be taken off.
func transferCodings(fields []string) (chunked bool, err error) {
	for _, field := range fields {
		for v := range strings.SplitSeq(field, ",") {
			switch v = strings.ToLower(trimBlank(v)); {
			case v == "" || v == "identity":
			case v == "chunked" && !chunked:
				chunked = true
			default:
				return false, protocolError(fmt.Sprintf("unasked Transfer-Encoding %.80q", strings.Join(fields, ", ")))
			}
		}
	}
	return chunked, nil
}

func hasToken(fields []string, token string) bool {
	for _, field := range fields {
		for v := range strings.SplitSeq(field, ",") {
			if strings.EqualFold(trimBlank(v), token) {
				return true
			}
		}
	}
	return false
}

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
