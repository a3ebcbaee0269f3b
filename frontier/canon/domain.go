package canon

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// RegistrableDomain is the public suffix and one label ("example.co.uk"); a host
// that is an address or itself a public suffix is returned as it is.
func RegistrableDomain(hostname string) string {
	if hostname == "" || hostname[0] == '[' || isIPv4(hostname) {
		return hostname
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(hostname)
	if err != nil {
		return hostname
	}
	return d
}

// SiteHost is hostname without a leading "www.": one site for scope host. A name
// that would have no dot left ("www.com") stays whole.
func SiteHost(hostname string) string {
	if rest, ok := strings.CutPrefix(hostname, "www."); ok && strings.IndexByte(rest, '.') > 0 && !isIPv4(rest) {
		return rest
	}
	return hostname
}

// isIPv4 tells whether a canonical host is an IPv4 address. The URL standard
// makes each host whose last label is a number an address, so that label decides.
func isIPv4(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && last[0] >= '0' && last[0] <= '9' && strings.Trim(last, "0123456789") == ""
}
