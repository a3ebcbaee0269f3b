package scheduler

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAddressPace(t *testing.T) {
	t0 := time.Unix(1000, 0)
	p := newAddressPace(250 * time.Millisecond)
	for i, tc := range []struct {
		addr string
		now  time.Duration
		want time.Duration
	}{
		{"192.0.2.1", 0, 0},
		{"192.0.2.1", 0, 250 * time.Millisecond},
		{"192.0.2.2", 0, 0},
		{"::ffff:192.0.2.1", 100 * time.Millisecond, 500 * time.Millisecond},
		{"2001:db8::1", 0, 0},
		{"2001:db8::2", 0, 250 * time.Millisecond}, // one /64
		{"2001:db8:0:1::1", 0, 0},
		{"192.0.2.1", 10 * time.Second, 10 * time.Second},
	} {
		if got := p.claim(netip.MustParseAddr(tc.addr), t0.Add(tc.now)).Sub(t0); got != tc.want {
			t.Errorf("%d: %s gets %v, want %v", i, tc.addr, got, tc.want)
		}
	}
}

func TestOwnCovers(t *testing.T) {
	o := Own{Hosts: []string{"a.example"}, Suffixes: []string{".b.example"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	for host, want := range map[string]bool{
		"a.example": true, "x.a.example": false, "b.example": false, "x.b.example": true, "xb.example": false,
		"10.1.2.3": true, "11.1.2.3": false, "[::1]": true, "::1": true,
	} {
		if got := o.Covers(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	for key, want := range map[string]string{"a.example": "a.example", "a.example:81": "a.example", "[::1]": "[::1]", "[::1]:81": "[::1]"} {
		if got := hostname(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}

func TestCrawlLogIsCutBackAndRotated(t *testing.T) {
	dir := t.TempDir()
	l, err := openCrawlLog(dir, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 10
	write := func(s string) {
		t.Helper()
		if err := l.append([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func(name string, end int64) {
		t.Helper()
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		if l, err = openCrawlLog(dir, name, end); err != nil {
			t.Fatal(err)
		}
		l.limit = 10
	}
	write("one\n")
	name, end := l.name(), l.end
	write("two\n")
	reopen(name, end) // two was never committed
	write("2\n")
	name, end = l.name(), l.end
	write("too long\n") // rotates
	if l.name() != "1" || l.end != 9 {
		t.Fatalf("after rotation: %s, %d", l.name(), l.end)
	}
	reopen(name, end) // nor was the rotation
	b, err := os.ReadFile(filepath.Join(dir, crawlLogName))
	if err != nil || string(b) != "one\n2\n" {
		t.Fatalf("%q, %v", b, err)
	}
	write("too long\n")
	name, end = l.name(), l.end
	reopen(name, end)
	if b, err := os.ReadFile(l.aside(1)); err != nil || string(b) != "one\n2\n" {
		t.Fatalf("%q, %v", b, err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openCrawlLog(dir, name, end+1); err == nil {
		t.Error("a log shorter than committed was accepted")
	}
}

func TestLongestWaits(t *testing.T) {
	var ws []Wait
	for _, s := range []int64{3, 1, 4, 1, 5, 9, 2, 6} {
		ws = longest(ws, Wait{Until: time.Unix(s, 0)})
	}
	if len(ws) != 3 || ws[0].Until.Unix() != 9 || ws[1].Until.Unix() != 6 || ws[2].Until.Unix() != 5 {
		t.Errorf("%v", ws)
	}
}

func TestNofollow(t *testing.T) {
	for s, want := range map[string]bool{"": false, "noindex": false, "noindex, NoFollow": true, "none": true, "nofollowing": false} {
		if nofollow(s) != want {
			t.Errorf("%q", s)
		}
	}
}

func TestMomentInJSON(t *testing.T) {
	for want, m := range map[string]Moment{
		`""`: {}, `"2026-12-01T09:00:00Z"`: {time.Date(2026, 12, 1, 10, 0, 0, 0, time.FixedZone("", 3600))},
	} {
		b, err := json.Marshal(m)
		if err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
		var back Moment
		if err := json.Unmarshal(b, &back); err != nil || !back.Equal(m.Time) {
			t.Errorf("read back %v, %v", back, err)
		}
	}
}
