// Package fetcher makes one HTTP exchange at a time and says exactly what happened.
//
// An exchange is one request and its response over HTTP/1.1 (RFC 9110, RFC 9112). It resolves the
// name, judges the addresses, connects, waits for its slot, writes the head and reads the answer,
// and whatever happens ends up in a [capture.Capture]: a host's failure is data and no error.
// Nothing is followed and nothing is decided here: redirects, retries and pace belong to callers.
//
// The request is written and the response read by hand, on connections of the package's own.
// That keeps three things that net/http hides: the response head byte for byte, the times of the
// phases apart from each other, and request-targets that net/url would rewrite. It also makes an
// exchange cheap: no goroutine, one write and one or two reads on a reused connection.
//
// # Reading
//
// Heads are read as browsers read them: a bare LF ends a line, a line that is no field is passed
// over, folding is a blank. What decides where a message ends is read strictly: a Content-Length
// that is no number, or is two numbers, and a transfer coding that was not asked for end the
// exchange as Protocol, without a head. Bodies lose their transfer coding and keep their content
// coding. A body is whole only when its framing says so; else Truncated gives WARC's reason, and
// what had come is kept.
//
// # Connections
//
// At most one idle connection per host key is kept, for 90 s, and [Config.MaxIdle] in all. An idle
// connection on which anything has happened is not used. One that dies under a request, before a
// byte of the response, makes the capture Stale. It is not sent again here: a server that closes on
// purpose would see two requests at once, and no pace permits that.
//
// # Addresses
//
// The guard judges the address that is dialled, after every spelling and name has been resolved,
// and again when a connection is reused. IPv6 addresses that carry an IPv4 address (mapped,
// compatible, translated, NAT64, 6to4, ISATAP) are judged by that. Metadata addresses of clouds are
// never opened.
package fetcher
