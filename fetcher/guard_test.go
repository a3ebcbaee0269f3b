package fetcher

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"amble/fetcher/capture"
)

func TestGuard(t *testing.T) {
	const (
		public   = "public"
		private  = "private"
		never    = "unusable"
		metadata = "metadata"
	)
	tests := map[string][]string{
		public: {"8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.0.1.1", "2606:4700::1111",
			"2a00:1450:4001::1", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8", "fb00::1", "2003::1"},
		private: {"127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.1.1", "100.64.0.1", "100.127.255.255",
			"198.18.0.1", "192.0.2.1", "::1", "fe80::1", "fe80::1%eth0", "febf::1", "fc00::1", "fd12:3456::1", "fec0::1",
			"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::7f00:1",
			"2002:7f00:1::", "2002:c0a8:101::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "2a00::5efe:10.0.0.1", "2a00::200:5efe:127.0.0.1"},
		never: {"0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "ff02::1", "::ffff:0.0.0.0", "64:ff9b::e000:1"},
		metadata: {"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "::ffff:169.254.169.254", "::a9fe:a9fe",
			"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00:ec2::254%1", "192.0.0.192"},
	}
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	guards := []struct {
		name    string
		guard   guard
		ownName bool
		open    map[string]bool
		err     map[string]error
	}{
		{"default", guard{}, false, map[string]bool{public: true}, map[string]error{private: errPrivate}},
		{"allow private", guard{allowPrivate: true}, false, map[string]bool{public: true, private: true}, nil},
		{"own name", guard{}, true, map[string]bool{public: true, private: true}, nil},
		{"own ranges", guard{own: everything}, false, map[string]bool{public: true, private: true}, nil},
		{"no contact", guard{requireContact: true}, false, nil, map[string]error{public: errContact, private: errPrivate}},
		{"no contact, own name", guard{requireContact: true}, true, map[string]bool{private: true}, map[string]error{public: errContact}},
		{"no contact, allow private", guard{requireContact: true, allowPrivate: true}, false, map[string]bool{private: true}, map[string]error{public: errContact}},
		{"no contact, own ranges", guard{requireContact: true, own: everything}, false, map[string]bool{public: true, private: true}, nil},
	}
	for _, g := range guards {
		for kind, addrs := range tests {
			want := g.err[kind]
			switch kind {
			case never:
				want = errUnusable
			case metadata:
				want = errMetadata
			}
			for _, a := range addrs {
				if err := g.guard.check(netip.MustParseAddr(a), g.ownName); !errors.Is(err, want) || (err == nil) != g.open[kind] {
					t.Errorf("%s: %s (%s): %v, want %v", g.name, a, kind, err, want)
				}
			}
		}
	}
	if err := (&guard{}).check(netip.Addr{}, false); !errors.Is(err, errUnusable) {
		t.Errorf("no address: %v", err)
	}
	mapped := guard{own: []netip.Prefix{plainPrefix(netip.MustParsePrefix("::ffff:10.1.0.0/112"))}}
	if mapped.check(netip.MustParseAddr("10.1.2.3"), false) != nil || mapped.check(netip.MustParseAddr("10.2.2.3"), false) == nil {
		t.Error("a mapped own range is not the IPv4 range")
	}
}

// TestGuardSpellings is SE-01 for the addresses in URLs: no connection, whatever the spelling.
func TestGuardSpellings(t *testing.T) {
	s := serve(t, keepAlive(ok("secret")))
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	f := newFetcher(t, Config{UserAgent: "Amble/test"})
	hosts := []string{"127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"0.0.0.0", "0", "[::]", "localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1.", "%31%32%37.0.0.1", "１２７.0.0.1", "169.254.169.254",
		"[64:ff9b::7f00:1]", "[fe80::1]", "[fd00:ec2::254]"}
	for _, host := range hosts {
		for _, insecure := range []bool{false, true} {
			c := do(t, f, Request{URL: mustURL(t, "http://"+host+":"+port+"/"), Insecure: insecure})
			if c.Class != capture.Address || c.Sent || c.Addr.IsValid() || c.Err == "" {
				t.Errorf("%s: %s, sent %v, address %v, %q", host, c.Class, c.Sent, c.Addr, c.Err)
			}
		}
	}
	if n := s.accepted(); n != 0 {
		t.Fatalf("%d connections, want none", n)
	}

	// Permission given, it works; and a connection left from it serves no request without permission.
	own := Request{URL: mustURL(t, "http://127.1:"+port+"/"), Own: true}
	if c := do(t, f, own); c.Class != capture.OK {
		t.Fatalf("own: %s %s", c.Class, c.Err)
	}
	if f.pool.order.Len() != 1 {
		t.Fatal("no idle connection")
	}
	own.Own = false
	if c := do(t, f, own); c.Class != capture.Address || s.accepted() != 1 {
		t.Errorf("no longer own: %s, %d connections", c.Class, s.accepted())
	}
	f = newFetcher(t, Config{Own: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RequireContact: true})
	if c := do(t, f, own); c.Class != capture.OK {
		t.Errorf("own range: %s %s", c.Class, c.Err)
	}
	for _, u := range []string{"http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/"} {
		if c := do(t, f, Request{URL: mustURL(t, u), Own: true}); c.Class != capture.Address {
			t.Errorf("%s: %s", u, c.Class)
		}
	}
	if c := do(t, f, Request{URL: mustURL(t, "http://8.8.8.8/")}); c.Class != capture.Address || !errorNames(c.Err, "contact") {
		t.Errorf("public address without a contact: %s %q", c.Class, c.Err)
	}
}

// TestGuardEmbedded: no IPv6 spelling of an IPv4 address is judged more mildly than the address.
func TestGuardEmbedded(t *testing.T) {
	spell := map[string]func(v4 [4]byte) netip.Addr{
		"mapped": func(v [4]byte) netip.Addr {
			return netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: v[0], v[1], v[2], v[3]})
		},
		"compatible": func(v [4]byte) netip.Addr { return netip.AddrFrom16([16]byte{12: v[0], v[1], v[2], v[3]}) },
		"translated": func(v [4]byte) netip.Addr {
			return netip.AddrFrom16([16]byte{8: 0xff, 9: 0xff, 12: v[0], v[1], v[2], v[3]})
		},
		"NAT64": func(v [4]byte) netip.Addr {
			return netip.AddrFrom16([16]byte{0: 0, 1: 0x64, 2: 0xff, 3: 0x9b, 12: v[0], v[1], v[2], v[3]})
		},
		"6to4": func(v [4]byte) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 0x02, v[0], v[1], v[2], v[3], 15: 1})
		},
		"ISATAP": func(v [4]byte) netip.Addr {
			return netip.AddrFrom16([16]byte{0: 0x2a, 8: 2, 10: 0x5e, 11: 0xfe, 12: v[0], v[1], v[2], v[3]})
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		v4 := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		if rapid.Bool().Draw(t, "special") {
			p := rapid.SampledFrom(privatePrefixes[:12]).Draw(t, "prefix").Addr().As4()
			v4[0], v4[1] = p[0], p[1]
		}
		g := guard{allowPrivate: rapid.Bool().Draw(t, "allow private"), requireContact: rapid.Bool().Draw(t, "require contact")}
		own := rapid.Bool().Draw(t, "own")
		plain := g.check(netip.AddrFrom4(v4), own)
		for name, f := range spell {
			if a := f(v4); plain != nil && g.check(a, own) == nil {
				t.Fatalf("%v is open as %s %v: %v", netip.AddrFrom4(v4), name, a, plain)
			}
		}
	})
}
