package canon

import "testing"

// Keys as the Internet Archive's surt package gives them.
func TestSURT(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://www.Example.com:443/A/B/?b=2&a=1", "com,example)/a/b?a=1&b=2"},
		{"http://www.archive.org/", "org,archive)/"},
		{"http://archive.org/goo/", "org,archive)/goo"},
		{"http://archive.org/goo/?", "org,archive)/goo"},
		{"http://archive.org/goo/?b&a", "org,archive)/goo?a&b"},
		{"http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"},
		{"http://www34.archive.org/", "org,archive)/"},
		{"http://www2foo.com/", "com,www2foo)/"},
		{"http://www.com/", "com)/"},
		{"https://example.com:8443/", "com,example:8443)/"},
		{"http://192.0.2.1/x", "1,2,0,192)/x"},
		{"http://[2001:db8::1]/x", "[2001:db8::1])/x"},
		{"http://archive.org/index.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221", "org,archive)/index.php?action=profile;u=4221"},
		{"http://archive.org/?one=two&jsessionid=0123456789abcdefghijklemopqrstuv", "org,archive)/?&one=two"},
		{"http://archive.org/?CFID=1169580&CFTOKEN=48630702&x=y", "org,archive)/?x=y"},
		{"http://archive.org/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx", "org,archive)/mileg.aspx"},
		{"http://archive.org/(4hqa0555fwsecu455xqckv45)/mileg.aspx", "org,archive)/mileg.aspx"},
		{"http://host.com//twoslashes?more//slashes", "com,host)/twoslashes?more//slashes"},
		{"http://host.com/%2525252525252525", "com,host)/%25"},
		{"http://host.com/asdf%25%32%35asd", "com,host)/asdf%25asd"},
		{"http://host.com/ab%23cd", "com,host)/ab%23cd"},
		{"http://host.com/%C3%A9", "com,host)/%c3%a9"},
		{"http://host.com/a/%252e%252e/b", "com,host)/b"},
		{"http://visit.webhosting.yahoo.com/visit.gif?&r=http%3A//web.archive.org/web/20090517140029/http%3A//anthonystewarthead.electric-chi.com/&b=Netscape%205.0%20%28Windows%3B%20en-US%29&s=1366x768&o=Win32&c=24&j=true&v=1.2",
			"com,yahoo,webhosting,visit)/visit.gif?&b=netscape%205.0%20(windows;%20en-us)&c=24&j=true&o=win32&r=http://web.archive.org/web/20090517140029/http://anthonystewarthead.electric-chi.com/&s=1366x768&v=1.2"},
	}
	for _, tt := range tests {
		if got := mustParse(t, tt.in).SURT(); got != tt.want {
			t.Errorf("SURT of %s is %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestRegistrableDomain(t *testing.T) {
	tests := []struct{ in, want string }{
		{"example.co.uk", "example.co.uk"},
		{"www.a.example.co.uk", "example.co.uk"},
		{"example.com", "example.com"},
		{"com", "com"},
		{"co.uk", "co.uk"},
		{"localhost", "localhost"},
		{"127.0.0.1", "127.0.0.1"},
		{"[2001:db8::1]", "[2001:db8::1]"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"", ""},
		{".", "."},
		{"a..b", "a..b"},
	}
	for _, tt := range tests {
		if got := RegistrableDomain(tt.in); got != tt.want {
			t.Errorf("RegistrableDomain(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSiteHost(t *testing.T) {
	tests := []struct{ in, want string }{
		{"www.example.com", "example.com"},
		{"example.com", "example.com"},
		{"www.com", "www.com"},
		{"www2.example.com", "www2.example.com"},
		{"www.a.example.com", "a.example.com"},
		{"127.0.0.1", "127.0.0.1"},
	}
	for _, tt := range tests {
		if got := SiteHost(tt.in); got != tt.want {
			t.Errorf("SiteHost(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
