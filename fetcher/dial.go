package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"amble/fetcher/capture"
)

// minAttempt is the least time that one of several addresses gets to answer.
const minAttempt = 2 * time.Second

// dial makes a new connection to the origin of the request: resolve, guard, connect, TLS. When it
// gives nil, the Capture says why.
func (x *exchange) dial() *conn {
	c := x.dialTCP()
	if c == nil {
		return nil
	}
	if x.req.URL.Scheme() == "https" && !x.handshake(c) {
		c.raw.Close()
		return nil
	}
	return c
}

// resolve gives the addresses of the host; nil after the Capture was ended.
func (x *exchange) resolve() []netip.Addr {
	hostname := x.req.URL.Hostname()
	start := time.Now()
	a, ok := x.f.resolver.cached(hostname, start)
	if !ok {
		ctx, cancel := context.WithDeadline(x.ctx, x.phaseEnd(start, x.f.connectTimeout))
		defer cancel()
		a.addrs, a.err = x.f.resolver.resolve(ctx, hostname)
		x.c.Phases.DNS = time.Since(start)
	}
	if a.err == nil && len(a.addrs) == 0 {
		a.err = errors.New("no address")
	}
	if a.err == nil {
		return a.addrs
	}
	class := capture.DNS
	switch {
	case x.ctx.Err() != nil, timedOut(a.err):
		class = capture.TimeoutConnect
	case noSuchHost(a.err):
		x.c.NoSuchHost = true
	}
	x.fail(class, fmt.Errorf("resolve %s: %w", hostname, a.err))
	return nil
}

// dialTCP tries the addresses that the guard lets pass, one after the other, within the connect timeout.
func (x *exchange) dialTCP() *conn {
	addrs := x.resolve()
	if addrs == nil {
		return nil
	}
	port, err := strconv.ParseUint(x.req.URL.Port(), 10, 16)
	if err != nil || port == 0 {
		x.fail(capture.Refused, fmt.Errorf("no connection can go to port %s", x.req.URL.Port()))
		return nil
	}
	allowed := make([]netip.Addr, 0, len(addrs))
	var refusals []string
	for _, a := range addrs {
		if err := x.f.guard.check(a, x.req.Own); err != nil {
			refusals = append(refusals, err.Error())
			continue
		}
		allowed = append(allowed, a)
	}
	if len(allowed) == 0 {
		x.fail(capture.Address, fmt.Errorf("address refused: %s", strings.Join(refusals, "; ")))
		return nil
	}
	start := time.Now()
	end := x.phaseEnd(start, x.f.connectTimeout)
	var first error
	for i, a := range allowed {
		now := time.Now()
		left := end.Sub(now)
		share := max(left/time.Duration(len(allowed)-i), min(left, minAttempt))
		if share <= 0 || x.ctx.Err() != nil {
			break
		}
		to := netip.AddrPortFrom(a, uint16(port))
		raw, err := x.f.connect(x.ctx, to, now.Add(share))
		if err == nil {
			x.c.Phases.Connect = time.Since(start)
			return &conn{
				Conn: raw, raw: raw, addr: to,
				origin: x.req.URL.Origin(), insecure: x.insecure(a),
			}
		}
		if first == nil {
			first = err
		}
	}
	x.c.Phases.Connect = time.Since(start)
	if first == nil {
		first = os.ErrDeadlineExceeded
		if err := x.ctx.Err(); err != nil {
			first = err
		}
	}
	if x.ctx.Err() == nil {
		x.f.resolver.distrust(x.req.URL.Hostname())
	}
	class := capture.Refused
	switch {
	case x.ctx.Err() != nil, timedOut(first):
		class = capture.TimeoutConnect
	case hungUp(first):
		class = capture.Reset
	case exhausted(first):
		x.c.Local = first
	}
	x.fail(class, first)
	return nil
}

// connect opens a TCP connection to exactly this address. When file descriptors have run out,
// idle connections are given up for it.
func (f *Fetcher) connect(ctx context.Context, to netip.AddrPort, deadline time.Time) (net.Conn, error) {
	d := net.Dialer{Deadline: deadline, FallbackDelay: -1}
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil && exhausted(err) {
		f.pool.empty()
		c, err = d.DialContext(ctx, "tcp", to.String())
	}
	return c, err
}

// Windows reports the errors of its sockets by numbers of their own.
const (
	wsaEMFILE       = syscall.Errno(10024)
	wsaECONNABORTED = syscall.Errno(10053)
	wsaECONNRESET   = syscall.Errno(10054)
	wsaENOBUFS      = syscall.Errno(10055)
)

// exhausted tells errors that speak of this machine and not of the peer.
func exhausted(err error) bool {
	return isAny(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, wsaEMFILE, wsaENOBUFS)
}

// handshake puts TLS on c; false after the Capture was ended.
func (x *exchange) handshake(c *conn) bool {
	start := time.Now()
	config := x.f.tlsConfig
	if c.insecure {
		config = x.f.insecureTLS
	}
	config = config.Clone()
	config.ServerName = strings.Trim(x.req.URL.Hostname(), "[]")
	t := tls.Client(c.raw, config)
	stop := context.AfterFunc(x.ctx, func() { c.raw.Close() })
	defer stop()
	err := c.raw.SetDeadline(x.phaseEnd(start, x.f.connectTimeout))
	if err == nil {
		// The deadline and the closing end it, so that no goroutine has to.
		err = t.Handshake()
	}
	x.c.Phases.TLS = time.Since(start)
	if err == nil {
		c.Conn = t
		return true
	}
	class := capture.TLS
	switch {
	case x.ctx.Err() != nil, timedOut(err):
		class = capture.TimeoutConnect
	case hungUp(err):
		class = capture.Reset
	}
	x.c.Addr = c.addr
	x.fail(class, fmt.Errorf("TLS handshake: %w", err))
	return false
}

func timedOut(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &ne) && ne.Timeout()
}

// hungUp tells that the peer ended the connection.
func hungUp(err error) bool {
	return isAny(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		wsaECONNRESET, wsaECONNABORTED)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}
