package frontier

import (
	"errors"
	"regexp"
	"time"

	"amble/frontier/canon"
)

type (
	// HostID numbers pace keys densely from 0 in order of arrival.
	HostID uint32
	// OriginID numbers origins densely from 0 in order of arrival.
	OriginID uint32
	// Ordinal numbers URLs densely from 0 in order of discovery.
	Ordinal uint32
)

// NoOrdinal stands for "no URL": the via of a seed.
const NoOrdinal Ordinal = 1<<32 - 1

// Errors of Open and Create.
var (
	ErrExists  = errors.New("a frontier exists there")
	ErrMissing = errors.New("no frontier there")
	ErrForeign = errors.New("not an Amble frontier")
	ErrNewer   = errors.New("written by a newer Amble")
	ErrLocked  = errors.New("in use by another process")
	ErrDamaged = errors.New("damaged")
)

// Scope says how far from a seed a crawl goes.
type Scope string

const (
	ScopePage   Scope = "page"
	ScopePath   Scope = "path"
	ScopeHost   Scope = "host"
	ScopeDomain Scope = "domain"
	ScopeAll    Scope = "all"
)

// Rules decide which URLs are crawled.
type Rules struct {
	Scope Scope
	// Depth is the most L hops from a seed; -1 is unlimited, 0 seeds only. R and E hops do not count.
	Depth int
	// Include and Exclude match the canonical URL, unanchored. Include narrows, exclude wins, seeds pass.
	Include, Exclude []*regexp.Regexp
	// Also are hosts ("example.org", "example.org:8080") or URL prefixes ("https://example.org/docs/") that widen the scope.
	Also []string
	// Embeds says how far E hops may leave the scope; empty is none.
	Embeds Embeds
	// MaxPagesPerHost bounds the URLs of a pace key that are stored or pending, seeds excepted; 0: no bound.
	MaxPagesPerHost int64
	// MaxPagesOf says it for single pace keys instead; 0 lifts the bound.
	MaxPagesOf map[string]int64
	// TrapsOf says for single pace keys which of Traps hold there; elsewhere all do. None: an empty list.
	TrapsOf map[string][]Reason
}

// Embeds says which embedded resources are taken in.
type Embeds string

const (
	EmbedsNone Embeds = "none" // only those in scope like any link
	EmbedsHost Embeds = "host" // also those of the seed's site when the scope is narrower than that
	EmbedsAll  Embeds = "all"  // wherever they are, three E hops in a row at most
)

// Seed is a seed with its own keys; zero values mean "as Rules say".
type Seed struct {
	// Number is given by AddSeed.
	Number uint32
	URL    canon.URL
	// Raw is the line or argument as given.
	Raw      string
	Depth    *int
	Scope    Scope
	MaxPages int64
	Floor    *time.Duration
	Priority *int
	Labels   map[string]string
	// Implied is the seed whose redirect made this one, -1 for a seed that was given.
	Implied int64
	// Sitemap: read it as a sitemap.
	Sitemap bool
	// TryHTTP: the line had no scheme; URL is https, and http is tried when https does not connect.
	TryHTTP bool
}

// Flags of a URL.
type Flags uint8

const (
	FlagSeed    Flags = 1 << iota
	FlagSitemap       // the URL is a sitemap, to be read as one
	FlagEmbed         // an embedded resource
	FlagListed        // found in a sitemap
)

// Candidate is a URL that may be admitted.
type Candidate struct {
	URL  canon.URL
	Via  Ordinal
	Hop  byte // L E R M I
	Seed uint32
	// ViaURL, ViaPath and ViaDepth are the Item's that it was found on. Without ViaURL it counts for no page's yield.
	ViaURL   canon.URL
	ViaPath  string
	ViaDepth int
	Flags    Flags
	LastMod  time.Time
}

// Reason is a skip reason of the contract (scope, depth, trap-length, ...); empty: admitted.
type Reason string

const (
	ReasonRobots            Reason = "robots"
	ReasonRobotsUnreachable Reason = "robots-unreachable"
	ReasonScope             Reason = "scope"
	ReasonDepth             Reason = "depth"
	ReasonScheme            Reason = "scheme"
	ReasonMime              Reason = "mime"
	ReasonNofollow          Reason = "nofollow"
	ReasonAddress           Reason = "address"
	ReasonHostUnreachable   Reason = "host-unreachable"
	ReasonBudget            Reason = "budget"
	ReasonMemory            Reason = "memory"
	ReasonTrapDepth         Reason = "trap-depth"
	ReasonTrapLength        Reason = "trap-length"
	ReasonTrapRepeat        Reason = "trap-repeat"
	ReasonTrapQuery         Reason = "trap-query"
	ReasonTrapCalendar      Reason = "trap-calendar"
	ReasonTrapSession       Reason = "trap-session"
)

// Verdict is the answer to Admit.
type Verdict struct {
	// Ordinal of the URL when it is in the log (new or known).
	Ordinal Ordinal
	// New: it was not known, and is queued once the batch is applied.
	New bool
	// Skip is why it is not crawled; empty for new and known URLs.
	Skip Reason
	// First: this distinct URL is skipped for the first time, as far as remembered; count it.
	First bool
}

// Item is a queued URL as the host offers it.
type Item struct {
	Ordinal Ordinal
	Host    HostID
	Origin  OriginID
	URL     canon.URL
	Via     Ordinal
	Hop     byte
	// Path is the hop path from the seed ("LLR"), empty for a seed.
	Path    string
	Depth   int
	Seed    uint32
	Flags   Flags
	Attempt int // requests already made for it
	// LastMod is the Candidate's, to the second.
	LastMod time.Time
}

// Outcome of a visit.
type Outcome uint8

const (
	Stored  Outcome = iota + 1 // a record of it is in the archive; final
	Failed                     // given up; final
	Skipped                    // decided not to fetch (Reason); final
	Retry                      // pending again, not before NotBefore
)

// Position is where a capture lies in the archive.
type Position struct {
	Serial uint32 // of the segment
	Offset int64
	Length int64 // of the response or revisit member
}

// Result is one visit.
type Result struct {
	Ordinal       Ordinal
	Outcome       Outcome
	Reason        Reason
	Attempt       int
	Time          time.Time
	Status        int
	PayloadDigest [16]byte // the first 16 bytes of the sha256
	ContentDigest [16]byte
	Archive       Position
	Bytes         int64 // decoded
	NotBefore     time.Time
	Freshness     [16]byte
}

// Ends are how far archive and crawl log are valid.
type Ends struct {
	// Segment is the file name of the open segment without ".open", its serial and its end; empty when none was begun.
	Segment       string
	SegmentSerial uint32
	SegmentEnd    int64
	Log           string
	LogEnd        int64
}

// Options of Create; Open reads them back.
type Options struct {
	// Rules in force now; a resume may pass others than the crawl began with.
	Rules Rules
	// ReadOnly opens beside a running crawl when the lock is free.
	ReadOnly bool
}

// Recovery is what Open found.
type Recovery struct {
	Ends Ends
	// Counters is the blob last set by Batch.SetCounters.
	Counters []byte
	URLs     int64
	Pending  int64
	Took     time.Duration
}
