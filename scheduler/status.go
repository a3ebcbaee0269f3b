package scheduler

import (
	"time"

	"amble/storage"
)

// Status is status.json and `status --json`: DESIGN's contract, and more keys behind it.
type Status struct {
	State    string           `json:"state"` // running, stopped, finished
	End      string           `json:"end"`   // exhausted, max_pages, max_bytes, max_time, signal, waiting, ""
	Requests int64            `json:"requests"`
	Pages    int64            `json:"pages"`
	Queued   int64            `json:"queued"`
	Failed   int64            `json:"failed"`
	Hosts    int64            `json:"hosts"`
	Bytes    int64            `json:"bytes"`
	Skipped  map[string]int64 `json:"skipped"`
	Seeds    SeedCounts       `json:"seeds"`

	Classes    map[string]int64 `json:"classes"` // requests by class
	Objections int64            `json:"objections"`
	Job        string           `json:"job"`
	PID        int              `json:"pid"`
	Started    Moment           `json:"started"` // of this run
	Updated    Moment           `json:"updated"`
	// NextHost and NextStart say which host could start next, and when.
	NextHost  string `json:"next_host"`
	NextStart Moment `json:"next_start"`
	NextCause string `json:"next_cause"`
	// Archive is the committed end of the archive: exports stop there.
	Archive storage.Ends `json:"archive"`
}

// Moment is a time that JSON has in RFC 3339, in UTC, and as "" when there is none.
type Moment struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte(`""`), nil
	}
	return m.UTC().MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Moment) UnmarshalJSON(b []byte) error {
	if string(b) == `""` {
		m.Time = time.Time{}
		return nil
	}
	return m.Time.UnmarshalJSON(b)
}

// SeedCounts counts the seeds that were given.
type SeedCounts struct {
	Captured int64 `json:"captured"`
	Failed   int64 `json:"failed"`
	Pending  int64 `json:"pending"`
}

// Live is a moment of a running crawl.
type Live struct {
	Status
	PagesPerSecond float64 // over the last 10 s
	InFlight       int
	Ready          int    // hosts that could start now
	Waiting        int    // hosts with URLs whose time has not come
	Paused         string // why the whole crawl waits (low disk, low memory), empty when it does not
	// WaitingFor are hosts that wait longest, at most 3, with cause and time.
	WaitingFor []Wait

	rates []pagesAt // of the last seconds
}

// Wait is a host that waits.
type Wait struct {
	Host  string
	Cause string
	Until time.Time
}
