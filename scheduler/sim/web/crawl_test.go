package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// reference makes a request-target of a link as a browser does, for the site's encoding.
func (s *site) reference(t *testing.T, ref string) string {
	path, query, has := strings.Cut(ref, "?")
	escape := func(b []byte) string {
		var out strings.Builder
		for _, c := range b {
			if c < 0x80 {
				out.WriteByte(c)
			} else {
				fmt.Fprintf(&out, "%%%02X", c)
			}
		}
		return out.String()
	}
	if !has {
		return escape([]byte(path))
	}
	q := []byte(query)
	if s.encoding != nil {
		var err error
		if q, err = s.encoding.NewEncoder().Bytes(q); err != nil {
			t.Error(err)
		}
	}
	return escape([]byte(path)) + "?" + escape(q)
}

// outlinks are the targets on the site that a page links to.
func (s *site) outlinks(t *testing.T, at string, body []byte) []string {
	if s.encoding != nil {
		var err error
		if body, err = s.encoding.NewDecoder().Bytes(body); err != nil {
			t.Error(err)
		}
	}
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	base, based := at, false
	var refs []string
	for n := range doc.Descendants() {
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		switch {
		case n.DataAtom == atom.Base && !based:
			base, based = attr["href"], true
		case n.DataAtom == atom.Meta && attr["name"] == "robots" && strings.Contains(attr["content"], "nofollow"):
			return nil
		case n.DataAtom == atom.A:
			refs = append(refs, attr["href"])
		case n.DataAtom == atom.Meta && attr["http-equiv"] == "refresh":
			_, u, _ := strings.Cut(attr["content"], "url='")
			refs = append(refs, strings.TrimSuffix(u, "'"))
		}
	}
	return s.local(t, base, refs...)
}

// local resolves references and keeps those to the site.
func (s *site) local(t *testing.T, base string, refs ...string) (targets []string) {
	b, err := url.Parse(s.base + base)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, ref := range refs {
		u, err := b.Parse(s.reference(t, ref))
		if err != nil {
			t.Error(err)
			continue
		}
		if u.Host == s.host {
			targets = append(targets, u.RequestURI())
		}
	}
	return targets
}

// crawl reaches everything on a site, one request at a time, as a patient visitor would who knows what is forbidden.
// It returns what was stored by status.
func (s *site) crawl(t *testing.T, c *http.Client) map[string]int {
	stored, queue, seen := map[string]int{}, []string{"/robots.txt", "/"}, map[string]bool{"/": true, "/robots.txt": true}
	tries := map[string]int{}
	for len(queue) > 0 {
		target := queue[0]
		queue = queue[1:]
		if s.forbidden[target] || s.allForbidden && target != "/robots.txt" {
			continue
		}
		status, header, body, err := get(c, s.base+target)
		tries[target]++
		if err != nil || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			if tries[target] < 2 || err == nil && tries[target] < 5 {
				wait := header.Get("Retry-After")
				if err == nil {
					time.Sleep(cmp.Or(retryAfter(t, wait), 100*time.Millisecond))
				}
				queue = append([]string{target}, queue...)
			}
			continue
		}
		stored[target] = status
		links := s.local(t, target, header.Values("Location")...)
		switch {
		case status != http.StatusOK:
		case header.Get("X-Robots-Tag") == "nofollow":
		case strings.HasPrefix(header.Get("Content-Type"), "text/html"):
			links = append(links, s.outlinks(t, target, body)...)
		case target == "/robots.txt":
			for line := range strings.Lines(string(body)) {
				if u, ok := strings.CutPrefix(line, "Sitemap: "); ok {
					links = append(links, s.local(t, "/", strings.TrimSpace(u))...)
				}
			}
		default:
			links = append(links, s.local(t, "/", locations(t, body)...)...)
		}
		for _, l := range links {
			if !seen[l] && !s.isEndless(l) {
				seen[l] = true
				queue = append(queue, l)
			}
		}
	}
	return stored
}

func retryAfter(t *testing.T, v string) time.Duration {
	if v == "" {
		return 0
	}
	var seconds int
	if _, err := fmt.Sscanf(v, "%d", &seconds); err == nil && !strings.Contains(v, " ") {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		t.Error(err)
	}
	return time.Until(at)
}

func locations(t *testing.T, body []byte) (locs []string) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		if body, err = io.ReadAll(z); err != nil {
			t.Error(err)
		}
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return locs
		}
		if err != nil {
			return nil // no sitemap
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "loc" {
			var loc string
			if err := d.DecodeElement(&loc, &e); err != nil {
				t.Error(err)
			}
			locs = append(locs, loc)
		}
	}
}
