package web

import (
	"slices"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a request of host h that starts ms milliseconds after t0 and takes 10 ms.
func at(ms int, target string) Request {
	start := t0.Add(time.Duration(ms) * time.Millisecond)
	return Request{Host: "h", Target: target, Start: start, End: start.Add(10 * time.Millisecond), Status: 200}
}

func (r Request) lasting(ms int) Request {
	r.End = r.Start.Add(time.Duration(ms) * time.Millisecond)
	return r
}

func (r Request) open() Request {
	r.End = time.Time{}
	return r
}

func (r Request) on(host string) Request {
	r.Host = host
	return r
}

func (r Request) retryAfter(ms int) Request {
	r.Status, r.NotBefore = 429, r.End.Add(time.Duration(ms)*time.Millisecond)
	return r
}

// Forged logs: each kind of breach is found, and nothing else; honest logs pass.
func TestJudge(t *testing.T) {
	const floor, jitter = 500 * time.Millisecond, 10 * time.Millisecond
	robots := map[string]bool{"/robots.txt": true}
	policies := map[string]policy{
		"h":      {robotsEnd: place{"h", "/robots.txt"}, robotsHops: robots, forbidden: map[string]bool{"/private": true}},
		"slow":   {robotsEnd: place{"slow", "/robots.txt"}, robotsHops: robots, delay: 2 * time.Second},
		"short":  {robotsEnd: place{"short", "/robots.txt"}, robotsHops: robots, delay: 100 * time.Millisecond},
		"down":   {robotsEnd: place{"down", "/robots.txt"}, robotsHops: robots, allForbidden: true},
		"guest":  {robotsEnd: place{"keeper", "/guest.txt"}, robotsHops: robots},
		"keeper": {robotsEnd: place{"keeper", "/robots.txt"}, robotsHops: map[string]bool{"/robots.txt": true, "/guest.txt": true}},
	}
	for _, c := range []struct {
		name string
		log  []Request
		want []string
	}{
		{"empty", nil, nil},
		{"honest", []Request{at(0, "/robots.txt"), at(500, "/"), at(1000, "/a"), at(1990, "/b")}, nil},
		{"early within jitter", []Request{at(0, "/robots.txt"), at(490, "/"), at(990, "/a"), at(1492, "/b")}, nil},
		{"jitter adds up", []Request{at(0, "/robots.txt"), at(491, "/"), at(982, "/a")}, []string{"floor"}},
		{"one logged late", []Request{at(0, "/robots.txt"), at(509, "/"), at(1000, "/a"), at(1500, "/b")}, nil},
		{"a pause earns nothing", []Request{at(0, "/robots.txt"), at(5000, "/"), at(5100, "/a")}, []string{"floor"}},
		{"early beyond jitter", []Request{at(0, "/robots.txt"), at(489, "/")}, []string{"floor"}},
		{"floor counts every request", []Request{at(0, "/robots.txt"), at(600, "/sitemap.xml"), at(700, "/")}, []string{"floor"}},
		{"hosts are apart", []Request{at(0, "/robots.txt"), at(5, "/robots.txt").on("slow"), at(500, "/")}, nil},
		{"a Crawl-delay kept", []Request{at(0, "/robots.txt").on("slow"), at(2000, "/").on("slow"), at(4000, "/a").on("slow")}, nil},
		{"a Crawl-delay broken", []Request{at(0, "/robots.txt").on("slow"), at(2000, "/").on("slow"), at(3900, "/a").on("slow")}, []string{"crawl-delay"}},
		{"a Crawl-delay broken at once", []Request{at(0, "/robots.txt").on("slow"), at(600, "/").on("slow")}, []string{"crawl-delay"}},
		{"before robots.txt was served the floor rules", []Request{at(0, "/robots.txt").on("slow").open(), at(600, "/robots.txt").on("slow")}, []string{"in-flight"}},
		{"a Crawl-delay under the floor", []Request{at(0, "/robots.txt").on("short"), at(200, "/").on("short")}, []string{"floor"}},
		{"no robots.txt at all", []Request{at(0, "/")}, []string{"robots-first"}},
		{"robots.txt afterwards", []Request{at(0, "/"), at(600, "/robots.txt")}, []string{"robots-first"}},
		{"robots.txt never answered", []Request{at(0, "/robots.txt").open(), at(600, "/")}, []string{"robots-first", "in-flight"}},
		{"robots.txt not yet answered", []Request{at(0, "/robots.txt").lasting(900), at(600, "/")}, []string{"robots-first", "in-flight"}},
		{"robots.txt elsewhere", []Request{at(0, "/robots.txt").on("guest"), at(20, "/guest.txt").on("keeper"), at(600, "/").on("guest")}, nil},
		{"robots.txt elsewhere is paced there", []Request{at(0, "/robots.txt").on("keeper"), at(20, "/guest.txt").on("keeper")}, []string{"floor"}},
		{"robots.txt elsewhere not asked", []Request{at(0, "/robots.txt").on("guest"), at(600, "/").on("guest")}, []string{"robots-first"}},
		{"forbidden", []Request{at(0, "/robots.txt"), at(600, "/private")}, []string{"disallow"}},
		{"forbidden altogether", []Request{at(0, "/robots.txt").on("down"), at(600, "/").on("down")}, []string{"disallow"}},
		{"robots.txt may be asked again", []Request{at(0, "/robots.txt").on("down"), at(600, "/robots.txt").on("down")}, nil},
		{"Retry-After kept", []Request{at(0, "/robots.txt"), at(600, "/").retryAfter(2000), at(2610, "/")}, nil},
		{"Retry-After kept within jitter", []Request{at(0, "/robots.txt"), at(600, "/").retryAfter(2000), at(2600, "/")}, nil},
		{"Retry-After broken", []Request{at(0, "/robots.txt"), at(600, "/").retryAfter(2000), at(2590, "/")}, []string{"retry-after"}},
		{"Retry-After broken later", []Request{at(0, "/robots.txt"), at(600, "/").retryAfter(2000), at(1200, "/a"), at(1800, "/b")}, []string{"retry-after", "retry-after"}},
		{"Retry-After is the host's own", []Request{at(0, "/robots.txt").retryAfter(9000).on("down"), at(10, "/robots.txt"), at(600, "/")}, nil},
		{"two in flight", []Request{at(0, "/robots.txt"), at(600, "/").lasting(700), at(1200, "/a")}, []string{"in-flight"}},
		{"two in flight, the first longer", []Request{at(0, "/robots.txt"), at(600, "/").lasting(1500), at(1200, "/a"), at(1800, "/b")}, []string{"in-flight", "in-flight"}},
		{"one never ended", []Request{at(0, "/robots.txt"), at(600, "/").open(), at(9000, "/a"), at(9900, "/b")}, []string{"in-flight", "in-flight"}},
		{"one in flight at the end", []Request{at(0, "/robots.txt"), at(600, "/").open()}, nil},
		{"back to back", []Request{at(0, "/robots.txt"), at(600, "/").lasting(600), at(1200, "/a")}, nil},
		{"an unknown host", []Request{at(0, "/robots.txt").on("x")}, []string{"disallow"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, b := range judge(policies, c.log, nil, floor, jitter) {
				got = append(got, b.Promise)
				if b.Detail == "" || b.Host == "" {
					t.Errorf("a breach that says nothing: %+v", b)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func ms(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }

// A standstill of the server excuses what it explains, and no more.
func TestJudgeWithStandstill(t *testing.T) {
	policies := map[string]policy{"h": {robotsEnd: place{"h", "/robots.txt"}, robotsHops: map[string]bool{"/robots.txt": true}}}
	late := stalls{}.add(ms(900), ms(1400)).add(ms(1410), ms(1500)).add(ms(5000), ms(5300))
	for _, c := range []struct {
		name string
		log  []Request
		want int
	}{
		// Sent at 1000, logged at 1500; the next one, at 1500 and 2000, are in time.
		{"explained", []Request{at(0, "/robots.txt"), at(500, "/"), at(1500, "/a"), at(1510, "/b"), at(2000, "/c")}, 0},
		{"not explained", []Request{at(0, "/robots.txt"), at(500, "/"), at(1500, "/a"), at(1510, "/b"), at(1900, "/c")}, 1},
		{"outside", []Request{at(0, "/robots.txt"), at(500, "/"), at(1530, "/a"), at(1540, "/b")}, 1},
		{"too many", []Request{at(0, "/robots.txt"), at(500, "/"), at(1500, "/a"), at(1505, "/b"), at(1510, "/c")}, 1},
	} {
		if got := judge(policies, c.log, late, 500*time.Millisecond, 10*time.Millisecond); len(got) != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if len(late) != 2 {
		t.Errorf("%d standstills", len(late))
	}
	for _, c := range []struct{ at, want int }{{0, 0}, {900, 900}, {901, 900}, {1520, 900}, {1521, 1521}, {5320, 5000}, {9000, 9000}} {
		if got := late.arrived(ms(c.at)); got != ms(c.want) {
			t.Errorf("arrived(%d): %v", c.at, got.Sub(t0))
		}
	}
}

// A clock that stands still is noticed: the detector is kept from running by its own lock.
func TestWatch(t *testing.T) {
	var w watch
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w.run(stop)
	}()
	for len(w.stalls()) == 0 {
		w.mu.Lock()
		time.Sleep(4 * stallTick)
		w.mu.Unlock()
		time.Sleep(2 * stallTick)
	}
	close(stop)
	<-done
}
