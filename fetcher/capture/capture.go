package capture

import (
	"net/http"
	"net/netip"
	"time"

	"amble/frontier/canon"
)

// Class says how an exchange ended. The words are part of the crawl log's contract.
type Class string

const (
	OK                  Class = "ok"                   // 2xx, whole
	Redirect            Class = "redirect"             // 301, 302, 303, 307, 308 with a Location
	NotModified         Class = "not-modified"         // 304
	ClientError         Class = "client-error"         // 4xx but 429
	ServerError         Class = "server-error"         // 5xx but 503
	Limited             Class = "limited"              // 429, 503
	Blocked             Class = "blocked"              // set by the rate controller for a run of 403
	DNS                 Class = "dns"                  // the name does not resolve
	Refused             Class = "refused"              // connection refused, no route
	Reset               Class = "reset"                // connection reset or closed before a whole response head
	TimeoutConnect      Class = "timeout-connect"      // resolve, connect or TLS took too long
	TimeoutHead         Class = "timeout-head"         // no response head in time
	TimeoutBody         Class = "timeout-body"         // total time was over before any body byte
	TLS                 Class = "tls"                  // handshake or certificate
	Protocol            Class = "protocol"             // not HTTP, or a malformed or oversized head
	TruncatedLength     Class = "truncated-length"     // body cut at the size limit
	TruncatedTime       Class = "truncated-time"       // body cut at the time limit
	TruncatedDisconnect Class = "truncated-disconnect" // connection lost, or shorter than Content-Length
	Undecodable         Class = "undecodable"          // content coding broken; kept as received
	Address             Class = "address"              // the address guard refused every address
)

// Phases are the parts of an exchange; zero where one did not happen (a reused connection has no first three).
type Phases struct {
	DNS, Connect, TLS time.Duration
	// TTFB is from the request head written to the first byte of the response.
	TTFB time.Duration
	// Total is from the request head written to the end of the response.
	Total time.Duration
}

// Capture is what one exchange gave. Exactly one request was sent, or none
// (Sent false: dns, refused, address, connect failures, deferred).
type Capture struct {
	URL canon.URL
	// Start is when the request head was written, or when the attempt began if none was.
	Start time.Time
	// End is when the response ended, or the attempt failed.
	End time.Time
	// Addr is the address that was connected to; invalid if none was.
	Addr   netip.AddrPort
	Phases Phases
	Class  Class
	// Err says what went wrong, for people; empty when nothing did. It can hold text from the site: quote it.
	Err string
	// NoSuchHost: the name server says that the name does not exist (with Class DNS); other DNS failures may pass.
	NoSuchHost bool
	// Sent: a request head was written.
	Sent bool
	// Deferred, when not zero: the address pace gave a slot at this later time, and nothing was sent.
	Deferred time.Time

	// RequestHead is the request as sent, secrets masked, through the empty line.
	RequestHead []byte
	// Head is the response head as received, status line through the empty line; 1xx responses are left out.
	Head []byte
	// Status is the status code, 0 without a response head.
	Status int
	// Header is Head parsed.
	Header http.Header
	// Body is as received: transfer coding removed, content coding kept. Nil when no body was begun.
	// The owner of the Capture closes it.
	Body *Spool
	// Chunked: a chunked transfer coding was removed from Body.
	Chunked bool
	// Truncated is WARC 1.1's reason (length, time, disconnect) when Body is cut, else empty. With a status other
	// than 2xx it stands beside the Class of the status, so that a cut 503 stays Limited.
	Truncated string
	// Stale: the connection was a reused one and died before any byte of the response. The server most likely closed
	// it before it saw the request (RFC 9112 section 9.3.1), so that the URL is due again, at its host's next turn.
	Stale bool
	// Local is set when this machine, not the host, made the exchange fail (disk full, no file descriptor left).
	// Class and Err then say nothing about the host: the URL is due again and no pace should follow from it.
	Local error
}

// Close gives the body's memory or file back. It may be called on nil and twice.
func (c *Capture) Close() error {
	if c == nil {
		return nil
	}
	return c.Body.Close()
}

// ByStatus is the Class that a whole response with this status has; location tells whether it
// has a Location field. A 3xx that names no target leads nowhere and counts as ClientError; a
// status beyond 599 is a ServerError (RFC 9110 section 15).
func ByStatus(status int, location bool) Class {
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return Limited
	case status == http.StatusNotModified:
		return NotModified
	case status >= 200 && status < 300:
		return OK
	case status >= 300 && status < 400:
		switch status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			if location {
				return Redirect
			}
		}
		return ClientError
	case status >= 400 && status < 500:
		return ClientError
	}
	return ServerError
}

// Transient tells whether the same request may well succeed later.
func (c Class) Transient() bool {
	switch c {
	case ServerError, Limited, Blocked, TimeoutHead, TimeoutBody, TruncatedTime, TruncatedDisconnect:
		return true
	}
	return c.Unreachable() || c == Reset
}

// Unreachable tells whether no connection to the host came about.
func (c Class) Unreachable() bool {
	switch c {
	case DNS, Refused, TimeoutConnect, TLS:
		return true
	}
	return false
}

// Stored tells whether the exchange gave a response that is worth a record: there is a whole
// head, and the body is whole, cut, or undecodable.
func (c Class) Stored() bool {
	switch c {
	case OK, Redirect, NotModified, ClientError, ServerError, Limited, Blocked,
		TruncatedLength, TruncatedTime, TruncatedDisconnect, Undecodable:
		return true
	}
	return false
}
