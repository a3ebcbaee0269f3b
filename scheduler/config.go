package scheduler

import (
	"net/netip"
	"time"

	"amble/fetcher"
	"amble/frontier"
	"amble/ratectl"
	"amble/storage"
)

// Config is everything that one crawl is told. Durations and sizes are exact; defaults are configs' business.
type Config struct {
	Rules frontier.Rules
	Pace  ratectl.Config
	// Rate is the global limit, request starts per second; 0: the governor finds it.
	Rate float64
	// Workers is how many exchanges run at a time, over all hosts.
	Workers int
	Limits  Limits
	Fetch   fetcher.Config
	Archive storage.Options
	// Product is the robots.txt product token (RFC 9309 section 2.2.1).
	Product string
	// Own are hosts that are the operator's.
	Own Own
	// IgnoreRobots fetches Own hosts without asking their robots.txt.
	IgnoreRobots bool
	// Sitemaps is "auto", "only" or "off".
	Sitemaps string
	// Hosts are settings per pace key.
	Hosts map[string]HostConfig
	// Seed of the crawl's own randomness (first contacts, fingerprints); 0 draws one.
	RandomSeed uint64
	// AddressInterval is between two starts per IPv4 address or IPv6 /64; 250 ms.
	AddressInterval time.Duration
	// BodyMemory is what bodies in flight share in memory; 64 MiB. Larger ones go to disk.
	BodyMemory int64
	// MinFreeDisk is the free space under which the crawl pauses; 512 MiB.
	MinFreeDisk int64
	// MinFreeMemory is the available memory of the machine under which the crawl pauses; 64 MiB.
	MinFreeMemory int64
	// Notify, when set, is told at once what the user should know: a line without line end, text of sites quoted.
	Notify func(msg string)
	// RetryFailed makes the failed URLs pending again on resume.
	RetryFailed bool
}

// Limits end a crawl. Zero means none. They hold over all runs of a job together.
type Limits struct {
	Pages   int64
	Bytes   int64
	Time    time.Duration
	MaxWait time.Duration // the longest wait for the next host; 30 min
	Retries int           // requests per URL for what is transient; 3
}

// Own says which hosts are the operator's.
type Own struct {
	Hosts    []string // exact names
	Suffixes []string // "*.example.org" without "*"
	Prefixes []netip.Prefix
}

// HostConfig is what `hosts:` in amble.yaml says of one host.
type HostConfig struct {
	Floor    *time.Duration
	Ceiling  *time.Duration
	MaxPages int64
	// Traps are those that hold for it, when it says so: nil leaves all on, an empty list none.
	Traps          []frontier.Reason
	Priority       *int
	Insecure       bool
	User, Password string
}

// rules are the frontier's rules, with what Hosts says of single hosts.
func (c *Config) rules() frontier.Rules {
	r := c.Rules
	for key, h := range c.Hosts {
		if h.MaxPages > 0 {
			if r.MaxPagesOf == nil {
				r.MaxPagesOf = map[string]int64{}
			}
			r.MaxPagesOf[key] = h.MaxPages
		}
		if h.Traps != nil {
			if r.TrapsOf == nil {
				r.TrapsOf = map[string][]frontier.Reason{}
			}
			r.TrapsOf[key] = h.Traps
		}
	}
	return r
}
