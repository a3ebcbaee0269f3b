package warc

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Header is the header of a record to be written. Fields that are zero are left out, but for Type, ID, Date and Length,
// which every record has (section 5).
type Header struct {
	Type         string
	ID           ID
	Date         time.Time // written in UTC with microseconds
	TargetURI    string
	ContentType  string
	WarcinfoID   ID
	ConcurrentTo ID
	IPAddress    netip.Addr
	// BlockDigest and PayloadDigest are SHA-256.
	BlockDigest   *[32]byte
	PayloadDigest *[32]byte
	// Truncated is a reason of section 5.13: length, time, disconnect or unspecified.
	Truncated string
	Filename  string
	// Of revisit records (section 6.7).
	Profile            string
	RefersTo           ID
	RefersToTargetURI  string
	RefersToDate       time.Time
	IdentifiedPayload  string
	IdentifiedLanguage string
	// Length is the length of the block in bytes.
	Length int64
}

// Append appends the header, from the version line through the empty line. The block follows, and Trailer after it.
// Values are made safe: what is not valid UTF-8 becomes U+FFFD, a control character a space.
func (h *Header) Append(dst []byte) []byte {
	dst = append(dst, "WARC/1.1\r\n"...)
	dst = AppendField(dst, "WARC-Type", h.Type)
	dst = appendID(dst, "WARC-Record-ID", h.ID)
	dst = appendDate(dst, "WARC-Date", h.Date)
	dst = appendOptional(dst, "WARC-Filename", h.Filename)
	dst = appendOptional(dst, "WARC-Target-URI", h.TargetURI)
	if !h.WarcinfoID.IsZero() {
		dst = appendID(dst, "WARC-Warcinfo-ID", h.WarcinfoID)
	}
	if !h.ConcurrentTo.IsZero() {
		dst = appendID(dst, "WARC-Concurrent-To", h.ConcurrentTo)
	}
	dst = appendOptional(dst, "WARC-Profile", h.Profile)
	if !h.RefersTo.IsZero() {
		dst = appendID(dst, "WARC-Refers-To", h.RefersTo)
	}
	dst = appendOptional(dst, "WARC-Refers-To-Target-URI", h.RefersToTargetURI)
	if !h.RefersToDate.IsZero() {
		dst = appendDate(dst, "WARC-Refers-To-Date", h.RefersToDate)
	}
	if h.IPAddress.IsValid() {
		dst = append(dst, "WARC-IP-Address: "...)
		dst = h.IPAddress.Unmap().WithZone("").AppendTo(dst)
		dst = append(dst, "\r\n"...)
	}
	dst = appendDigestField(dst, "WARC-Block-Digest", h.BlockDigest)
	dst = appendDigestField(dst, "WARC-Payload-Digest", h.PayloadDigest)
	dst = appendOptional(dst, "WARC-Truncated", h.Truncated)
	dst = appendOptional(dst, "WARC-Identified-Payload-Type", h.IdentifiedPayload)
	dst = appendOptional(dst, "WARC-Identified-Content-Language", h.IdentifiedLanguage)
	dst = appendOptional(dst, "Content-Type", h.ContentType)
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, h.Length, 10)
	return append(dst, "\r\n\r\n"...)
}

// Trailer follows each block.
const Trailer = "\r\n\r\n"

// AppendField appends one line "name: value", as record headers and application/warc-fields blocks have them, with the
// value made safe.
func AppendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = appendSafe(dst, value)
	return append(dst, "\r\n"...)
}

func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendField(dst, name, value)
}

func appendID(dst []byte, name string, id ID) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	return append(id.appendURN(dst), "\r\n"...)
}

func appendDate(dst []byte, name string, t time.Time) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		// No clock says so; the general way is as good as any.
		return append(t.AppendFormat(dst, DateFormat), "\r\n"...)
	}
	// DateFormat by hand costs a third of what time.AppendFormat does, three times a capture.
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, hour, 2), ':')
	dst = append(appendDigits(dst, minute, 2), ':')
	dst = append(appendDigits(dst, second, 2), '.')
	return append(appendDigits(dst, t.Nanosecond()/1000, 6), "Z\r\n"...)
}

// appendDigits appends n in decimal with width digits.
func appendDigits(dst []byte, n, width int) []byte {
	dst = append(dst, "000000"[:width]...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

func appendDigestField(dst []byte, name string, d *[32]byte) []byte {
	if d == nil {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	return append(AppendDigest(dst, *d), "\r\n"...)
}

// Safe is value as a field can carry it: what is not valid UTF-8 becomes U+FFFD, a control character a space, and
// blanks around it go.
func Safe(value string) string {
	value = strings.TrimSpace(value)
	if isPlain(value) {
		return value
	}
	return strings.TrimSpace(string(appendSafe(nil, value)))
}

func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

func appendSafe(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	for _, r := range s {
		// C0, DEL and C1, and the two line separators that some readers split at.
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			r = ' '
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
