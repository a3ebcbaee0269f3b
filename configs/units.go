package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as people write it: "500ms", "1h30m", "7d", or a bare number of seconds.
type Duration time.Duration

const day = 24 * time.Hour

// ParseDuration reads a non-negative duration: a bare number is seconds, "d" is 24 h, else as time.ParseDuration.
func ParseDuration(s string) (Duration, error) {
	in := strings.TrimSpace(s)
	fail := func() (Duration, error) {
		return 0, fmt.Errorf("%q is no duration: write 500ms, 30s, 5m, 2h, 1d, or a bare number of seconds", s)
	}
	if f, err := strconv.ParseFloat(in, 64); err == nil {
		if !(f >= 0 && f < float64(math.MaxInt64)/float64(time.Second)) {
			return fail()
		}
		return Duration(math.Round(f * float64(time.Second))), nil
	}
	var days time.Duration
	if head, tail, ok := strings.Cut(in, "d"); ok {
		n, err := strconv.ParseFloat(head, 64)
		if err != nil || !(n >= 0 && n <= 36500) {
			return fail()
		}
		days = time.Duration(n * float64(day))
		if tail == "" {
			return Duration(days), nil
		}
		in = tail
	}
	d, err := time.ParseDuration(in)
	if err != nil || d < 0 || d+days < 0 {
		return fail()
	}
	return Duration(d + days), nil
}

// String is the shortest form that ParseDuration reads back exactly: "30m", not "30m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseSize reads a non-negative size: "32MiB", "1.5 GB", or a bare number of bytes. Case does not matter. "10M" is
// refused, since half of the world means 10^7 by it and the other half 10*2^20.
func ParseSize(s string) (Size, error) {
	in := strings.TrimSpace(s)
	fail := func() (Size, error) {
		return 0, fmt.Errorf("%q is no size: write 32MiB (2^20), 1GB (10^9), 512kB or a bare number of bytes", s)
	}
	unit := int64(1)
	for _, u := range sizeUnits {
		if len(in) > len(u.name) && strings.EqualFold(in[len(in)-len(u.name):], u.name) {
			in, unit = strings.TrimSpace(in[:len(in)-len(u.name)]), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(in, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/unit {
		return Size(n * unit), nil
	}
	f, err := strconv.ParseFloat(in, 64)
	if err != nil || !(f >= 0 && f*float64(unit) < math.MaxInt64) {
		return fail()
	}
	return Size(math.Round(f * float64(unit))), nil
}

// String is the largest unit in which the size is a whole number.
func (s Size) String() string {
	best, unit := int64(1), ""
	for _, u := range sizeUnits {
		if u.bytes > best && s != 0 && int64(s)%u.bytes == 0 {
			best, unit = u.bytes, u.name
		}
	}
	return strconv.FormatInt(int64(s)/best, 10) + unit
}

// Rate is request starts per second; 0 leaves it to the crawler.
type Rate float64

// leastRate is the slowest Rate, one start a day. Far slower ones would be so long a pause that it overflows.
const leastRate = 1.0 / 86400

// ParseRate reads "10", "10/s", "90/m", "1000/h": 0, or from one a day to a million a second.
func ParseRate(s string) (Rate, error) {
	in, per := strings.TrimSpace(s), 1.0
	if n, unit, ok := strings.Cut(in, "/"); ok {
		switch strings.TrimSpace(unit) {
		case "s":
		case "m", "min":
			per = 60
		case "h":
			per = 3600
		default:
			per = math.NaN()
		}
		in = strings.TrimSpace(n)
	}
	f, err := strconv.ParseFloat(in, 64)
	if err != nil || !(f/per >= 0 && f/per <= 1e6) {
		return 0, fmt.Errorf("%q is no rate: write requests per second, as 10, 10/s, 90/m or 1000/h", s)
	}
	if f > 0 && f/per < leastRate {
		return 0, fmt.Errorf("%q is less than one request a day: write at least 0.042/h, or 0 to leave the rate to the crawler", s)
	}
	return Rate(f / per), nil
}

// String is requests per second as a bare number.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) }

// Depth is a number of link hops from a seed; Unlimited is none at all.
type Depth int

// Unlimited is the Depth without a limit.
const Unlimited Depth = -1

// ParseDepth reads a whole number from 0, or "unlimited".
func ParseDepth(s string) (Depth, error) {
	in := strings.TrimSpace(s)
	if strings.EqualFold(in, "unlimited") {
		return Unlimited, nil
	}
	n, err := strconv.Atoi(in)
	if err != nil || n < 0 || n > 1<<20 {
		return 0, fmt.Errorf("%q is no depth: write a whole number from 0 (seeds only), or unlimited", s)
	}
	return Depth(n), nil
}

// String is what ParseDepth reads.
func (d Depth) String() string {
	if d < 0 {
		return "unlimited"
	}
	return strconv.Itoa(int(d))
}
