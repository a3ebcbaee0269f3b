package ratectl

import (
	"net/http"
	"time"
)

// Config is the pace of one host. All durations are between the starts of two requests unless said otherwise.
type Config struct {
	// Floor is the shortest interval; 500 ms by default. Nothing goes below it. 0 means an own host: inference is off.
	Floor time.Duration
	// Ceiling is the longest interval that backing off reaches by itself; 30 s by default. The effective ceiling is
	// max(Ceiling, authoritative floor).
	Ceiling time.Duration
}

// Kind says how an exchange ended, as far as the pace is concerned.
type Kind uint8

const (
	Success        Kind = iota // 2xx, 3xx with a whole head
	ClientError                // 4xx but 429: no health sample
	ServerError                // 5xx but 503
	Limited                    // 429
	Unavailable                // 503
	Reset                      // reset, TLS abort
	ConnectTimeout             // no connection in time, refused
	HeadTimeout                // no first byte in time
	NoHost                     // DNS failure and other failures that say nothing about the host's rate
)

// Cause says what set the interval or the next start. The words are part of the crawl log's contract.
type Cause string

const (
	CauseStart      Cause = "start"
	CauseFloor      Cause = "floor"
	CauseCrawlDelay Cause = "crawl-delay"
	CauseRetryAfter Cause = "retry-after"
	CauseRateLimit  Cause = "ratelimit"
	CauseLimited    Cause = "limited"
	CauseBlocked    Cause = "blocked"
	CauseLatency    Cause = "latency"
	CauseTail       Cause = "tail"
	CauseFailures   Cause = "failures"
	CauseProbe      Cause = "probe"
	CauseRecover    Cause = "recover"
	CauseSteady     Cause = "steady"
	CauseShared     Cause = "shared"
	CauseOverride   Cause = "override"
)

// Outcome is what the controller is told of one exchange.
type Outcome struct {
	// Start is when the request head was written; End when the response ended; Now is not before End.
	Start, End time.Time
	// TTFB is from the request head written to the first byte, 0 when there was none.
	TTFB   time.Duration
	Kind   Kind
	Status int
	// Header is the response head; nil when there was none. Retry-After, Date and the RateLimit fields are read from it.
	Header http.Header
	// Shared: the global governor attributes this moment's latency and failures to a shared resource.
	Shared bool
}

// Decision is what Observe answers.
type Decision struct {
	// Interval in force after the outcome.
	Interval time.Duration
	// Next is the earliest next start: max(Start+Interval, not-before, End).
	Next time.Time
	// NotBefore is what the server asked for, zero when nothing; never cut by the ceiling.
	NotBefore time.Time
	Cause     Cause
	// Objection: the server objected (429, 503, block, timeouts and resets that count).
	Objection bool
	// Changed: the price that State.Price gives is another than before.
	Changed bool
	// Park: the server asked for more than 24 h.
	Park bool
}
