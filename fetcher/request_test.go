package fetcher

import (
	"net/http"
	"strings"
	"testing"

	"amble/fetcher/capture"
	"amble/frontier/canon"
)

func TestRequestHead(t *testing.T) {
	f := testFetcher(t, Config{UserAgent: "Amble/1 (+https://example.org/bot)"})
	const common = "User-Agent: Amble/1 (+https://example.org/bot)\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip\r\n"
	const end = "Connection: keep-alive\r\n\r\n"
	tests := []struct {
		url          string
		header       http.Header
		wire, masked string
	}{
		{"http://example.com", nil, "GET / HTTP/1.1\r\nHost: example.com\r\n" + common + end, ""},
		{"https://example.com:8443/a%2Fb?x=[1]|{}&y=%zz", nil,
			"GET /a%2Fb?x=[1]|{}&y=%zz HTTP/1.1\r\nHost: example.com:8443\r\n" + common + end, ""},
		{"http://[2001:db8::1]/?", nil, "GET /? HTTP/1.1\r\nHost: [2001:db8::1]\r\n" + common + end, ""},
		{"http://example.com/x", http.Header{
			"If-None-Match": {`"a"`}, "If-Modified-Since": {"Tue, 01 Dec 2026 14:00:00 GMT"},
			"User-Agent": {"other"}, "Host": {"other"}, "accept-encoding": {"br"}, "Content-Length": {"5"}, "Transfer-Encoding": {"chunked"},
		}, "GET /x HTTP/1.1\r\nHost: example.com\r\n" + common +
			"If-Modified-Since: Tue, 01 Dec 2026 14:00:00 GMT\r\nIf-None-Match: \"a\"\r\n" + end, ""},
		{"http://example.com/x", http.Header{"authorization": {"Basic c2VjcmV0"}, "Cookie": {"sid=secret"}, "X-Api-Key": {"secret"}, "X-Plain": {"1", "2"}},
			"GET /x HTTP/1.1\r\nHost: example.com\r\n" + common + "Cookie: sid=secret\r\nX-Api-Key: secret\r\nX-Plain: 1\r\nX-Plain: 2\r\nauthorization: Basic c2VjcmV0\r\n" + end,
			"GET /x HTTP/1.1\r\nHost: example.com\r\n" + common + "Cookie: [masked]\r\nX-Api-Key: [masked]\r\nX-Plain: 1\r\nX-Plain: 2\r\nauthorization: [masked]\r\n" + end},
	}
	for _, tt := range tests {
		wire, masked, err := f.requestHead(mustURL(t, tt.url), tt.header)
		if err != nil {
			t.Fatal(err)
		}
		if tt.masked == "" {
			tt.masked = tt.wire
		}
		if string(wire) != tt.wire || string(masked) != tt.masked {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", tt.url, wire, masked, tt.wire, tt.masked)
		}
	}
}

// TestSentAsBuilt is SE-02's part of the fetcher: what a server gets has the secret, what is kept has not.
func TestSentAsBuilt(t *testing.T) {
	got := make(chan string, 1)
	s := serve(t, func(p *peer) {
		got <- p.request()
		p.say(ok(""))
	})
	f := testFetcher(t, Config{})
	c := do(t, f, Request{URL: mustURL(t, "http://u:secret@"+s.addr+"/x"), Header: http.Header{
		"Authorization": {"Bearer secret"}, "Proxy-Authorization": {"Basic secret"}, "Cookie": {"a=secret"}}})
	wire := <-got
	if strings.Count(wire, "secret") != 3 || strings.Contains(wire, "Referer") || strings.Contains(wire, "u:") {
		t.Errorf("sent %q", wire)
	}
	if kept := string(c.RequestHead) + c.URL.String() + c.Err; strings.Contains(kept, "secret") || strings.Count(kept, maskedValue) != 3 {
		t.Errorf("kept %q", kept)
	}
	if kept := string(c.RequestHead); len(strings.Split(kept, "\r\n")) != len(strings.Split(wire, "\r\n")) || !strings.HasSuffix(kept, "\r\n\r\n") {
		t.Errorf("kept %q of %q", kept, wire)
	}
}

func TestRequestRefused(t *testing.T) {
	s := serve(t, keepAlive(ok("hi")))
	f := testFetcher(t, Config{})
	u := mustURL(t, "http://"+s.addr+"/")
	for name, req := range map[string]Request{
		"no URL":        {},
		"CRLF in value": {URL: u, Header: http.Header{"X-A": {"a\r\nX-Evil: secret-b"}}},
		"LF in value":   {URL: u, Header: http.Header{"Authorization": {"secret-a\nb"}}},
		"NUL in value":  {URL: u, Header: http.Header{"X-A": {"\x00"}}},
		"CR in name":    {URL: u, Header: http.Header{"X-A\r\nX-B": {"b"}}},
		"empty name":    {URL: u, Header: http.Header{"": {"b"}}},
		"blank in URL":  {URL: canon.FromOrigin(u.Origin(), "/a b")},
		"CRLF in URL":   {URL: canon.FromOrigin(u.Origin(), "/a\r\nX-Evil:b")},
	} {
		c := do(t, f, req)
		if c.Class != capture.Protocol || c.Sent || c.Err == "" || strings.Contains(c.Err, "secret") {
			t.Errorf("%s: %s, sent %v, %q", name, c.Class, c.Sent, c.Err)
		}
	}
	if s.accepted() != 0 {
		t.Errorf("%d connections, want none", s.accepted())
	}
}

func TestNewRefuses(t *testing.T) {
	budget := capture.NewBudget("", 0)
	for _, cfg := range []Config{
		{UserAgent: "a\r\nb"}, {Timeout: -1}, {MaxBody: -1}, {Resolvers: []string{"dns.example:53"}}, {Resolvers: []string{""}},
	} {
		if f, err := New(cfg, budget); err == nil {
			f.Close()
			t.Errorf("%+v is taken", cfg)
		}
	}
	if _, err := New(Config{}, nil); err == nil {
		t.Error("no budget is taken")
	}
	f, err := New(Config{Resolvers: []string{"127.0.0.1", "[::1]:5353"}}, budget)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
