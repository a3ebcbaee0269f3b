package fetcher

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"amble/fetcher/capture"
)

// maxAdmitWait is how long an exchange holds its connection for the address pace.
const maxAdmitWait = time.Second

// exchange is one call of Do.
type exchange struct {
	f   *Fetcher
	ctx context.Context
	req Request
	c   *capture.Capture
	// deadline is the end of the whole exchange.
	deadline     time.Time
	wire, masked []byte
}

// phaseEnd is when a phase that begins at start has to be over.
func (x *exchange) phaseEnd(start time.Time, limit time.Duration) time.Time {
	if end := start.Add(limit); end.Before(x.deadline) {
		return end
	}
	return x.deadline
}

// fail ends the exchange without a response. A cancelled exchange says nothing about the host.
func (x *exchange) fail(class capture.Class, err error) {
	if x.ctx.Err() == context.Canceled {
		class, err = capture.TimeoutHead, fmt.Errorf("cancelled: %w", err)
	}
	x.c.Class, x.c.Err = class, err.Error()
}

func (x *exchange) run() {
	u := x.req.URL
	var err error
	if x.wire, x.masked, err = x.f.requestHead(u, x.req.Header); err != nil {
		x.fail(capture.Protocol, err)
		return
	}
	if err := x.ctx.Err(); err != nil {
		x.fail(capture.TimeoutHead, err)
		return
	}
	c := x.idle()
	if c == nil {
		c = x.dial()
	}
	if c != nil && x.admit(c) {
		x.send(c)
	}
}

// idle gives a connection to reuse: still open, and to an address that this request may use.
func (x *exchange) idle() *conn {
	c := x.f.pool.take(x.req.URL.PaceKey(), x.req.URL.Origin(), x.c.Start)
	if c == nil {
		return nil
	}
	if c.insecure != x.insecure(c.addr.Addr()) || x.f.guard.check(c.addr.Addr(), x.req.Own) != nil || !alive(c.raw) {
		c.raw.Close()
		return nil
	}
	return c
}

// insecure tells whether certificates go unverified: only as asked, and only for what the operator owns.
func (x *exchange) insecure(a netip.Addr) bool {
	return x.req.Insecure && (x.req.Own || contains(x.f.guard.own, unwrap(a)))
}

// admit claims a slot of the address pace and waits for it. When it says no, c is taken care of
// and the Capture is ended.
func (x *exchange) admit(c *conn) bool {
	x.c.Addr = c.addr
	if x.req.Admit == nil {
		return true
	}
	at := x.req.Admit(c.addr.Addr())
	now := time.Now()
	wait := at.Sub(now)
	if wait <= 0 {
		return true
	}
	if wait > maxAdmitWait {
		x.c.Deferred = at
		x.f.pool.put(x.req.URL.PaceKey(), c, now)
		return false
	}
	if at.After(x.deadline) {
		c.raw.Close()
		x.fail(capture.TimeoutHead, fmt.Errorf("no slot of %v in time", c.addr.Addr()))
		return false
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.ctx.Done():
		c.raw.Close()
		x.fail(capture.TimeoutHead, x.ctx.Err())
		return false
	}
}

// send sends the request on c and reads the response. In any case c is taken care of.
func (x *exchange) send(c *conn) {
	br := x.f.readers.Get().(*bufio.Reader)
	br.Reset(c)
	// Whoever cancels closes the connection; a deadline could be overwritten by the next phase's.
	stop := context.AfterFunc(x.ctx, func() { c.raw.Close() })
	keep := false
	defer func() {
		keep = keep && br.Buffered() == 0
		br.Reset(nil)
		x.f.readers.Put(br)
		if stop() && keep {
			x.f.pool.put(x.req.URL.PaceKey(), c, time.Now())
			return
		}
		c.raw.Close()
	}()

	h, ok := x.head(c, br)
	if !ok {
		return
	}
	fr, err := h.framing()
	if err != nil {
		x.fail(capture.Protocol, err)
		return
	}
	x.c.Head, x.c.Status, x.c.Header = h.raw, h.status, h.header
	x.c.Chunked = fr.chunked
	x.c.Class = capture.ByStatus(h.status, h.header.Get("Location") != "")
	if x.req.Accept != nil && !x.req.Accept(h.status, h.header) {
		x.c.Chunked = false
		return
	}
	if fr.none {
		keep = !fr.last
		return
	}
	keep = x.body(c, br, fr) && !fr.last
}

// head writes the request and reads the response head, passing over 1xx responses (RFC 9110
// section 15.2). When not ok, the Capture is ended.
func (x *exchange) head(c *conn, br *bufio.Reader) (h head, ok bool) {
	started := time.Now()
	err := c.SetDeadline(x.phaseEnd(started, x.f.headTimeout))
	n := 0
	if err == nil {
		n, err = c.Write(x.wire)
	}
	// After the write: an interval counted from here never has the next request come early.
	written := time.Now()
	if n > 0 || err == nil {
		x.c.Sent, x.c.Start, x.c.RequestHead = true, written, x.masked
	}
	if err == nil {
		_, err = br.Peek(1)
		x.c.Phases.TTFB = time.Since(written)
	}
	if err != nil {
		x.c.Phases.TTFB = 0
		x.c.Stale = c.used && x.ctx.Err() == nil && !timedOut(err)
		x.headFailed(err)
		return head{}, false
	}
	for range maxInterim {
		h, err = readHead(br)
		if err != nil {
			x.headFailed(err)
			return head{}, false
		}
		if h.status >= 200 {
			return h, true
		}
		if h.status == http.StatusSwitchingProtocols {
			x.fail(capture.Protocol, protocolError("server switches protocols unasked"))
			return head{}, false
		}
		if _, err = br.Peek(1); err != nil {
			x.headFailed(err)
			return head{}, false
		}
		x.c.Phases.TTFB = time.Since(written)
	}
	x.fail(capture.Protocol, protocolError(fmt.Sprintf("more than %d interim responses", maxInterim)))
	return head{}, false
}

// headFailed ends the exchange after an error before the end of the response head.
func (x *exchange) headFailed(err error) {
	class := capture.Reset
	if _, ok := err.(protocolError); ok {
		class = capture.Protocol
	} else if x.ctx.Err() != nil || timedOut(err) {
		class = capture.TimeoutHead
	}
	x.fail(class, fmt.Errorf("read response head: %w", noEOF(err)))
}

// body reads the body into a Spool, and tells whether the connection can be used again.
func (x *exchange) body(c *conn, br *bufio.Reader, fr framing) (reusable bool) {
	spool := x.f.budget.NewSpool()
	x.c.Body = spool
	limit := x.f.maxBody
	if x.req.MaxBody > 0 {
		limit = x.req.MaxBody
	}
	spool.Grow(min(fr.length, limit))
	b := &bodyReader{br: br, dst: spool, room: limit}
	err := c.SetReadDeadline(x.deadline)
	if err == nil {
		err = b.read(fr)
	}
	if err == nil || err == errTrailer {
		return err == nil
	}
	class, reason := capture.TruncatedDisconnect, "disconnect"
	switch {
	case b.local != nil:
		class, reason, x.c.Local = capture.TruncatedLength, "length", b.local
	case err == errTooLong:
		class, reason = capture.TruncatedLength, "length"
	case x.ctx.Err() != nil, timedOut(err):
		class, reason = capture.TruncatedTime, "time"
		if b.n == 0 {
			class = capture.TimeoutBody
		}
	}
	x.c.Truncated = reason
	if x.c.Class == capture.OK {
		x.c.Class = class
	}
	x.c.Err = fmt.Sprintf("read response body: %v", err)
	return false
}
