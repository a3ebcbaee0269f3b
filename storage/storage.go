package storage

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"amble/frontier/canon"
	"amble/storage/warc"
)

var (
	// ErrNoResponse: a capture without a response head is not archived; the crawl log has it.
	ErrNoResponse = errors.New("capture has no response head")
	// ErrExists: Create found segments.
	ErrExists = errors.New("archive exists")
	// ErrDamaged: a segment does not hold what was committed to it.
	ErrDamaged = errors.New("archive damaged")
)

// Options of an Archive.
type Options struct {
	// Prefix of segment names; "AMBLE".
	Prefix string
	// SegmentBytes is where a segment is closed and the next begun; 10^9.
	SegmentBytes int64
	// Info are the fields of each segment's warcinfo record, in order ("software", "operator", "robots", ...).
	Info [][2]string
	// Now names segments; time.Now.
	Now func() time.Time
	// NewIDs draws the ids of records; warc.NewIDs. It is called from many goroutines.
	NewIDs func([]warc.ID)
}

// Position is where a capture's response record lies.
type Position struct {
	Serial uint32
	Offset int64
	Length int64
}

// Ends is how far the archive is valid. Segment is the file name without ".open"; empty: no segment was begun.
type Ends struct {
	Segment string `json:"segment"`
	Serial  uint32 `json:"serial"`
	End     int64  `json:"end"`
}

// Meta is what is archived of a capture beside the exchange itself, in the metadata record.
type Meta struct {
	ID            string // the Capture's id, stable ("<serial>-<offset>" is not): the response record's UUID; set by Encode
	Via           string
	Hops          string // hop path
	Depth         int
	Seed          string // URL of the seed
	Kind          string // "" a page, "robots", "sitemap"
	Charset       string
	Lang          string
	Title         string
	Canonical     string
	RobotsMeta    string
	RedirectTo    string
	MediaType     string // as used
	Bytes         int64  // decoded
	ContentDigest [32]byte
	// HasContent: Bytes and ContentDigest are set (the body could be decoded).
	HasContent bool
	// DecodedCut: decoding stopped at a limit.
	DecodedCut bool
	Attempt    int
	// Outlinks, when set, are listed in the metadata record.
	Outlinks []string
}

// Record is a capture read back.
type Record struct {
	URL    canon.URL
	Start  time.Time
	Head   []byte // response head as stored
	Meta   Meta
	Status int
	// Payload is the stored entity body: transfer coding removed, content coding kept. The caller closes it.
	Payload io.ReadCloser

	// PayloadBytes is the length of Payload.
	PayloadBytes int64
	// PayloadDigest is the digest of Payload, as archived.
	PayloadDigest [32]byte
	// RequestHead is the request as sent, secrets masked.
	RequestHead []byte
	// Addr is the server's address; invalid where it was not archived.
	Addr netip.Addr
	// Truncated is WARC 1.1's reason when Payload is cut, else empty.
	Truncated string
	// TTFB and Total are from the request written to the response's first byte and to its end, as far as archived.
	TTFB, Total time.Duration
}
