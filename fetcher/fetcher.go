package fetcher

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"amble/fetcher/capture"
	"amble/frontier/canon"
)

// Config is how exchanges are made. The zero value of a duration or size means its default.
type Config struct {
	// UserAgent is the whole field value.
	UserAgent string
	// Timeout bounds one exchange from its first look-up to its last byte; 120 s.
	Timeout time.Duration
	// ConnectTimeout bounds resolve, connect and TLS, each; 15 s.
	ConnectTimeout time.Duration
	// HeadTimeout bounds the wait from the request written to the end of the response head; 60 s.
	HeadTimeout time.Duration
	// MaxBody is the most body bytes taken in as received; 32 MiB.
	MaxBody int64
	// MaxIdle is how many connections stay open for reuse, over all hosts; 256. One per host at the most.
	MaxIdle int
	// AllowPrivate opens loopback, private and link-local addresses (never metadata addresses).
	AllowPrivate bool
	// Own are address ranges that the operator owns; they are open like AllowPrivate.
	Own []netip.Prefix
	// RequireContact refuses an exchange with an address outside Own and the private ranges: no contact is configured.
	RequireContact bool
	// Resolvers, when set, are asked instead of the system's ("127.0.0.1:5353").
	Resolvers []string
}

// Request is one exchange to make.
type Request struct {
	URL canon.URL
	// Header holds further fields (conditional requests, credentials); the fetcher sets Host, User-Agent, Accept,
	// Accept-Encoding: gzip and Connection itself.
	Header http.Header
	// Own: the host is the operator's by name: loopback and private addresses are open, metadata addresses are not.
	Own bool
	// Insecure: certificates are not verified. It counts only with Own, or at an address in Config.Own.
	Insecure bool
	// MaxBody overrides Config.MaxBody when not zero.
	MaxBody int64
	// Accept, when set, is asked once the head is there; false cuts the body off at once.
	Accept func(status int, header http.Header) bool
	// Admit, when set, is asked once the address is known and before the request is written. It returns when the
	// request may start: not after now means at once; the fetcher waits until then, up to 1 s; a later time makes the
	// Capture Deferred, with nothing sent.
	Admit func(addr netip.Addr) time.Time
}

// Defaults of Config.
const (
	defaultTimeout        = 120 * time.Second
	defaultConnectTimeout = 15 * time.Second
	defaultHeadTimeout    = 60 * time.Second
	defaultMaxBody        = 32 << 20
	defaultMaxIdle        = 256
	// readerBytes is the size of the read buffers: most pages come in one or two reads.
	readerBytes = 32 << 10
	// sessionCache is how many TLS sessions are kept, which spare a host's server the costly part
	// of the handshake when it is visited again.
	sessionCache = 256
)

// Fetcher makes exchanges over HTTP/1.1. It is safe for concurrent use.
type Fetcher struct {
	userAgent      string
	timeout        time.Duration
	connectTimeout time.Duration
	headTimeout    time.Duration
	maxBody        int64

	guard       guard
	resolver    *resolver
	pool        pool
	budget      *capture.Budget
	readers     sync.Pool // of *bufio.Reader
	tlsConfig   *tls.Config
	insecureTLS *tls.Config
}

// New makes a Fetcher. Bodies are spooled under budget.
func New(cfg Config, budget *capture.Budget) (*Fetcher, error) {
	if budget == nil {
		return nil, errors.New("fetcher: no budget for bodies")
	}
	if !httpguts.ValidHeaderFieldValue(cfg.UserAgent) {
		return nil, fmt.Errorf("fetcher: user agent %q has invalid characters", cfg.UserAgent)
	}
	if cfg.Timeout < 0 || cfg.ConnectTimeout < 0 || cfg.HeadTimeout < 0 || cfg.MaxBody < 0 || cfg.MaxIdle < 0 {
		return nil, errors.New("fetcher: a timeout or size is negative")
	}
	servers := make([]string, len(cfg.Resolvers))
	for i, s := range cfg.Resolvers {
		ap, err := netip.ParseAddrPort(s)
		if err != nil {
			a, err := netip.ParseAddr(s)
			if err != nil {
				return nil, fmt.Errorf("fetcher: name server %q is no address: %w", s, err)
			}
			ap = netip.AddrPortFrom(a, 53)
		}
		servers[i] = ap.String()
	}
	own := make([]netip.Prefix, len(cfg.Own))
	for i, p := range cfg.Own {
		if !p.IsValid() {
			return nil, fmt.Errorf("fetcher: own address range %d is invalid", i+1)
		}
		own[i] = plainPrefix(p)
	}
	f := &Fetcher{
		userAgent:      cfg.UserAgent,
		timeout:        cmp.Or(cfg.Timeout, defaultTimeout),
		connectTimeout: cmp.Or(cfg.ConnectTimeout, defaultConnectTimeout),
		headTimeout:    cmp.Or(cfg.HeadTimeout, defaultHeadTimeout),
		maxBody:        cmp.Or(cfg.MaxBody, defaultMaxBody),
		guard:          guard{allowPrivate: cfg.AllowPrivate, requireContact: cfg.RequireContact, own: own},
		pool:           pool{maxIdle: cmp.Or(cfg.MaxIdle, defaultMaxIdle), byHost: map[string]*conn{}},
		budget:         budget,
		readers:        sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readerBytes) }},
		tlsConfig: &tls.Config{
			NextProtos:         []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(sessionCache),
		},
	}
	f.insecureTLS = &tls.Config{NextProtos: f.tlsConfig.NextProtos, InsecureSkipVerify: true}
	f.resolver = newResolver(servers, f.connectTimeout)
	return f, nil
}

// Do makes exactly one exchange: no redirect is followed and nothing is sent twice. When a reused connection dies before any
// byte of the response, the Capture is Stale: nobody can tell whether the server saw the request, so that it is the
// caller's to make it again at the host's pace. Every outcome is in the Capture; Do returns no error.
// A cancelled ctx ends the exchange at once; what had arrived is TruncatedTime, or TimeoutHead.
func (f *Fetcher) Do(ctx context.Context, req Request) *capture.Capture {
	now := time.Now()
	x := &exchange{f: f, ctx: ctx, req: req, deadline: now.Add(f.timeout)}
	x.c = &capture.Capture{URL: req.URL, Start: now}
	if end, ok := ctx.Deadline(); ok && end.Before(x.deadline) {
		x.deadline = end
	}
	x.run()
	x.c.End = time.Now()
	if x.c.Sent {
		x.c.Phases.Total = x.c.End.Sub(x.c.Start)
	}
	return x.c
}

// Close closes idle connections and ends look-ups in flight. Exchanges under way go on.
func (f *Fetcher) Close() {
	f.pool.close()
	f.resolver.close()
}
