package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// DefaultYAML is the commented file that every default comes from.
//
//go:embed default.yaml
var DefaultYAML []byte

// EnvPrefix begins the environment variables that set keys: AMBLE_MAX_PAGES sets max-pages.
const EnvPrefix = "AMBLE_"

// Assignment is one flag as given: a key and its values, in order.
type Assignment struct {
	Key    string
	Values []string
	// Flag is how it was spelt, for messages ("--floor", "--set floor").
	Flag string
}

// Layers are the places that may say something, weakest first. The defaults lie beneath them.
type Layers struct {
	UserFile string   // passed over when it is missing or ""
	JobFile  string   // passed over when it is missing or ""
	File     string   // --config; must exist unless ""
	Environ  []string // as os.Environ gives it
	Flags    []Assignment
}

// Loaded is a Config and where each of its keys was set.
type Loaded struct {
	Config
	// Warnings are about variables that look like settings and are none.
	Warnings []string

	sources map[string]string
	env     map[string]string
}

// UserFile is where a user's own settings lie: amble/amble.yaml in $XDG_CONFIG_HOME or ~/.config, and in the directory
// for settings on Windows. It is "" where there is no such directory.
func UserFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if runtime.GOOS == "windows" {
			dir, err = os.UserConfigDir()
		} else {
			dir = filepath.Join(home, ".config")
		}
		if err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "amble", "amble.yaml")
}

// Default is what holds when nobody says anything.
func Default() Config {
	l := newLoaded()
	if err := l.applyYAML("default.yaml", DefaultYAML); err != nil {
		panic(err) // a test loads it: it cannot fail in a program that was built
	}
	return l.Config
}

func newLoaded() *Loaded {
	return &Loaded{sources: make(map[string]string), env: make(map[string]string)}
}

// Load puts the layers on top of each other. It checks each value by itself; Validate checks them together.
func Load(layers Layers) (*Loaded, error) {
	l := newLoaded()
	l.Config = Default()
	for _, file := range []struct {
		path string
		must bool
	}{{layers.UserFile, false}, {layers.JobFile, false}, {layers.File, true}} {
		if file.path == "" {
			continue
		}
		text, err := readFile(file.path)
		if errors.Is(err, fs.ErrNotExist) && !file.must {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if err := l.applyYAML(file.path, text); err != nil {
			return nil, err
		}
	}
	if err := l.applyEnviron(layers.Environ); err != nil {
		return nil, err
	}
	return l, l.applyFlags(layers.Flags)
}

// maxFileBytes is the largest file that is read: room for some 10,000 hosts with a few keys each.
const maxFileBytes = 1 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s: is longer than %s, and so is no configuration file", path, Size(maxFileBytes))
	}
	return text, err
}

func (l *Loaded) applyEnviron(environ []string) error {
	keys := make(map[string]string)
	for _, key := range Keys() {
		if key != "hosts" {
			keys[envName(key)] = key
		}
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		l.env[name] = value
		if !strings.HasPrefix(name, EnvPrefix) || value == "" {
			continue
		}
		key, ok := keys[name]
		if !ok {
			// AMBLE_JOB is the command line's, AMBLE_TEST_ the tests'.
			near := Nearest(name, slices.Sorted(maps.Keys(keys)))
			if near != "" && name != "AMBLE_JOB" && !strings.HasPrefix(name, "AMBLE_TEST_") {
				l.Warnings = append(l.Warnings, fmt.Sprintf("the variable %s sets nothing (did you mean %s?)", name, near))
			}
			continue
		}
		if err := l.Config.Set(key, split(&l.Config, key, value)...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.sources[key] = name
	}
	return nil
}

func envName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// applyFlags lets the last value of a repeated flag win, and repeated lists add up.
func (l *Loaded) applyFlags(flags []Assignment) error {
	lists := make(map[string][]string)
	for _, f := range flags {
		values := f.Values
		if _, list := fieldOf(&l.Config, f.Key).(*[]string); list {
			lists[f.Key] = append(lists[f.Key], values...)
			values = lists[f.Key]
		}
		if err := l.Config.Set(f.Key, values...); err != nil {
			return fmt.Errorf("%s: %w", f.Flag, err)
		}
		l.sources[f.Key] = f.Flag
	}
	return nil
}

// ParseSet reads the KEY=VALUE of --set; a list's values are separated by white space.
func ParseSet(s string) (Assignment, error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		return Assignment{}, fmt.Errorf("--set %q: write KEY=VALUE", s)
	}
	key = strings.TrimSpace(key)
	a := Assignment{Key: key, Values: split(&Config{}, key, value), Flag: "--set " + key}
	if err := new(Config).Set(key, a.Values...); err != nil {
		return Assignment{}, fmt.Errorf("--set %s: %w", key, err)
	}
	return a, nil
}

// Source says where a key's value comes from: "--floor", "AMBLE_FLOOR", "/home/me/amble.yaml:3", or "default".
func (l *Loaded) Source(key string) string {
	if s, ok := l.sources[key]; ok {
		return s
	}
	return "default"
}

// name is how a message calls a key: as the one spelt it who set it, else by its flag.
func (l *Loaded) name(key string) string {
	s, ok := l.sources[key]
	switch {
	case !ok:
		return "--" + key
	case strings.Contains(s, ":"):
		return s + ": " + key
	}
	return s
}
