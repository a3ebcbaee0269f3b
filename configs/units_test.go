package configs

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
	}{
		{"30", 30 * time.Second}, {"1.5", 1500 * time.Millisecond}, {"0", 0}, {"500ms", 500 * time.Millisecond},
		{"1h30m", 90 * time.Minute}, {"2d", 48 * time.Hour}, {"1d12h", 36 * time.Hour}, {" 5m ", 5 * time.Minute},
		{"0.5d", 12 * time.Hour}, {"1e3", 1000 * time.Second},
	} {
		got, err := ParseDuration(c.in)
		if err != nil || time.Duration(got) != c.want {
			t.Errorf("ParseDuration(%q) = %s, %v, want %s", c.in, time.Duration(got), err, c.want)
		}
	}
	for _, in := range []string{"", "-1", "-5s", "5x", "NaN", "Inf", "1e300", "d", "1d-2h", "99999d", "five"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %s, want an error", in, time.Duration(got))
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Size
	}{
		{"0", 0}, {"512", 512}, {"32MiB", 32 << 20}, {"1GB", 1e9}, {"1.5 GB", 15e8}, {"64kb", 64000}, {"10 B", 10},
		{"2tib", 2 << 40},
	} {
		if got, err := ParseSize(c.in); err != nil || got != c.want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "B", "10M", "10k", "-1", "NaN", "9e30", "1XB"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		}
	}
}

func TestParseRateAndDepth(t *testing.T) {
	for in, want := range map[string]Rate{"10": 10, "10/s": 10, "90/m": 1.5, "3600/h": 1, "0": 0, "0.0/h": 0, "0.25": 0.25, "0.0625/h": 0.0625 / 3600} {
		if got, err := ParseRate(in); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "10/d", "x", "Inf", "1e9", "1e-300/h", "1e-320", "0.04/h", "1e-9"} {
		if got, err := ParseRate(in); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", in, got)
		}
	}
	for in, want := range map[string]Depth{"0": 0, "3": 3, "unlimited": Unlimited, "Unlimited": Unlimited} {
		if got, err := ParseDepth(in); err != nil || got != want {
			t.Errorf("ParseDepth(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "1.5", "all"} {
		if got, err := ParseDepth(in); err == nil {
			t.Errorf("ParseDepth(%q) = %v, want an error", in, got)
		}
	}
}

// What String writes, the parsers read back exactly.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, 1<<60).Draw(t, "duration"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("ParseDuration(%q) = %d, %v, want %d", d.String(), got, err, d)
		}
		s := Size(rapid.Int64Range(0, 1<<50).Draw(t, "size"))
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Fatalf("ParseSize(%q) = %d, %v, want %d", s.String(), got, err, s)
		}
	})
}

func TestDurationString(t *testing.T) {
	for in, want := range map[time.Duration]string{
		30 * time.Minute: "30m", time.Hour: "1h", 500 * time.Millisecond: "500ms", 90 * time.Second: "1m30s", 0: "0s",
		2 * time.Minute: "2m", 10 * time.Second: "10s", 36 * time.Hour: "36h",
	} {
		if got := Duration(in).String(); got != want {
			t.Errorf("%s is written %q, want %q", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for in, want := range map[string]string{
		"max_pages": "max-pages", "maxpages": "max-pages", "dept": "depth", "exlude": "exclude", "zzzzzzz": "", "floors": "floor",
	} {
		if got := Nearest(in, Keys()); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}
