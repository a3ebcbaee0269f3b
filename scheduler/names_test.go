package scheduler

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// serveNames is a name server on loopback that knows every name below test and gives 127.0.0.1.
func serveNames(t *testing.T) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with the socket
		defer close(done)
		buf := make([]byte, 2048)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Header.Response, m.Additionals = true, nil
			if !strings.HasSuffix(q.Name.String(), ".test.") {
				m.Header.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			b, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := pc.WriteTo(b, from); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := pc.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return pc.LocalAddr().String()
}

// What a new user types first: http://x where x redirects to https://www.x.
func TestSeedThatRedirectsToItsWWW(t *testing.T) {
	var seen []string
	pages := map[string]http.HandlerFunc{"/": html("/a", "http://x.test/other-port"), "/a": html("/")}
	www := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Host+r.URL.Path)
		if h := pages[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	defer www.Close()
	_, wwwPort, _ := net.SplitHostPort(www.Listener.Addr().String())
	target := "https://www.x.test:" + wwwPort + "/"
	bare := newSite(t, map[string]http.HandlerFunc{"/": to(target, 301)})
	_, port, _ := net.SplitHostPort(bare.Listener.Addr().String())

	cfg := ownConfig()
	cfg.Own.Hosts = []string{"x.test", "www.x.test"}
	cfg.Fetch.Resolvers = []string{serveNames(t)}
	cfg.Hosts = map[string]HostConfig{"www.x.test:" + wwwPort: {Insecure: true}}
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, cfg, seedsOf(t, "http://x.test:"+port+"/"))
	// The redirect, the home page and /a; port 80 of x.test is another site than that port.
	if st.Pages != 3 || st.Seeds != (SeedCounts{Captured: 1}) || st.End != endExhausted || st.Skipped["scope"] != 1 {
		t.Errorf("status %+v; bare saw %v, www saw %v", st, bare.requests(), seen)
	}
}

// HT-06 (a): a name that does not exist fails fast, with one reason for all its URLs, and two look-ups in all.
func TestHT06NameThatDoesNotExist(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits 10 s for the second look-up")
	}
	cfg := ownConfig()
	cfg.Limits.MaxWait = 0
	cfg.Own.Hosts = []string{"gone.example"}
	cfg.Fetch.Resolvers = []string{serveNames(t)}
	var urls []string
	for _, p := range []string{"/", "/a", "/b", "/c"} {
		urls = append(urls, "http://gone.example"+p)
	}
	st := run(t, filepath.Join(t.TempDir(), "job"), ModeNew, cfg, seedsOf(t, urls...))
	if st.Classes["dns"] != 2 || st.Skipped["host-unreachable"] != 4 || st.Seeds.Failed != 4 || st.End != endExhausted || st.Requests != 0 {
		t.Errorf("status %+v", st)
	}
}
