package storage

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"amble/storage/warc"
)

// The sidecar index, integers little-endian:
//
//	header  magic "AMBLEIX1" (the last byte is the version), the UUID of the segment's warcinfo record (16 bytes),
//	        the length of the warcinfo's member (8), CRC-32C of the foregoing (4)
//	entry   length of the payload (4), CRC-32C of the payload (4), payload
//	payload uvarints: offset, lengths of the response's, request's and metadata's members, status; varint: microseconds
//	        since 1970; bytes: kind, reason of truncation; UUID of the response (16); payload digest (32);
//	        media type and URL, each behind its uvarint length
//
// Entries are contiguous: the first begins behind the warcinfo, each next where the one before ends.
const (
	indexMagic      = "AMBLEIX1"
	indexHeaderSize = len(indexMagic) + 16 + 8 + 4
	// maxEntryBytes bounds an entry that is read: a URL cannot be longer than a record's header.
	maxEntryBytes = warc.MaxHeaderBytes + 1024
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is what the index knows of a capture.
type Entry struct {
	// Segment is the file name, without ".open".
	Segment string
	Serial  uint32
	// Offset is where the response's gzip member begins; the request's and the metadata's follow.
	Offset         int64
	Length         int64
	RequestLength  int64
	MetadataLength int64
	// Time is when the exchange began, in UTC with microseconds.
	Time      time.Time
	URL       string
	Status    int
	MediaType string
	// ID is the UUID of the response record.
	ID            warc.ID
	PayloadDigest [32]byte
	Kind          string // "" a page, "robots", "sitemap"
	Truncated     string // a reason of WARC 1.1 section 5.13
}

// MetadataOffset is where the metadata record's member begins.
func (e *Entry) MetadataOffset() int64 { return e.Offset + e.Length + e.RequestLength }

// End is where the capture ends and the next may begin.
func (e *Entry) End() int64 { return e.MetadataOffset() + e.MetadataLength }

// Words that an index entry holds as one byte. New ones go at the end.
var (
	kindWords      = []string{"", KindRobots, KindSitemap}
	truncatedWords = []string{"", "length", "time", "disconnect", "unspecified"}
)

func wordByte(words []string, w string) byte {
	for i, s := range words {
		if s == w {
			return byte(i)
		}
	}
	return 0xff
}

func wordOf(words []string, b byte) (string, bool) {
	if int(b) >= len(words) {
		return "", false
	}
	return words[b], true
}

func appendIndexHeader(dst []byte, warcinfo warc.ID, length int64) []byte {
	from := len(dst)
	dst = append(dst, indexMagic...)
	dst = append(dst, warcinfo[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(length))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

func parseIndexHeader(b []byte) (warcinfo warc.ID, length int64, ok bool) {
	if len(b) != indexHeaderSize || string(b[:len(indexMagic)]) != indexMagic ||
		crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return warcinfo, 0, false
	}
	b = b[len(indexMagic):]
	copy(warcinfo[:], b)
	n := binary.LittleEndian.Uint64(b[16:])
	return warcinfo, int64(n), n <= math.MaxInt64
}

func appendEntry(dst []byte, e *Entry) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, 8)...)
	dst = binary.AppendUvarint(dst, uint64(e.Offset))
	dst = binary.AppendUvarint(dst, uint64(e.Length))
	dst = binary.AppendUvarint(dst, uint64(e.RequestLength))
	dst = binary.AppendUvarint(dst, uint64(e.MetadataLength))
	dst = binary.AppendUvarint(dst, uint64(e.Status))
	dst = binary.AppendVarint(dst, e.Time.UnixMicro())
	dst = append(dst, wordByte(kindWords, e.Kind), wordByte(truncatedWords, e.Truncated))
	dst = append(dst, e.ID[:]...)
	dst = append(dst, e.PayloadDigest[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(e.MediaType)))
	dst = append(dst, e.MediaType...)
	dst = binary.AppendUvarint(dst, uint64(len(e.URL)))
	dst = append(dst, e.URL...)
	payload := dst[from+8:]
	binary.LittleEndian.PutUint32(dst[from:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(dst[from+4:], crc32.Checksum(payload, castagnoli))
	return dst
}

// parseEntry reads a payload whose checksum was right; what is not an entry is refused all the same.
func parseEntry(b []byte) (e Entry, ok bool) {
	r := payloadReader{b: b}
	e.Offset = r.size()
	e.Length = r.size()
	e.RequestLength = r.size()
	e.MetadataLength = r.size()
	status := r.size()
	e.Status = int(status)
	micros, n := binary.Varint(r.b)
	r.skip(n)
	e.Time = time.UnixMicro(micros).UTC()
	words := r.bytes(2)
	copy(e.ID[:], r.bytes(16))
	copy(e.PayloadDigest[:], r.bytes(32))
	e.MediaType = string(r.bytes(r.size()))
	e.URL = string(r.bytes(r.size()))
	if r.bad || len(r.b) != 0 || status > 999 {
		return Entry{}, false
	}
	var known [2]bool
	e.Kind, known[0] = wordOf(kindWords, words[0])
	e.Truncated, known[1] = wordOf(truncatedWords, words[1])
	return e, known[0] && known[1]
}

type payloadReader struct {
	b   []byte
	bad bool
}

func (r *payloadReader) skip(n int) {
	if n <= 0 || r.bad {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

// size reads a uvarint of at most 2^48, so that sums of a few cannot overflow.
func (r *payloadReader) size() int64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	if v > 1<<48 {
		r.bad = true
		return 0
	}
	return int64(v)
}

func (r *payloadReader) bytes(n int64) []byte {
	if r.bad || n > int64(len(r.b)) {
		r.bad, r.b = true, nil
		return make([]byte, min(n, 32))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// indexReader reads the valid, contiguous beginning of an index.
type indexReader struct {
	br  *bufio.Reader
	pos int64 // in the index: the end of the valid part
	// end, in the segment, of the last entry; where the next must begin.
	end int64
	buf []byte
}

// newIndexReader reads the header. ok is false where the index is not one of the segment whose warcinfo record is given.
func newIndexReader(r io.Reader, warcinfo warc.ID, warcinfoEnd int64) (*indexReader, bool) {
	br := bufio.NewReaderSize(r, 32<<10)
	var head [indexHeaderSize]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return nil, false
	}
	id, length, ok := parseIndexHeader(head[:])
	if !ok || id != warcinfo || length != warcinfoEnd {
		return nil, false
	}
	return &indexReader{br: br, pos: int64(indexHeaderSize), end: warcinfoEnd}, true
}

// next gives the next entry that ends at limit or before. false: the valid part is over.
func (x *indexReader) next(limit int64) (Entry, bool) {
	var head [8]byte
	if _, err := io.ReadFull(x.br, head[:]); err != nil {
		return Entry{}, false
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxEntryBytes {
		return Entry{}, false
	}
	if int(n) > cap(x.buf) {
		x.buf = make([]byte, max(int(n), 512))
	}
	payload := x.buf[:n]
	if _, err := io.ReadFull(x.br, payload); err != nil {
		return Entry{}, false
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return Entry{}, false
	}
	e, ok := parseEntry(payload)
	if !ok || e.Offset != x.end || e.Length <= 0 || e.MetadataLength <= 0 || e.End() > limit {
		return Entry{}, false
	}
	x.end = e.End()
	x.pos += int64(len(head)) + int64(n)
	return e, true
}

func (e *Entry) String() string {
	return fmt.Sprintf("%s at %d: %s", e.Segment, e.Offset, e.URL)
}
