package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The demo finds every page once, exports, and says where things are. Whether the pace was kept to the millisecond is
// not asked here: the machine that runs the tests may be busy.
func TestDemo(t *testing.T) {
	t.Parallel()
	job := filepath.Join(t.TempDir(), "job")
	var stdout, stderr bytes.Buffer
	c := &cli{stdout: &stdout, stderr: &stderr, job: job, version: "test"}
	err := runDemo(t.Context(), c, &demoOptions{floor: 0, fast: true})
	if err != nil && !regexp.MustCompile(`^the demo found [\d,]+ broken promises?, 0 missing pages, 0 pages captured twice$`).MatchString(err.Error()) {
		t.Fatalf("%v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	m := regexp.MustCompile(`(?m)^Pages +(\d+) of the (\d+) `).FindSubmatch(stdout.Bytes())
	if m == nil || !bytes.Equal(m[1], m[2]) || len(m[1]) < 3 {
		t.Errorf("pages: %q", m)
	}
	for _, name := range []string{"export/pages.jsonl", "export/pages.warc.gz", "crawl.jsonl"} {
		path := filepath.Join(job, filepath.FromSlash(name))
		if info, err := os.Stat(path); err != nil || info.Size() == 0 || !bytes.Contains(stdout.Bytes(), []byte(path)) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if bytes.ContainsRune(stdout.Bytes(), '\x1b') || bytes.ContainsRune(stderr.Bytes(), '\x1b') {
		t.Error("escapes, though nothing is a terminal")
	}
}
