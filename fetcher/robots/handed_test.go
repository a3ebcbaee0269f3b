package robots

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// handedFile is one file of testdata/handed.json.
type handedFile struct {
	ID     string  `json:"id"`
	Text   string  `json:"robots"`
	Base64 []byte  `json:"robots_base64"`
	Parts  [][]any `json:"parts"`
	Cases  [][]any `json:"cases"`
}

func (f *handedFile) body() []byte {
	switch {
	case f.Base64 != nil:
		return f.Base64
	case f.Parts != nil:
		var b strings.Builder
		for _, part := range f.Parts {
			b.WriteString(strings.Repeat(part[0].(string), int(part[1].(float64))))
		}
		return []byte(b.String())
	}
	return []byte(f.Text)
}

func handed(tb testing.TB) []handedFile {
	tb.Helper()
	text, err := os.ReadFile("testdata/handed.json")
	if err != nil {
		tb.Fatal(err)
	}
	var files []handedFile
	if err := json.Unmarshal(text, &files); err != nil {
		tb.Fatal(err)
	}
	return files
}

func TestHandedDecisions(t *testing.T) {
	files := handed(t)
	n := 0
	for i := range files {
		f := &files[i]
		t.Run(f.ID, func(t *testing.T) {
			rules := Parse(f.body())
			for _, c := range f.Cases {
				token, target, want := c[0].(string), c[1].(string), c[2].(float64) == 1
				n++
				if got := rules.Group(token).Decide(target); got.Allowed != want {
					t.Errorf("%s for %q: got %+v, want allowed %v", token, target, got, want)
				}
			}
		})
	}
	if len(files) != 68 || n != 225 {
		t.Errorf("read %d files with %d decisions, want 68 with 225", len(files), n)
	}
}
