package fetcher

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"amble/fetcher/capture"
)

// authority signs the certificates of test servers.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t: t, key: key, cert: cert}
}

// issue makes a certificate for a name or address that ends at notAfter.
func (a *authority) issue(host string, notAfter time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: notAfter}
	if ip := net.ParseIP(host); ip != nil {
		tmpl.IPAddresses = []net.IP{ip}
	} else {
		tmpl.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// speakTLS answers requests with s after a handshake; notify tells whether it ends with a closure alert.
func speakTLS(config *tls.Config, s string, notify bool) func(*peer) {
	return func(p *peer) {
		c := tls.Server(p.TCPConn, config)
		if c.Handshake() != nil {
			return
		}
		b := make([]byte, 4096)
		for {
			if n, err := c.Read(b); err != nil || n == 0 {
				return
			}
			io.WriteString(c, s)
			if len(s) > 0 && s[len(s)-1] == '!' {
				if notify {
					c.CloseWrite()
				}
				return
			}
		}
	}
}

func TestTLS(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	good := &tls.Config{Certificates: []tls.Certificate{ca.issue("127.0.0.1", later)}}
	with := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	const closeDelimited = "HTTP/1.1 200 OK\r\n\r\nbye!"
	tests := []struct {
		name   string
		script func(*peer)
		req    Request
		class  capture.Class
		body   string
		sent   bool
		err    string
	}{
		{"good", speakTLS(good, ok("hi"), true), Request{}, capture.OK, "hi", true, ""},
		{"unknown authority", speakTLS(with(stranger.issue("127.0.0.1", later)), ok("hi"), true), Request{}, capture.TLS, "<nil>", false, "authority"},
		{"other host", speakTLS(with(ca.issue("other.example", later)), ok("hi"), true), Request{}, capture.TLS, "<nil>", false, "certificate"},
		{"expired", speakTLS(with(ca.issue("127.0.0.1", time.Now().Add(-time.Hour))), ok("hi"), true), Request{}, capture.TLS, "<nil>", false, "expired"},
		{"insecure and own", speakTLS(with(stranger.issue("other.example", later)), ok("hi"), true), Request{Own: true, Insecure: true}, capture.OK, "hi", true, ""},
		{"insecure, not own", speakTLS(with(stranger.issue("127.0.0.1", later)), ok("hi"), true), Request{Insecure: true}, capture.TLS, "<nil>", false, "authority"},
		{"plain text", func(p *peer) { p.say("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"); p.hold() }, Request{}, capture.TLS, "<nil>", false, "handshake"},
		{"no common protocol", speakTLS(&tls.Config{Certificates: good.Certificates, NextProtos: []string{"imap"}}, "", true), Request{}, capture.TLS, "<nil>", false, "protocol"},
		{"silent", func(p *peer) { p.hold() }, Request{}, capture.TimeoutConnect, "<nil>", false, "timeout"},
		{"closed in the handshake", func(p *peer) { p.br.Peek(1) }, Request{}, capture.Reset, "<nil>", false, "handshake"},
		{"reset in the handshake", func(p *peer) { p.br.Peek(1); p.reset() }, Request{}, capture.Reset, "<nil>", false, "handshake"},
		{"closed with an alert", speakTLS(good, closeDelimited, true), Request{}, capture.OK, "bye!", true, ""},
		// RFC 9112 section 9.8 would have it incomplete; so many servers do it that crypto/tls takes it between records.
		{"closed without an alert", speakTLS(good, closeDelimited, false), Request{}, capture.OK, "bye!", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.script)
			f := testFetcher(t, Config{ConnectTimeout: 2 * time.Second})
			if tt.class == capture.TimeoutConnect {
				f = testFetcher(t, Config{ConnectTimeout: 100 * time.Millisecond})
			}
			f.tlsConfig.RootCAs = x509.NewCertPool()
			f.tlsConfig.RootCAs.AddCert(ca.cert)
			tt.req.URL = mustURL(t, "https://"+s.addr+"/")
			c := do(t, f, tt.req)
			if c.Class != tt.class || bodyOf(t, c) != tt.body || c.Sent != tt.sent || !errorNames(c.Err, tt.err) {
				t.Errorf("%s, body %q, sent %v, %q; want %s, %q, %v, %q", c.Class, bodyOf(t, c), c.Sent, c.Err, tt.class, tt.body, tt.sent, tt.err)
			}
			if c.Phases.TLS == 0 || c.Addr.String() != s.addr {
				t.Errorf("phases %+v, address %v", c.Phases, c.Addr)
			}
			checkTimes(t, c)
		})
	}
}

// TestTLSName: the server is told the name, offered HTTP/1.1 alone, and visited again over the same connection.
func TestTLSName(t *testing.T) {
	ca := newAuthority(t)
	hello := make(chan *tls.ClientHelloInfo, 1)
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.issue("a.example", time.Now().Add(time.Hour))},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello <- h
		return nil, nil
	}
	s := serve(t, speakTLS(config, ok("hi"), true))
	_, port, _ := net.SplitHostPort(s.addr)
	names := serveNames(t)
	names.set("a.example", addrs("127.0.0.1"))
	f := newFetcher(t, Config{Own: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolvers: []string{names.addr}})
	f.tlsConfig.RootCAs = x509.NewCertPool()
	f.tlsConfig.RootCAs.AddCert(ca.cert)
	req := Request{URL: mustURL(t, "https://a.example:"+port+"/")}
	first, second := do(t, f, req), do(t, f, req)
	if first.Class != capture.OK || second.Class != capture.OK || second.Phases.TLS != 0 || s.accepted() != 1 {
		t.Fatalf("%s %s, %s %s, %d connections", first.Class, first.Err, second.Class, second.Err, s.accepted())
	}
	if h := <-hello; h.ServerName != "a.example" || len(h.SupportedProtos) != 1 || h.SupportedProtos[0] != "http/1.1" {
		t.Errorf("server name %q, protocols %q", h.ServerName, h.SupportedProtos)
	}
	// A verified connection serves no request that asks for an unverified one, and the other way round.
	req.Insecure = true
	if c := do(t, f, req); c.Class != capture.OK || c.Phases.TLS == 0 || s.accepted() != 2 {
		t.Errorf("insecure: %s, %d connections", c.Class, s.accepted())
	}
}
