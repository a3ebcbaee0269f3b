package fetcher

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"amble/fetcher/capture"
)

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

// TestExchange gives the fetcher one behaviour of a server each.
func TestExchange(t *testing.T) {
	page := "<html>" + strings.Repeat("a page ", 3000) + "</html>"
	coded := gzipped(page)
	say := func(s string) func(*peer) { return func(p *peer) { p.answer(s); p.hold() } }
	sayClose := func(s string) func(*peer) { return func(p *peer) { p.answer(s) } }
	sayReset := func(s string) func(*peer) { return func(p *peer) { p.answer(s); p.reset() } }
	const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	tests := []struct {
		name      string
		cfg       Config
		script    func(*peer)
		class     capture.Class
		status    int
		body      string
		truncated string
		chunked   bool
		// err is part of Capture.Err.
		err string
	}{
		// Whole responses.
		{"content-length", Config{}, say(ok(page)), capture.OK, 200, page, "", false, ""},
		{"empty body", Config{}, say(ok("")), capture.OK, 200, "", "", false, ""},
		{"gzip stays coded", Config{}, sayClose("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + coded), capture.OK, 200, coded, "", false, ""},
		{"chunked", Config{}, say(chunkedHead + "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"), capture.OK, 200, "hello world", "", true, ""},
		{"chunked gzip", Config{}, say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n" + coded[:10] + "\r\n0\r\n\r\n"), capture.OK, 200, coded[:10], "", true, ""},
		{"chunked, trailer fields", Config{}, say(chunkedHead + "1\r\nx\r\n0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n"), capture.OK, 200, "x", "", true, ""},
		{"chunked, bare LF", Config{}, say(chunkedHead + "1\nx\n0\n\n"), capture.OK, 200, "x", "", true, ""},
		{"chunked, blanks after size", Config{}, say(chunkedHead + "1  \r\nx\r\n000\r\n\r\n"), capture.OK, 200, "x", "", true, ""},
		{"chunked, closed after last chunk", Config{}, sayClose(chunkedHead + "1\r\nx\r\n0\r\n"), capture.OK, 200, "x", "", true, ""},
		{"close-delimited", Config{}, sayClose("HTTP/1.1 200 OK\r\n\r\n" + page), capture.OK, 200, page, "", false, ""}, // HT-01 (c)
		{"HTTP/1.0", Config{}, sayClose("HTTP/1.0 200 OK\r\n\r\nold"), capture.OK, 200, "old", "", false, ""},
		{"HTTP/1.0 chunked", Config{}, say("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"), capture.OK, 200, "x", "", true, ""},
		{"bare LF in the head", Config{}, say("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"), capture.OK, 200, "hi", "", false, ""},
		{"no reason", Config{}, say("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi"), capture.OK, 200, "hi", "", false, ""},
		{"both framings", Config{}, say("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), capture.OK, 200, "hi", "", true, ""},
		{"same length twice", Config{}, say("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi"), capture.OK, 200, "hi", "", false, ""},
		{"identity coding", Config{}, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi"), capture.OK, 200, "hi", "", false, ""},
		{"100 continue first", Config{}, say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n" + ok("hi")), capture.OK, 200, "hi", "", false, ""},
		{"204", Config{}, say("HTTP/1.1 204 No Content\r\n\r\n"), capture.OK, 204, "<nil>", "", false, ""},
		{"304 with a length", Config{}, say("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"), capture.NotModified, 304, "<nil>", "", false, ""},
		{"lines that are no fields", Config{}, say("HTTP/1.1 200 OK\r\nnonsense\r\n: none\r\nBad Name: x\r\nContent-Length : 2\r\n\r\nhi"), capture.OK, 200, "hi", "", false, ""},

		// Classes by status.
		{"301", Config{}, say("HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"), capture.Redirect, 301, "", "", false, ""},
		{"308", Config{}, say("HTTP/1.1 308 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"), capture.Redirect, 308, "", "", false, ""},
		{"302 to nowhere", Config{}, say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), capture.ClientError, 302, "", "", false, ""},
		{"404", Config{}, say("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"), capture.ClientError, 404, "gone", "", false, ""},
		{"429", Config{}, say("HTTP/1.1 429 Slow\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"), capture.Limited, 429, "", "", false, ""},
		{"500", Config{}, say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), capture.ServerError, 500, "", "", false, ""},
		{"503, body cut", Config{}, sayClose("HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nwait"), capture.Limited, 503, "wait", "disconnect", false, "EOF"},
		{"999", Config{}, say("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n"), capture.ServerError, 999, "", "", false, ""},

		// Cut bodies.
		{"short of its length", Config{}, sayClose("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 300)), capture.TruncatedDisconnect, 200, strings.Repeat("x", 300), "disconnect", false, "EOF"}, // HT-01 (a)
		{"nothing of its length", Config{}, sayClose("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), capture.TruncatedDisconnect, 200, "", "disconnect", false, "EOF"},
		{"no last chunk", Config{}, sayClose(chunkedHead + "5\r\nhello\r\n"), capture.TruncatedDisconnect, 200, "hello", "disconnect", true, "EOF"}, // HT-01 (b)
		{"cut inside a chunk", Config{}, sayClose(chunkedHead + "5\r\nhel"), capture.TruncatedDisconnect, 200, "hel", "disconnect", true, "EOF"},
		{"bad chunk size", Config{}, say(chunkedHead + "2\r\nhi\r\nxyz\r\n"), capture.TruncatedDisconnect, 200, "hi", "disconnect", true, "malformed chunk size"},
		{"negative chunk size", Config{}, say(chunkedHead + "-2\r\nhi\r\n"), capture.TruncatedDisconnect, 200, "", "disconnect", true, "malformed chunk size"},
		{"huge chunk size", Config{}, say(chunkedHead + "fffffffffffffffff\r\nhi\r\n"), capture.TruncatedDisconnect, 200, "", "disconnect", true, "malformed chunk size"},
		{"chunk longer than said", Config{}, say(chunkedHead + "2\r\nhiho\r\n0\r\n\r\n"), capture.TruncatedDisconnect, 200, "hi", "disconnect", true, "longer than its size"},
		{"endless chunk line", Config{}, say(chunkedHead + "2;" + strings.Repeat("e", 40<<10)), capture.TruncatedDisconnect, 200, "", "disconnect", true, "too long"},
		{"chunks of framing", Config{}, say(chunkedHead + strings.Repeat("1;"+strings.Repeat("e", 1000)+"\r\nx\r\n", 100) + "0\r\n\r\n"), capture.TruncatedDisconnect, 200, strings.Repeat("x", 66), "disconnect", true, "mostly framing"},
		{"reset in the body", Config{}, func(p *peer) {
			p.answer("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
			p.reset()
		}, capture.TruncatedDisconnect, 200, "", "disconnect", false, "reset"},
		{"over the limit by length", Config{MaxBody: 10}, say(ok("0123456789a")), capture.TruncatedLength, 200, "0123456789", "length", false, "size limit"},
		{"over the limit, chunked", Config{MaxBody: 4}, say(chunkedHead + "5\r\nhello\r\n0\r\n\r\n"), capture.TruncatedLength, 200, "hell", "length", true, "size limit"},
		{"over the limit, close-delimited", Config{MaxBody: 4}, say("HTTP/1.1 200 OK\r\n\r\nhello"), capture.TruncatedLength, 200, "hell", "length", false, "size limit"},
		{"endless", Config{MaxBody: 100}, func(p *peer) { // HT-05 (a), (d)
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n")
			for p.say("xxxxxxxxxx") == nil {
			}
		}, capture.TruncatedLength, 200, strings.Repeat("x", 100), "length", false, "size limit"},
		{"at the limit", Config{MaxBody: 5}, say(ok("hello")), capture.OK, 200, "hello", "", false, ""},
		{"at the limit, chunked", Config{MaxBody: 5}, say(chunkedHead + "5\r\nhello\r\n0\r\n\r\n"), capture.OK, 200, "hello", "", true, ""},
		{"at the limit, close-delimited", Config{MaxBody: 5}, sayClose("HTTP/1.1 200 OK\r\n\r\nhello"), capture.OK, 200, "hello", "", false, ""},
		{"404 over the limit", Config{MaxBody: 2}, say("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone"), capture.ClientError, 404, "go", "length", false, "size limit"},

		// Time limits.
		{"silent after the request", short, func(p *peer) { p.request(); p.hold() }, capture.TimeoutHead, 0, "<nil>", "", false, "timeout"},
		{"head without an end", short, say("HTTP/1.1 200 OK\r\nX: y\r\n"), capture.TimeoutHead, 0, "<nil>", "", false, "timeout"},
		{"head dripped", short, func(p *peer) { // HT-05 (c)
			p.request()
			for _, b := range []byte("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 1000)) {
				if p.say(string(b)) != nil {
					return
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-p.over:
					return
				}
			}
		}, capture.TimeoutHead, 0, "<nil>", "", false, "timeout"},
		{"no body byte", short, say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), capture.TimeoutBody, 200, "", "time", false, "timeout"},
		{"body stops", short, say("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), capture.TruncatedTime, 200, "hello", "time", false, "timeout"}, // HT-05 (b)
		{"503 stops", short, say("HTTP/1.1 503 Busy\r\nContent-Length: 50\r\n\r\n"), capture.Limited, 503, "", "time", false, "timeout"},

		// Connections that end before a head.
		{"closed before the request", Config{}, func(p *peer) {}, capture.Reset, 0, "<nil>", "", false, ""},
		{"closed after the request", Config{}, sayClose(""), capture.Reset, 0, "<nil>", "", false, ""},
		{"reset after the request", Config{}, sayReset(""), capture.Reset, 0, "<nil>", "", false, ""},
		{"closed in the status line", Config{}, sayClose("HTTP/1.1 2"), capture.Reset, 0, "<nil>", "", false, "EOF"},
		{"closed in the head", Config{}, sayClose("HTTP/1.1 200 OK\r\nContent-Le"), capture.Reset, 0, "<nil>", "", false, "EOF"},
		{"closed after 100", Config{}, sayClose("HTTP/1.1 100 Continue\r\n\r\n"), capture.Reset, 0, "<nil>", "", false, "EOF"},

		// What is not HTTP/1.x.
		{"HTTP/0.9", Config{}, sayClose("<html>hello</html>"), capture.Protocol, 0, "<nil>", "", false, "does not begin"},
		{"another protocol", Config{}, say("SSH-2.0-OpenSSH_9.2\r\n"), capture.Protocol, 0, "<nil>", "", false, "does not begin"},
		{"HTTP/2", Config{}, say("HTTP/2 200 OK\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "does not begin"},
		{"empty line first", Config{}, say("\r\n" + ok("hi")), capture.Protocol, 0, "<nil>", "", false, "does not begin"},
		{"bad status", Config{}, say("HTTP/1.1 2xx OK\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "status line"},
		{"long status", Config{}, say("HTTP/1.1 2000 OK\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "status line"},
		{"NUL in the head", Config{}, say("HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "NUL"},
		{"conflicting lengths", Config{}, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi"), capture.Protocol, 0, "<nil>", "", false, "conflicting"},
		{"length that is none", Config{}, say("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi"), capture.Protocol, 0, "<nil>", "", false, "invalid Content-Length"},
		{"length beyond 63 bits", Config{}, say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhi"), capture.Protocol, 0, "<nil>", "", false, "invalid Content-Length"},
		{"unknown transfer coding", Config{}, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "Transfer-Encoding"},
		{"head over 64 KiB", Config{}, say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("x", 100)+"\r\n", 700)), capture.Protocol, 0, "<nil>", "", false, "longer than"},
		{"one endless line", Config{}, say("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 80<<10)), capture.Protocol, 0, "<nil>", "", false, "longer than"},
		{"endless 1xx", Config{}, say(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100)), capture.Protocol, 0, "<nil>", "", false, "interim"},
		{"unasked upgrade", Config{}, say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), capture.Protocol, 0, "<nil>", "", false, "switches"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.script)
			c := get(t, testFetcher(t, tt.cfg), s.addr, "/p?q=1")
			if c.Class != tt.class || c.Status != tt.status || c.Truncated != tt.truncated || c.Chunked != tt.chunked {
				t.Errorf("class %s, status %d, truncated %q, chunked %v (%s); want %s, %d, %q, %v",
					c.Class, c.Status, c.Truncated, c.Chunked, c.Err, tt.class, tt.status, tt.truncated, tt.chunked)
			}
			if got := bodyOf(t, c); got != tt.body {
				t.Errorf("body of %d bytes %.100q, want %d bytes %.100q", len(got), got, len(tt.body), tt.body)
			}
			if !strings.Contains(c.Err, tt.err) || (c.Err == "") != (c.Class != capture.Protocol && tt.truncated == "" && tt.status != 0) {
				t.Errorf("Err is %q, want %q in it", c.Err, tt.err)
			}
			if c.Local != nil || c.Stale || !c.Deferred.IsZero() {
				t.Errorf("local %v, stale %v, deferred %v", c.Local, c.Stale, c.Deferred)
			}
			checkTimes(t, c)
			if n := s.accepted(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// checkTimes asserts what holds of the times of every exchange that was sent.
func checkTimes(t *testing.T, c *capture.Capture) {
	t.Helper()
	if c.Start.IsZero() || c.End.Before(c.Start) {
		t.Errorf("start %v, end %v", c.Start, c.End)
	}
	if !c.Sent {
		if c.Phases.TTFB != 0 || c.Phases.Total != 0 || c.RequestHead != nil {
			t.Errorf("not sent, but %+v", c.Phases)
		}
		return
	}
	if c.Phases.Total != c.End.Sub(c.Start) || c.Phases.TTFB > c.Phases.Total || c.Phases.TTFB < 0 {
		t.Errorf("start %v, end %v, phases %+v", c.Start, c.End, c.Phases)
	}
	if c.Status != 0 && c.Phases.TTFB == 0 {
		t.Errorf("a response without a time to its first byte: %+v", c.Phases)
	}
	if (c.Status != 0) != (c.Head != nil) || (c.Status != 0) != (c.Header != nil) {
		t.Errorf("status %d, head %q, header %v", c.Status, c.Head, c.Header)
	}
}
