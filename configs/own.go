package configs

import (
	"fmt"
	"net/netip"
	"strings"

	"amble/frontier/canon"
	"amble/scheduler"
)

// parseOwn reads the values of own. Names are brought to canonical form, so that they compare with URLs.
func parseOwn(values []string) (scheduler.Own, error) {
	var own scheduler.Own
	for _, v := range values {
		if prefix, ok := parsePrefix(v); ok {
			if limit := map[bool]int{true: 8, false: 16}[prefix.Addr().Is4()]; prefix.Bits() < limit {
				return own, fmt.Errorf("%q is more of the internet than anybody owns: name ranges of /%d and smaller", v, limit)
			}
			own.Prefixes = append(own.Prefixes, prefix)
			continue
		}
		name, wildcard := strings.CutPrefix(v, "*.")
		u, err := canon.Parse("http://" + name + "/")
		if err != nil || u.RequestTarget() != "/" || strings.ContainsAny(name, "*/:@?#") {
			return own, fmt.Errorf("%q is neither a host (example.org, *.example.org) nor an address range (192.168.7.0/24); ports and URLs do not belong here", v)
		}
		if !wildcard {
			own.Hosts = append(own.Hosts, u.Hostname())
			continue
		}
		if publicSuffix(u.Hostname()) {
			return own, fmt.Errorf("%q are everybody's hosts: name those below a domain of yours, as *.example.org", v)
		}
		own.Suffixes = append(own.Suffixes, "."+u.Hostname())
	}
	return own, nil
}

func parsePrefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), true
	}
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// publicSuffix tells names under which the world registers. Names for private use have no registrar.
func publicSuffix(name string) bool {
	switch name {
	case "localhost", "local", "internal", "lan", "home.arpa", "test", "example", "invalid", "intranet", "corp":
		return false
	}
	below := "x." + name
	return canon.RegistrableDomain(below) == below
}
