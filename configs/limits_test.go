package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func loadText(t *testing.T, text string) (*Loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "amble.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Layers{File: path})
}

// What is too long or too deep is refused before it is parsed, with its place.
func TestHugeFiles(t *testing.T) {
	steps := func(n int, part string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + part + "\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"brackets":          {"include: " + strings.Repeat("[", 100000), "amble.yaml:1: brackets"},
		"brackets at once":  {strings.Repeat("[", maxNesting+1), "amble.yaml:1: brackets"},
		"brackets on lines": {"include:\n" + strings.Repeat(" [\n", 1000), "amble.yaml:64: brackets"},
		"braces":            {"hosts: " + strings.Repeat("{a: ", 100000), "amble.yaml:1: brackets"},
		"dashes":            {"include:\n " + strings.Repeat("- ", 10000), "amble.yaml:2: brackets"},
		"questions":         {strings.Repeat("? ", 10000), "amble.yaml:1: brackets"},
		"steps":             {steps(1000, "a:"), "amble.yaml:65: brackets"},
		"long":              {strings.Repeat("# comment\n", maxFileBytes/10+1), "longer than 1MiB"},
		"endless":           {strings.Repeat("\x00", maxFileBytes+1), "longer than 1MiB"},
	} {
		_, err := loadText(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "amble.yaml") || len(err.Error()) > 500 {
			t.Errorf("%s: %.500v, want %s", name, err, c.want)
		}
	}
}

// Brackets in texts do not nest, nor do long lists; a file of the greatest size is read.
func TestBracketsInTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString("exclude:\n")
	for range 200 {
		b.WriteString("  - '[[{'\n  - a[[b\n  - \"{[{\"\n")
	}
	b.WriteString("include: [a, b, " + strings.Repeat("'[', ", 100) + "c] # [[[[\n")
	b.WriteString("hosts:\n")
	for i := 0; b.Len() < maxFileBytes-20<<10; i++ {
		fmt.Fprintf(&b, "  h%d.example: {floor: 2s, label: {a: b}}\n%s", i, strings.Repeat("# [[[[[[[[[[[[\n", 1000))
	}
	l, err := loadText(t, b.String())
	if err != nil {
		t.Fatalf("%.500v", err)
	}
	if len(l.Exclude) != 600 || len(l.Include) != 103 || len(l.Hosts) < 50 {
		t.Errorf("%d, %d, %d", len(l.Exclude), len(l.Include), len(l.Hosts))
	}
}

// An empty value in a list is an error wherever it stands; an empty list is none.
func TestEmptyListValues(t *testing.T) {
	for _, key := range []string{"include", "exclude", "also", "own", "resolvers"} {
		for _, values := range [][]string{{""}, {" "}, {"a", ""}} {
			if err := new(Config).Set(key, values...); err == nil || !strings.Contains(err.Error(), "empty") {
				t.Errorf("%s %q: %v", key, values, err)
			}
		}
		if err := new(Config).Set(key); err != nil {
			t.Errorf("%s without a value: %v", key, err)
		}
		if _, err := loadText(t, key+": ['']\n"); err == nil || !strings.Contains(err.Error(), "amble.yaml:1: "+key) {
			t.Errorf("%s in a file: %v", key, err)
		}
		for _, text := range []string{key + ": []\n", key + ":\n"} {
			if _, err := loadText(t, text); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if _, err := ParseSet(key + "="); err != nil {
			t.Errorf("--set %s=: %v", key, err)
		}
	}
}
