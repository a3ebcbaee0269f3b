package configs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The defaults are DESIGN's, every key has one, and every key is explained by a comment above it.
func TestDefaults(t *testing.T) {
	c := Default()
	for name, pair := range map[string][2]any{
		"scope": {c.Scope, "host"}, "depth": {c.Depth, Unlimited}, "floor": {time.Duration(c.Floor), 500 * time.Millisecond},
		"ceiling": {time.Duration(c.Ceiling), 30 * time.Second}, "workers": {c.Workers, 64},
		"max-wait": {time.Duration(c.MaxWait), 30 * time.Minute}, "timeout": {time.Duration(c.Timeout), 120 * time.Second},
		"max-body": {c.MaxBody, Size(32 << 20)}, "sitemaps": {c.Sitemaps, "auto"}, "segment-size": {c.SegmentSize, Size(1e9)},
		"address-interval": {time.Duration(c.AddressInterval), 250 * time.Millisecond}, "body-memory": {c.BodyMemory, Size(64 << 20)},
		"retries": {c.Retries, 3}, "max-pages": {c.MaxPages, int64(0)}, "rate": {c.Rate, Rate(0)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	set := make(map[string]bool)
	commented := false
	for line := range strings.Lines(string(DefaultYAML)) {
		if m := regexp.MustCompile(`^([a-z-]+):`).FindStringSubmatch(line); m != nil {
			set[m[1]] = true
			if !commented {
				t.Errorf("%s stands in default.yaml without a comment", m[1])
			}
			continue
		}
		commented = strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "# ----")
	}
	for _, key := range Keys() {
		if !set[key] {
			t.Errorf("%s is not in default.yaml", key)
		}
	}
}

func TestLayers(t *testing.T) {
	user := write(t, "amble.yaml", "floor: 1\nworkers: 1\nrate: 1\nretries: 1\nmax-pages: 1\nexclude: [a, b]\nhosts: {a.example: {floor: 3s}, b.example: {floor: 3s}}\n")
	job := write(t, "amble.yaml", "floor: 2\nworkers: 2\nrate: 2\nretries: 2\nexclude: [c]\nhosts: {b.example: {ceiling: 9}}\n")
	file := write(t, "amble.yaml", "floor: 3\nworkers: 3\nrate: 3\n")
	got, err := Load(Layers{
		UserFile: user, JobFile: job, File: file,
		Environ: []string{"AMBLE_FLOOR=4", "AMBLE_WORKERS=4", "AMBLE_INCLUDE=x  y", "AMBLE_CONTACT=", "HOME=/"},
		Flags: []Assignment{
			{"floor", []string{"5"}, "--floor"}, {"floor", []string{"6"}, "--delay"},
			{"also", []string{"p"}, "--also"}, {"also", []string{"q"}, "--also"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Floor, want.Workers, want.Rate, want.Retries, want.MaxPages = Duration(6*time.Second), 4, 3, 2, 1
	want.Exclude, want.Include, want.Also = []string{"c"}, []string{"x", "y"}, []string{"p", "q"}
	three, nine := Duration(3*time.Second), Duration(9*time.Second)
	want.Hosts = map[string]Host{"a.example": {SeedKeys: SeedKeys{Floor: &three}}, "b.example": {Ceiling: &nine}}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"floor": "--delay", "workers": "AMBLE_WORKERS", "rate": file + ":3", "retries": job + ":4",
		"max-pages": user + ":5", "timeout": "default",
	} {
		if src := got.Source(key); src != want {
			t.Errorf("%s comes from %s, want %s", key, src, want)
		}
	}
	if len(got.Warnings) != 0 {
		t.Errorf("warnings: %q", got.Warnings)
	}
}

func TestMissingFiles(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(Layers{UserFile: none, JobFile: none}); err != nil {
		t.Error(err)
	}
	if _, err := Load(Layers{File: none}); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("a missing --config: %v", err)
	}
}

// Every error names the place, the key and what would be right.
func TestStrictLoading(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "scope: host\nmax_pages: 3\n", `FILE:2: unknown key "max_pages" (did you mean "max-pages"?)`},
		{"unknown key of a host", "hosts:\n  a.example:\n    flor: 2\n", `FILE:3: unknown key "flor" (did you mean "floor"?)`},
		{"nothing near", "zzzzzzzz: 3\n", `FILE:1: unknown key "zzzzzzzz" (known are: scope, `},
		{"bad duration", "\nfloor: soon\n", `FILE:2: floor: "soon" is no duration`},
		{"bad size", "max-body: 10M\n", `FILE:1: max-body: "10M" is no size`},
		{"list for one value", "scope: [host, path]\n", "FILE:1: scope: takes one value, not 2"},
		{"mapping for a value", "floor: {a: b}\n", "FILE:1: floor: a plain value or a list of them is expected"},
		{"value for a mapping", "hosts: 3\n", "FILE:1: keys with values are expected here"},
		{"value for a host", "hosts:\n  a.example: 3\n", "FILE:2: keys with values are expected here"},
		{"no mapping", "- a\n- b\n", "FILE:1: keys with values are expected here"},
		{"syntax", "scope: host\ninclude: [a\n", "FILE:2: "},
		{"twice", "floor: 1\nfloor: 2\n", "FILE:2: "},
		{"second document", "floor: 1\n---\nfloor: 2\n", "FILE:3: a second document"},
		{"bool", "ignore-robots: perhaps\n", `FILE:1: ignore-robots: "perhaps" is neither true nor false`},
		{"number", "workers: many\n", `FILE:1: workers: "many" is no whole number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "amble.yaml", c.text)
			_, err := Load(Layers{JobFile: path})
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), path, "FILE"), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestLenientForms(t *testing.T) {
	path := write(t, "amble.yaml", "\ufeffexclude: '\\?x=1: y'\r\ninclude:\r\n  - '^https://a'\r\nworkers: 1_0\r\nalso:\r\nhosts:\r\n")
	got, err := Load(Layers{UserFile: path})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`^https://a`, `\?x=1: y`}, append(got.Include, got.Exclude...)); diff != "" || got.Workers != 10 || got.Also != nil {
		t.Errorf("%s, workers %d, also %q", diff, got.Workers, got.Also)
	}
}

func TestEnvironment(t *testing.T) {
	if _, err := Load(Layers{Environ: []string{"AMBLE_FLOOR=soon"}}); err == nil || !strings.HasPrefix(err.Error(), "AMBLE_FLOOR: ") {
		t.Errorf("a bad value: %v", err)
	}
	got, err := Load(Layers{Environ: []string{"AMBLE_MAXPAGES=3", "AMBLE_JOB=x", "AMBLE_TEST_MAIN=1"}})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "AMBLE_MAX_PAGES") {
		t.Errorf("a misspelt variable: %v, %q", err, got.Warnings)
	}
}

func TestParseSet(t *testing.T) {
	a, err := ParseSet("exclude=a b")
	if err != nil || len(a.Values) != 2 {
		t.Errorf("a list: %+v, %v", a, err)
	}
	for in, want := range map[string]string{
		"floor": "write KEY=VALUE", "flor=2": `did you mean "floor"`, "floor=x": "is no duration", "hosts=x": "hosts stands in a file only",
	} {
		if _, err := ParseSet(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSet(%q): %v, want %s", in, err, want)
		}
	}
}

// What YAML writes, Load reads back as the same Config.
func TestYAMLRoundTrip(t *testing.T) {
	dir := t.TempDir()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-?:,\[\]{}#&*!|>'"%@ a0.~]{0,12}`))
	list := rapid.SliceOfN(text.Filter(func(s string) bool { return strings.TrimSpace(s) != "" }), 0, 3)
	duration := rapid.Custom(func(t *rapid.T) Duration { return Duration(rapid.Int64Range(0, 1<<50).Draw(t, "d")) })
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		c.Include, c.Exclude = list.Draw(t, "include"), list.Draw(t, "exclude")
		c.Contact = strings.TrimSpace(text.Draw(t, "contact"))
		c.Floor = duration.Draw(t, "floor")
		c.MaxBytes = Size(rapid.Int64Range(0, 1<<60).Draw(t, "size"))
		c.Rate = Rate(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(leastRate, 1e6)).Draw(t, "rate"))
		c.Depth = Depth(rapid.IntRange(-1, 100).Draw(t, "depth"))
		c.RandomSeed = rapid.Uint64().Draw(t, "seed")
		c.IgnoreRobots = rapid.Bool().Draw(t, "ignore")
		for i := range rapid.IntRange(0, 3).Draw(t, "hosts") {
			floor, depth, priority := duration.Draw(t, "f"), Depth(i), -i
			h := Host{User: strings.TrimSpace(text.Draw(t, "user")), Password: "$SECRET", Insecure: i == 1}
			h.SeedKeys = SeedKeys{Floor: &floor, Depth: &depth, Priority: &priority, Labels: map[string]string{"a": text.Draw(t, "label")}}
			h.Traps = rapid.SampledFrom([][]string{nil, {}, {"off"}, {"trap-query", "trap-depth"}}).Draw(t, "traps")
			if c.Hosts == nil {
				c.Hosts = map[string]Host{}
			}
			c.Hosts[strings.Repeat("x", i+1)+".example"] = h
		}
		out := c.YAML()
		path := filepath.Join(dir, "amble.yaml")
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Load(Layers{JobFile: path})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(normal(c), normal(got.Config)); diff != "" {
			t.Fatalf("%s\n%s", diff, out)
		}
	})
}

// normal makes empty lists equal to absent ones.
func normal(c Config) Config {
	for _, l := range []*[]string{&c.Include, &c.Exclude, &c.Also, &c.Own, &c.Resolvers} {
		if len(*l) == 0 {
			*l = nil
		}
	}
	if len(c.Hosts) == 0 {
		c.Hosts = nil
	}
	return c
}

func FuzzLoad(f *testing.F) {
	f.Add(DefaultYAML)
	f.Add([]byte("hosts:\n  a.example: {floor: 2s, label.x: y}\n"))
	f.Add([]byte("include: [a, &x b, *x]\n<<: {a: b}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLoaded()
		l.Config = Default()
		if err := l.applyYAML("f", text); err != nil && !bytes.Contains([]byte(err.Error()), []byte("f:")) {
			t.Errorf("an error without its place: %v", err)
		}
	})
}
