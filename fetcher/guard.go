package fetcher

import (
	"errors"
	"fmt"
	"net/netip"
)

// Reasons for which the address guard refuses; they end up in Capture.Err.
var (
	errMetadata = errors.New("is a cloud metadata address")
	errUnusable = errors.New("is no address of one host")
	errPrivate  = errors.New("is not a public address")
	errContact  = errors.New("is a public address, and a contact is needed to fetch from those")
)

// guard decides which addresses may be connected to. It judges the address that is dialled,
// so that names, redirects, odd spellings and rebinding names all pass the same gate.
type guard struct {
	allowPrivate   bool
	requireContact bool
	own            []netip.Prefix
}

// metadataAddrs answer with credentials of the machine that asks. Some lie in public ranges,
// so they are refused by value.
var metadataAddrs = [...]netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most clouds
	netip.MustParseAddr("169.254.170.2"),   // AWS, container credentials
	netip.MustParseAddr("169.254.170.23"),  // AWS, pod identity
	netip.MustParseAddr("169.254.169.253"), // AWS, name server beside the first
	netip.MustParseAddr("169.254.0.23"),    // Tencent
	netip.MustParseAddr("169.254.42.42"),   // Scaleway
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS, pod identity
	netip.MustParseAddr("fd00:ec2::253"),   // AWS, name server
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("fd00:42::42"),     // Scaleway
}

// unusablePrefixes name no single host on any network. 0.0.0.0 and :: reach this machine on
// several systems.
var unusablePrefixes = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("ff00::/8"),
}

// privatePrefixes are not globally reachable by the registries of RFC 6890 (as they stand after
// RFC 8190). Transition prefixes that carry an IPv4 address are unwrapped before.
var privatePrefixes = [...]netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers, RFC 6598
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), // documentation, RFC 5737, like the next two
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), // former 6to4 relays, RFC 7526
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks, RFC 2544
	netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("64:ff9b:1::/48"), // local NAT64, RFC 8215: where the IPv4 address lies is not known
	netip.MustParsePrefix("100::/64"),       // discard, RFC 6666
	netip.MustParsePrefix("2001::/23"),      // protocol assignments, with Teredo
	netip.MustParsePrefix("2001:db8::/32"),  // documentation
	netip.MustParsePrefix("3fff::/20"),      // documentation, RFC 9637
	netip.MustParsePrefix("5f00::/16"),      // segment routing, RFC 9602
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"), // former site-local, RFC 3879
}

// IPv6 prefixes in which an IPv4 address is embedded, and the byte where it begins.
var embeddings = [...]struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, RFC 4291 section 2.5.5.1
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated, RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4, RFC 3056
}

// unwrap gives the IPv4 address that an IPv6 spelling leads to, else a itself. "::" and "::1"
// stay what they are.
func unwrap(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() || a.IsUnspecified() || a.IsLoopback() {
		return a
	}
	b := a.As16()
	for _, e := range embeddings {
		if e.prefix.Contains(a) {
			return netip.AddrFrom4([4]byte(b[e.at : e.at+4]))
		}
	}
	// ISATAP interface identifiers, RFC 5214 section 6.1, under any prefix.
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return a
}

// check is nil when a may be connected to. ownName tells that the operator owns the host by name.
func (g *guard) check(a netip.Addr, ownName bool) error {
	plain := unwrap(a)
	for _, m := range metadataAddrs {
		if plain == m {
			return fmt.Errorf("%v %w", a, errMetadata)
		}
	}
	if !plain.IsValid() || contains(unusablePrefixes[:], plain) {
		return fmt.Errorf("%v %w", a, errUnusable)
	}
	if contains(g.own, plain) || contains(g.own, a.WithZone("")) {
		return nil
	}
	if contains(privatePrefixes[:], plain) {
		if g.allowPrivate || ownName {
			return nil
		}
		return fmt.Errorf("%v %w", a, errPrivate)
	}
	if g.requireContact {
		return fmt.Errorf("%v %w", a, errContact)
	}
	return nil
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// plainPrefix turns an IPv4-mapped prefix into the IPv4 prefix that check compares with.
func plainPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
