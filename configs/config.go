package configs

import "time"

// MinForeignFloor is the shortest floor for hosts that are not the operator's own.
const MinForeignFloor = 200 * time.Millisecond

// Config is everything that a crawl can be told. What each key changes is written in default.yaml.
type Config struct {
	Scope    string   `yaml:"scope"`
	Depth    Depth    `yaml:"depth"`
	Include  []string `yaml:"include"`
	Exclude  []string `yaml:"exclude"`
	Also     []string `yaml:"also"`
	Sitemaps string   `yaml:"sitemaps"`

	MaxPages int64    `yaml:"max-pages"`
	PerHost  int64    `yaml:"max-pages-per-host"`
	MaxBytes Size     `yaml:"max-bytes"`
	MaxTime  Duration `yaml:"max-time"`
	MaxWait  Duration `yaml:"max-wait"`
	Timeout  Duration `yaml:"timeout"`
	MaxBody  Size     `yaml:"max-body"`
	Retries  int      `yaml:"retries"`

	Floor   Duration `yaml:"floor"`
	Ceiling Duration `yaml:"ceiling"`
	Rate    Rate     `yaml:"rate"`
	Workers int      `yaml:"workers"`

	Contact      string   `yaml:"contact"`
	Agent        string   `yaml:"agent"`
	Own          []string `yaml:"own"`
	IgnoreRobots bool     `yaml:"ignore-robots"`
	AllowPrivate bool     `yaml:"allow-private"`

	Hosts map[string]Host `yaml:"hosts"`

	ConnectTimeout  Duration `yaml:"connect-timeout"`
	HeadTimeout     Duration `yaml:"head-timeout"`
	AddressInterval Duration `yaml:"address-interval"`
	Resolvers       []string `yaml:"resolvers"`
	IdleConnections int      `yaml:"idle-connections"`
	WARCPrefix      string   `yaml:"warc-prefix"`
	SegmentSize     Size     `yaml:"segment-size"`
	BodyMemory      Size     `yaml:"body-memory"`
	MinFreeDisk     Size     `yaml:"min-free-disk"`
	MinFreeMemory   Size     `yaml:"min-free-memory"`
	RandomSeed      uint64   `yaml:"random-seed"`
}

// SeedKeys are what a seed line, or a host under `hosts:`, can say for itself. Nil and zero values mean "as the crawl".
type SeedKeys struct {
	Depth    *Depth            `yaml:"depth"`
	Scope    string            `yaml:"scope"`
	MaxPages int64             `yaml:"max-pages"`
	Floor    *Duration         `yaml:"floor"`
	Priority *int              `yaml:"priority"`
	Labels   map[string]string `yaml:"label"`
}

// Host is what `hosts:` says of one host.
type Host struct {
	SeedKeys `yaml:",inline"`
	Ceiling  *Duration `yaml:"ceiling"`
	Insecure bool      `yaml:"insecure"`
	// Traps is nil (all hold), ["off"], or the names of those that hold.
	Traps []string `yaml:"traps"`
	// User and Password are for HTTP Basic authentication. Password is always "$NAME", the name of an environment
	// variable, and User may be: so that no secret is ever in a file.
	User     string `yaml:"user"`
	Password string `yaml:"password"`
}
