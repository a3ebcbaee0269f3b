package scheduler

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"amble/fetcher/capture"
	"amble/frontier"
)

// counters are the totals of a job over all its runs. They are committed with the results that they count, so that
// they agree with the logs after a kill at any moment.
type counters struct {
	Requests int64                     `json:"requests"`
	Pages    int64                     `json:"pages"`
	Failed   int64                     `json:"failed"`
	Bytes    int64                     `json:"bytes"`
	Skipped  map[frontier.Reason]int64 `json:"skipped"`
	Classes  map[capture.Class]int64   `json:"classes"`
	Seeds    SeedCounts                `json:"seeds"`
	Objected int64                     `json:"objected"`
	// Elapsed is the running time of the runs before this one.
	Elapsed time.Duration `json:"elapsed"`
	// Runs is how often the job was started.
	Runs int64 `json:"runs"`
	// End is how the last run ended, empty while one runs.
	End string `json:"end"`
}

func readCounters(blob []byte) (counters, error) {
	var c counters
	if len(blob) > 0 {
		if err := json.Unmarshal(blob, &c); err != nil {
			return c, fmt.Errorf("read the counters: %w", err)
		}
	}
	if c.Skipped == nil {
		c.Skipped = map[frontier.Reason]int64{}
	}
	if c.Classes == nil {
		c.Classes = map[capture.Class]int64{}
	}
	return c, nil
}

// blob is the form that is committed; elapsed is the running time of all runs until now.
func (c *counters) blob(elapsed time.Duration) []byte {
	d := *c
	d.Elapsed = elapsed
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return b
}

func (c *counters) status() Status {
	s := Status{
		Requests: c.Requests, Pages: c.Pages, Failed: c.Failed, Bytes: c.Bytes, Seeds: c.Seeds, End: c.End,
		Objections: c.Objected,
		Skipped:    make(map[string]int64, len(c.Skipped)), Classes: make(map[string]int64, len(c.Classes)),
	}
	for k, v := range c.Skipped {
		s.Skipped[string(k)] = v
	}
	for k, v := range c.Classes {
		s.Classes[string(k)] = v
	}
	return s
}

func (c *counters) clone() counters {
	d := *c
	d.Skipped, d.Classes = maps.Clone(c.Skipped), maps.Clone(c.Classes)
	return d
}
