package fetcher

import (
	"bufio"
	"bytes"
	"fmt"
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
	// The bound keeps a head of empty fields from making large tables.
	fields := min(max(strings.Count(rest, "\n")-1, 0), 64)
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
