package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"amble/storage/warc"
)

func TestSegmentNames(t *testing.T) {
	tests := []struct {
		name   string
		serial uint32
		ok     bool
	}{
		{"AMBLE-20261201140000123-00000-host.warc.gz", 0, true},
		{"A-B-20261201140000123-00042-my-host.example.warc.gz", 42, true},
		{"AMBLE-20261201140000123-123456-h.warc.gz", 123456, true},
		{"AMBLE-20261201140000-00000-host.warc.gz", 0, false},
		{"AMBLE-20261201140000123-0000-host.warc.gz", 0, false},
		{"AMBLE-20261201140000123-00000.warc.gz", 0, false},
		{"AMBLE-20261201140000123-99999999999-host.warc.gz", 0, false},
		{"AMBLE-20261201140000123-00000-host.warc.gz.idx", 0, false},
		{"-.warc.gz", 0, false},
	}
	for _, tt := range tests {
		serial, ok := parseSegmentName(tt.name)
		if ok != tt.ok || ok && serial != tt.serial {
			t.Errorf("%s: %d, %t", tt.name, serial, ok)
		}
	}
	if got := segmentName("A", testTime, 7, "m"); got != "A-20261201140000123-00007-m.warc.gz" {
		t.Error(got)
	}
	for in, want := range map[string]string{"Host-1.example": "Host-1.example", "h/ö st": "h___st", "": "x", "..": "x", "-a": "a"} {
		if got := fileNamePart(in, "x"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEntryCoding(t *testing.T) {
	e := Entry{Offset: 1 << 40, Length: 2, RequestLength: 3, MetadataLength: 4, Time: testTime, URL: "http://a.example/\u00e9", Status: 404,
		MediaType: "text/html", ID: warc.ID{1}, PayloadDigest: [32]byte{2}, Kind: KindSitemap, Truncated: "time"}
	b := appendEntry(nil, &e)
	got, ok := parseEntry(b[8:])
	if d := cmp.Diff(e, got); !ok || d != "" {
		t.Errorf("%t (-want +got):\n%s", ok, d)
	}
	for n := 8; n < len(b); n++ {
		if _, ok := parseEntry(b[8:n]); ok {
			t.Errorf("cut at %d: taken", n)
		}
	}
}
