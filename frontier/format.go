package frontier

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"amble/frontier/canon"
)

// Format v1. Every value begins with its crc32c; integers in keys are big-endian, in records unsigned varints.
const (
	formatMagic   = "amble-frontier "
	formatVersion = 1
	// seenKey names the rule by which fingerprints are made of the logged URLs: of the canonical form, as it is.
	seenKey = "canonical"
)

var (
	bucketMeta    = newBucket("meta")    // name -> value
	bucketOrigins = newBucket("origins") // OriginID -> host, kind
	bucketHosts   = newBucket("hosts")   // HostID -> pace key
	bucketURLs    = newBucket("urls")    // first Ordinal -> chunk of URL records
	bucketPages   = newBucket("pages")   // first visit number, 64 bits -> chunk of visit records
	bucketHblob   = newBucket("hblob")   // HostID -> opaque
	bucketOblob   = newBucket("oblob")   // OriginID -> opaque
	bucketSeeds   = newBucket("seeds")   // seed number -> ordinal, JSON

	allBuckets = []bucket{bucketMeta, bucketOrigins, bucketHosts, bucketURLs, bucketPages, bucketHblob, bucketOblob, bucketSeeds}
)

var (
	metaFormat   = []byte("format")
	metaHashSeed = []byte("hashseed")
	metaSeenKey  = []byte("seenkey")
	metaTotals   = []byte("totals")
	metaEnds     = []byte("ends")
	metaCounters = []byte("counters")
)

var errShort = errors.New("record is cut or malformed")

// decoder reads varints and bytes; after the first failure everything reads as zero.
type decoder struct {
	p   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *decoder) uint32() uint32 {
	v := d.uvarint()
	if v > 1<<32-1 {
		d.bad = true
	}
	return uint32(v)
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.p)) {
		d.bad, d.p = true, nil
		return nil
	}
	b := d.p[:n]
	d.p = d.p[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) copy(to []byte) { copy(to, d.bytes(uint64(len(to)))) }

// done tells whether the record was whole and nothing follows.
func (d *decoder) done() error {
	if d.bad || len(d.p) != 0 {
		return errShort
	}
	return nil
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

// urlRecord is a line of the URL log. The hop type is the path's last byte.
type urlRecord struct {
	Origin  OriginID
	Via     Ordinal
	Seed    uint32
	Depth   uint32
	Class   uint8 // of its queue
	Flags   Flags
	LastMod int64  // Unix seconds, 0: unknown
	Path    string // of hops
	Target  string // path and query
}

const urlHasLastMod = 1 << 4 // beside the class in one byte

// appendURLRecord writes a record for the ordinal self.
func appendURLRecord(to []byte, self Ordinal, r urlRecord) []byte {
	to = binary.AppendUvarint(to, uint64(r.Origin))
	var back uint64
	if r.Via != NoOrdinal {
		back = uint64(self - r.Via)
	}
	to = binary.AppendUvarint(to, back)
	to = binary.AppendUvarint(to, uint64(r.Seed))
	to = binary.AppendUvarint(to, uint64(r.Depth))
	kind := r.Class & 15
	if r.LastMod != 0 {
		kind |= urlHasLastMod
	}
	to = append(to, kind, byte(r.Flags))
	if r.LastMod != 0 {
		to = binary.AppendVarint(to, r.LastMod)
	}
	to = appendText(to, r.Path)
	return append(to, r.Target...)
}

// urlHead is what the index needs of a record, read without copying; path and target stay in the record.
type urlHead struct {
	urlRecord
	path, target []byte
}

func parseURLHead(p []byte, self Ordinal) (urlHead, error) {
	d := decoder{p: p}
	var r urlHead
	r.Origin = OriginID(d.uint32())
	r.Via = NoOrdinal
	if back := d.uvarint(); back > uint64(self) {
		return r, errShort
	} else if back != 0 {
		r.Via = self - Ordinal(back)
	}
	r.Seed = d.uint32()
	r.Depth = d.uint32()
	kind := d.byte()
	r.Class = kind & 15
	r.Flags = Flags(d.byte())
	if kind&urlHasLastMod != 0 {
		v, n := binary.Varint(d.p)
		if n <= 0 || v == 0 {
			return r, errShort
		}
		r.LastMod = v
		d.p = d.p[n:]
	}
	r.path = d.bytes(d.uvarint())
	r.target = d.p
	if d.bad || kind>>5 != 0 {
		return r, errShort
	}
	return r, nil
}

func parseURLRecord(p []byte, self Ordinal) (urlRecord, error) {
	h, err := parseURLHead(p, self)
	if err != nil {
		return urlRecord{}, err
	}
	h.Path, h.Target = string(h.path), string(h.target)
	return h.urlRecord, nil
}

// reasonCodes are the numbers of the skip reasons on disk. New ones are added at the end.
var reasonCodes = []Reason{
	"", ReasonRobots, ReasonRobotsUnreachable, ReasonScope, ReasonDepth, ReasonScheme, ReasonMime, ReasonNofollow,
	ReasonAddress, ReasonHostUnreachable, ReasonBudget, ReasonMemory, ReasonTrapDepth, ReasonTrapLength,
	ReasonTrapRepeat, ReasonTrapQuery, ReasonTrapCalendar, ReasonTrapSession,
}

// reasonText: the reason has no number and follows as text.
const reasonText = 255

const (
	visitTime = 1 << iota
	visitPayload
	visitContent
	visitSameDigest // the content digest is the payload digest
	visitArchive
	visitNotBefore
	visitFreshness
)

// appendVisit writes a record of the page log. Times are kept to the microsecond, a not-before is rounded up.
func appendVisit(to []byte, r *Result) []byte {
	to = binary.AppendUvarint(to, uint64(r.Ordinal))
	to = append(to, byte(r.Outcome))
	code := byte(reasonText)
	for i, reason := range reasonCodes {
		if reason == r.Reason {
			code = byte(i)
		}
	}
	to = append(to, code)
	if code == reasonText {
		to = appendText(to, string(r.Reason))
	}
	var has byte
	zero := [16]byte{}
	if !r.Time.IsZero() {
		has |= visitTime
	}
	if r.PayloadDigest != zero {
		has |= visitPayload
	}
	if r.ContentDigest != zero {
		has |= visitContent
		if r.ContentDigest == r.PayloadDigest {
			has ^= visitContent | visitSameDigest
		}
	}
	if r.Archive != (Position{}) {
		has |= visitArchive
	}
	if !r.NotBefore.IsZero() {
		has |= visitNotBefore
	}
	if r.Freshness != zero {
		has |= visitFreshness
	}
	to = append(to, has)
	to = binary.AppendUvarint(to, uint64(r.Attempt))
	to = binary.AppendUvarint(to, uint64(r.Status))
	to = binary.AppendUvarint(to, uint64(r.Bytes))
	if has&visitTime != 0 {
		to = binary.AppendVarint(to, r.Time.UnixMicro())
	}
	if has&visitPayload != 0 {
		to = append(to, r.PayloadDigest[:]...)
	}
	if has&visitContent != 0 {
		to = append(to, r.ContentDigest[:]...)
	}
	if has&visitArchive != 0 {
		to = binary.AppendUvarint(to, uint64(r.Archive.Serial))
		to = binary.AppendUvarint(to, uint64(r.Archive.Offset))
		to = binary.AppendUvarint(to, uint64(r.Archive.Length))
	}
	if has&visitNotBefore != 0 {
		to = binary.AppendVarint(to, microsUp(r.NotBefore))
	}
	if has&visitFreshness != 0 {
		to = append(to, r.Freshness[:]...)
	}
	return to
}

// microsUp is t in Unix microseconds, rounded up; 0 for the zero time.
func microsUp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func parseVisit(p []byte) (Result, error) {
	d := decoder{p: p}
	var r Result
	r.Ordinal = Ordinal(d.uint32())
	r.Outcome = Outcome(d.byte())
	switch code := d.byte(); {
	case code == reasonText:
		r.Reason = Reason(d.text())
	case int(code) < len(reasonCodes):
		r.Reason = reasonCodes[code]
	default:
		return r, fmt.Errorf("skip reason %d is unknown", code)
	}
	has := d.byte()
	r.Attempt = int(d.uvarint())
	r.Status = int(d.uvarint())
	r.Bytes = int64(d.uvarint())
	if has&visitTime != 0 {
		r.Time = micros(d.varint())
	}
	if has&visitPayload != 0 {
		d.copy(r.PayloadDigest[:])
	}
	if has&visitContent != 0 {
		d.copy(r.ContentDigest[:])
	}
	if has&visitSameDigest != 0 {
		r.ContentDigest = r.PayloadDigest
	}
	if has&visitArchive != 0 {
		r.Archive.Serial = d.uint32()
		r.Archive.Offset = int64(d.uvarint())
		r.Archive.Length = int64(d.uvarint())
	}
	if has&visitNotBefore != 0 {
		r.NotBefore = micros(d.varint())
	}
	if has&visitFreshness != 0 {
		d.copy(r.Freshness[:])
	}
	if err := d.done(); err != nil {
		return r, err
	}
	if r.Outcome < Stored || r.Outcome > Retry || r.Attempt < 0 || has>>7 != 0 {
		return r, errShort
	}
	return r, nil
}

// totals are how many of each there are, so that a chunk missing at the end of a log is found.
type totals struct {
	URLs, Visits, Hosts, Origins, Seeds uint64
}

func (t totals) encode() []byte {
	var p []byte
	for _, v := range []uint64{t.URLs, t.Visits, t.Hosts, t.Origins, t.Seeds} {
		p = binary.AppendUvarint(p, v)
	}
	return p
}

func parseTotals(p []byte) (totals, error) {
	d := decoder{p: p}
	t := totals{d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint()}
	if max(t.URLs, t.Hosts, t.Origins, t.Seeds) > uint64(NoOrdinal) {
		return t, errShort
	}
	return t, d.done()
}

func (e Ends) encode() []byte {
	p := appendText(nil, e.Segment)
	p = binary.AppendUvarint(p, uint64(e.SegmentSerial))
	p = binary.AppendUvarint(p, uint64(e.SegmentEnd))
	p = appendText(p, e.Log)
	return binary.AppendUvarint(p, uint64(e.LogEnd))
}

func parseEnds(p []byte) (Ends, error) {
	d := decoder{p: p}
	e := Ends{
		Segment:       d.text(),
		SegmentSerial: d.uint32(),
		SegmentEnd:    int64(d.uvarint()),
		Log:           d.text(),
		LogEnd:        int64(d.uvarint()),
	}
	return e, d.done()
}

// An origin is a pace key, the scheme and whether the port is the other scheme's default: those three make its text.
const (
	originHTTPS     = 1 << iota // else http
	originOtherPort             // http on port 443, https on port 80
)

func originKind(u canon.URL) uint8 {
	var kind uint8
	port := u.Port()
	if u.Scheme() == "https" {
		kind = originHTTPS
		if port == "80" {
			kind |= originOtherPort
		}
	} else if port == "443" {
		kind |= originOtherPort
	}
	return kind
}

func originText(key string, kind uint8) string { return string(appendOrigin(nil, key, kind)) }

func appendOrigin(to []byte, key string, kind uint8) []byte {
	scheme, port := "http://", ""
	if kind&originOtherPort != 0 {
		port = ":443"
	}
	if kind&originHTTPS != 0 {
		scheme = "https://"
		if port != "" {
			port = ":80"
		}
	}
	return append(append(append(to, scheme...), key...), port...)
}

// seedRecord is a Seed on disk: JSON after the ordinal, since seeds are few and their keys grow.
type seedRecord struct {
	URL      string            `json:"url"`
	Raw      string            `json:"raw,omitempty"`
	Depth    *int              `json:"depth,omitempty"`
	Scope    Scope             `json:"scope,omitempty"`
	MaxPages int64             `json:"max_pages,omitempty"`
	Floor    *time.Duration    `json:"floor_ns,omitempty"`
	Priority *int              `json:"priority,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Implied  int64             `json:"implied"`
	Sitemap  bool              `json:"sitemap,omitempty"`
	TryHTTP  bool              `json:"try_http,omitempty"`
}

func encodeSeed(s *Seed, ord Ordinal) ([]byte, error) {
	text, err := json.Marshal(seedRecord{
		URL: s.URL.String(), Raw: s.Raw, Depth: s.Depth, Scope: s.Scope, MaxPages: s.MaxPages, Floor: s.Floor,
		Priority: s.Priority, Labels: s.Labels, Implied: s.Implied, Sitemap: s.Sitemap, TryHTTP: s.TryHTTP,
	})
	if err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(nil, uint64(ord)), text...), nil
}

// parseSeed leaves URL to the caller, who has it from the log.
func parseSeed(p []byte) (Seed, Ordinal, string, error) {
	d := decoder{p: p}
	ord := Ordinal(d.uint32())
	if d.bad {
		return Seed{}, 0, "", errShort
	}
	var r seedRecord
	if err := json.Unmarshal(d.p, &r); err != nil {
		return Seed{}, 0, "", err
	}
	return Seed{
		Raw: r.Raw, Depth: r.Depth, Scope: r.Scope, MaxPages: r.MaxPages, Floor: r.Floor, Priority: r.Priority,
		Labels: r.Labels, Implied: r.Implied, Sitemap: r.Sitemap, TryHTTP: r.TryHTTP,
	}, ord, r.URL, nil
}

func key32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func key64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
