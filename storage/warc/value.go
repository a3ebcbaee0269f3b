package warc

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"
)

// Record types (WARC 1.1 section 6).
const (
	TypeWarcinfo     = "warcinfo"
	TypeResponse     = "response"
	TypeRequest      = "request"
	TypeMetadata     = "metadata"
	TypeRevisit      = "revisit"
	TypeResource     = "resource"
	TypeConversion   = "conversion"
	TypeContinuation = "continuation"
)

// Media types of blocks.
const (
	ContentFields   = "application/warc-fields"
	ContentRequest  = "application/http;msgtype=request"
	ContentResponse = "application/http;msgtype=response"
)

// ID is the UUID in a WARC-Record-ID. The zero value is none.
type ID [16]byte

// NewIDs fills ids with random UUIDs (RFC 9562 section 5.4).
func NewIDs(ids []ID) {
	for i := range ids {
		_, _ = rand.Read(ids[i][:]) // never fails: it ends the process first
		ids[i][6] = ids[i][6]&0x0f | 0x40
		ids[i][8] = ids[i][8]&0x3f | 0x80
	}
}

// IsZero tells the zero value.
func (id ID) IsZero() bool { return id == ID{} }

// String is the UUID in its usual form, in lower case.
func (id ID) String() string {
	var b [36]byte
	return string(id.append(b[:0]))
}

func (id ID) append(dst []byte) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

func (id ID) appendURN(dst []byte) []byte {
	dst = append(dst, "<urn:uuid:"...)
	return append(id.append(dst), '>')
}

// ParseID reads a UUID, bare, as a URN, or as a URN in angle brackets.
func ParseID(s string) (id ID, ok bool) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "<"), ">")
	if len(s) > 9 && strings.EqualFold(s[:9], "urn:uuid:") {
		s = s[9:]
	}
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, false
	}
	if _, err := hex.Decode(id[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:])); err != nil {
		return ID{}, false
	}
	return id, true
}

const sha256Label = "sha256:"

// AppendDigest appends a SHA-256 digest as the digest fields write it: the label and lower-case hex.
func AppendDigest(dst []byte, d [32]byte) []byte {
	return hex.AppendEncode(append(dst, sha256Label...), d[:])
}

// FormatDigest is AppendDigest as a string.
func FormatDigest(d [32]byte) string {
	var b [len(sha256Label) + 64]byte
	return string(AppendDigest(b[:0], d))
}

// ParseDigest reads a labelled SHA-256 digest in hex, of either case; "sha-256" is taken as the label too.
func ParseDigest(s string) (d [32]byte, ok bool) {
	label, value, ok := strings.Cut(s, ":")
	if !ok || len(value) != 64 || !strings.EqualFold(label, "sha256") && !strings.EqualFold(label, "sha-256") {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(value))
	if err != nil {
		return [32]byte{}, false
	}
	return d, true
}

// DateFormat is the form of WARC-Date that is written: UTC with microseconds (section 5.4).
const DateFormat = "2006-01-02T15:04:05.000000Z"

// ParseDate reads a WARC-Date: RFC 3339 in UTC, with 0 to 9 digits of a second's fraction.
func ParseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err
}
