package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// kind is a host's behaviour. build runs once all hosts have their addresses.
type kind struct {
	name, about string
	build       func(s *site)
}

var kinds = []kind{
	{"plain", "nothing odd", func(s *site) {
		s.robots("User-agent: *", "Disallow:")
		s.grow(pick(s, 30, 12))
	}},
	{"latency", "first byte after 150 to 350 ms", latency},
	{"tail", "every sixth page takes over a second", tail},
	{"slow-body", "bodies drip in ten parts", slowBody},
	{"limited", "token bucket, 429 with Retry-After in seconds", limited(false)},
	{"limited-date", "token bucket, 429 with Retry-After as a date", limited(true)},
	{"limited-bare", "token bucket, 429 without Retry-After", limitedBare},
	{"unavailable", "some pages answer 503 with Retry-After at first", unavailable(true)},
	{"unavailable-bare", "some pages answer 503 without Retry-After at first", unavailable(false)},
	{"crawl-delay", "Crawl-delay in robots.txt", crawlDelay},
	{"disallow", "Disallow with wildcards and $", disallow},
	{"redirects", "chains on the host and to others, a loop, an overlong one", redirects},
	{"not-found", "links to pages that are 404 or 410", notFound},
	{"etag", "ETag and Last-Modified, 304 to conditional requests", etag},
	{"sitemap", "sitemap index with a gzip child, pages that nothing links", sitemap},
	{"windows-1252", "pages and query strings in windows-1252", windows1252},
	{"shift-jis", "pages and query strings in Shift_JIS, declared by meta", shiftJIS},
	{"calendar", "a calendar without end", calendar},
	{"reset", "one page always resets, one resets once", resets},
	{"timeout", "one page never answers", timeout},
	{"gzip", "pages with Content-Encoding: gzip", gzipPages},
	{"chunked", "pages with chunked transfer coding", chunked},
	{"robots-404", "robots.txt is 404: all is allowed", robotsStatus(http.StatusNotFound)},
	{"robots-403", "robots.txt is 403: all is allowed", robotsStatus(http.StatusForbidden)},
	{"robots-500", "robots.txt is 500: nothing may be fetched", robotsBroken},
	{"robots-redirect", "robots.txt behind two redirects", robotsRedirect},
	{"robots-elsewhere", "robots.txt redirects to another host", robotsElsewhere},
	{"base", "links against a base, and meta refresh", base},
	{"big", "a page of over a megabyte", big},
	{"nofollow", "robots meta and X-Robots-Tag with nofollow, and rel=nofollow", nofollow},
}

func latency(s *site) {
	s.robots("User-agent: *", "Allow: /")
	s.grow(pick(s, 28, 10))
	s.wrap = func(x *exchange, next func()) {
		ms := 150 + s.draw("latency "+x.target).IntN(200)
		if s.web.fast {
			ms /= 10
		}
		if x.wait(time.Duration(ms) * time.Millisecond) {
			next()
		}
	}
}

func tail(s *site) {
	s.robots("User-agent: *", "Allow: /")
	s.grow(pick(s, 24, 10))
	for i := 4; i < len(s.tree); i += 6 {
		s.routes[s.tree[i]].answer = func(x *exchange) {
			if x.wait(pick(s, 1100*time.Millisecond, 120*time.Millisecond)) {
				s.page(x)
			}
		}
	}
}

func slowBody(s *site) {
	s.robots("# no rules")
	s.grow(pick(s, 22, 8))
	s.wrap = func(x *exchange, next func()) {
		body := s.render(x.target)
		x.Header().Set("Content-Length", fmt.Sprint(len(body)))
		x.pieces(http.StatusOK, s.contentType, body, 10, pick(s, 80*time.Millisecond, 8*time.Millisecond))
	}
}

func limited(date bool) func(s *site) {
	return func(s *site) {
		s.robots("User-agent: *", "Disallow:")
		s.grow(pick(s, 16, 8))
		s.bucket = &bucket{
			perSecond: pick(s, 0.6, 4), size: pick(s, 5., 3), date: date,
			retryAfter: pick(s, 2*time.Second, time.Second),
		}
	}
}

func limitedBare(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 16, 8))
	s.bucket = &bucket{perSecond: pick(s, 0.6, 6), size: pick(s, 5., 3)}
}

func unavailable(say bool) func(s *site) {
	return func(s *site) {
		s.robots("User-agent: *", "Disallow:")
		s.grow(pick(s, 13, 8))
		for i := 3; i < len(s.tree); i += pick(s, 7, 4) {
			s.routes[s.tree[i]].answer = func(x *exchange) {
				switch {
				case x.nth > 1:
					s.page(x)
				case say:
					x.refuse(http.StatusServiceUnavailable, time.Second, false)
				default:
					x.refuse(http.StatusServiceUnavailable, 0, false)
				}
			}
		}
	}
}

func crawlDelay(s *site) {
	s.delay = pick(s, 2*time.Second, 150*time.Millisecond)
	s.robots("User-agent: *", fmt.Sprintf("Crawl-delay: %g", s.delay.Seconds()), "Disallow: /cgi-bin/")
	s.grow(pick(s, 14, 8))
	s.forbid("/cgi-bin/env")
}

func disallow(s *site) {
	s.robots(
		"User-agent: otherbot", "Disallow: /", "",
		"User-agent: *", "Disallow: /private/", "Disallow: /*.pdf$", "Disallow: /*sort=", "Disallow: /tmp",
		"Allow: /tmp/public/", "Disallow: /*/draft", "Disallow: /exact$", "Disallow: /caf%C3%A9/")
	s.grow(pick(s, 16, 8))
	s.forbid("/private/", "/private/diary.html", "/files/report.pdf", "/list?sort=price", "/list?page=2&sort=name",
		"/tmp", "/tmp/cache.html", "/tmpfiles.html", "/essays/draft-3.html", "/exact", "/caf%C3%A9/menu.html")
	for _, t := range []string{"/privateer.html", "/files/report.pdf?page=1", "/list?page=2", "/tmp/public/index.html",
		"/draft.html", "/exactly", "/caf%C3%A8/menu.html"} {
		s.add(t, http.StatusOK, s.page)
		s.link(t)
	}
}

// longChain is how many redirects the overlong chain has.
const longChain = 16

func redirects(s *site) {
	s.robots("User-agent: *", "Disallow: /closed/")
	s.grow(pick(s, 8, 5))
	hop := func(target string, status int, to string) *route {
		return s.add(target, status, func(x *exchange) { x.redirect(status, to) })
	}
	// A chain on the host, with every status that redirects.
	hop("/old/1", http.StatusMovedPermanently, "/old/2")
	hop("/old/2", http.StatusFound, "3")
	hop("/old/3", http.StatusSeeOther, s.base+"/old/4")
	hop("/old/4", http.StatusTemporaryRedirect, "/old/5?from=4")
	hop("/old/5?from=4", http.StatusPermanentRedirect, "/old/end")
	s.add("/old/end", http.StatusOK, s.page)
	// To another host's page, which its own tree reaches too.
	elsewhere := s.web.sites[0]
	hop("/away", http.StatusFound, elsewhere.base+elsewhere.tree[1])
	// Into what robots.txt forbids: the redirect itself is a page, its target is not.
	hop("/to-closed", http.StatusFound, "/closed/door.html")
	s.forbid("/closed/door.html")
	hop("/loop/a", http.StatusFound, "/loop/b")
	hop("/loop/b", http.StatusFound, "/loop/a")
	hop("/self", http.StatusMovedPermanently, "/self")
	n := pick(s, longChain, 12)
	for i := range n {
		rt := hop(fmt.Sprintf("/long/%d", i), http.StatusFound, fmt.Sprintf("/long/%d", i+1))
		rt.endless = i > 0
	}
	s.add(fmt.Sprintf("/long/%d", n), http.StatusOK, s.page).endless = true
	s.link("/old/1", "/away", "/to-closed", "/loop/a", "/self", "/long/0")
}

func notFound(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 18, 8))
	for i := range pick(s, 6, 3) {
		status := http.StatusNotFound
		if i%3 == 2 {
			status = http.StatusGone
		}
		t := fmt.Sprintf("/missing/%d.html", i)
		s.add(t, status, func(x *exchange) { x.notFound(status) })
		s.link(t)
	}
}

func etag(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 26, 10))
	modified := time.Date(2024, 3, 9, 12, 30, 0, 0, time.UTC).Format(http.TimeFormat)
	s.wrap = func(x *exchange, next func()) {
		tag := fmt.Sprintf(`"%x"`, s.draw("etag "+x.target).Uint64())
		x.Header().Set("ETag", tag)
		x.Header().Set("Last-Modified", modified)
		given := x.r.Header.Get("If-None-Match")
		if given == tag || given == "" && x.r.Header.Get("If-Modified-Since") == modified {
			x.WriteHeader(http.StatusNotModified)
			return
		}
		next()
	}
}

func sitemap(s *site) {
	s.robots("User-agent: *", "Disallow: /hidden/", "", "Sitemap: "+s.base+"/sitemap-index.xml")
	s.grow(pick(s, 8, 4))
	index := func(child ...string) string {
		var b strings.Builder
		b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
			`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
		for _, c := range child {
			fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc></sitemap>\n", s.base, c)
		}
		return b.String() + "</sitemapindex>\n"
	}
	set := func(section string, n int) []byte {
		var b bytes.Buffer
		b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
			`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
		for i := range n {
			t := fmt.Sprintf("/%s/page-%d.html", section, i)
			s.add(t, http.StatusOK, s.page)
			fmt.Fprintf(&b, "<url><loc>%s%s</loc><lastmod>2024-0%d-15</lastmod></url>\n", s.base, t, 1+i%9)
		}
		b.WriteString("</urlset>\n")
		return b.Bytes()
	}
	plain, packed := set("listed", pick(s, 7, 3)), gzipped(set("packed", pick(s, 7, 3)))
	s.file("/sitemap-index.xml", func(x *exchange) {
		x.send(http.StatusOK, "application/xml", []byte(index("/sitemap-1.xml", "/sitemap-2.xml.gz")))
	})
	s.file("/sitemap-1.xml", func(x *exchange) { x.send(http.StatusOK, "application/xml", plain) })
	s.file("/sitemap-2.xml.gz", func(x *exchange) { x.send(http.StatusOK, "application/gzip", packed) })
}

func windows1252(s *site) {
	s.encoding, s.contentType, s.text = charmap.Windows1252, "text/html; charset=windows-1252", french
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 18, 6))
	// The query of a link is in the page's encoding, its path in UTF-8 (URL standard, percent-encode after encoding).
	s.foreign("/café?mot=forêt", "/caf%C3%A9?mot=for%EAt")
	s.foreign("/recherche?q=été&lang=fr", "/recherche?q=%E9t%E9&lang=fr")
}

func shiftJIS(s *site) {
	s.encoding, s.contentType, s.text = japanese.ShiftJIS, "text/html", japaneseWords
	s.head = "<meta charset=\"shift_jis\">\n"
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 18, 6))
	s.foreign("/検索?q=日語", "/%E6%A4%9C%E7%B4%A2?q=%93%FA%8C%EA")
}

// foreign registers a page under the request-target that a reference in the site's encoding means.
func (s *site) foreign(ref, target string) {
	s.add(target, http.StatusOK, s.page)
	s.link(ref)
}

func calendar(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 14, 6))
	parse := func(target string) (year, month int, ok bool) {
		_, err := fmt.Sscanf(target, "/calendar?year=%d&month=%d", &year, &month)
		ok = err == nil && month >= 1 && month <= 12 && year >= 1 && year <= 9999
		return year, month, ok && target == monthTarget(year, month)
	}
	s.isEndless = func(target string) bool {
		_, _, ok := parse(target)
		return ok
	}
	s.more = func(target string) string {
		year, month, ok := parse(target)
		if !ok {
			return ""
		}
		before := time.Date(year, time.Month(month)-1, 1, 0, 0, 0, 0, time.UTC)
		after := time.Date(year, time.Month(month)+1, 1, 0, 0, 0, 0, time.UTC)
		return anchor(monthTarget(before.Year(), int(before.Month())), "previous month") + "\n" +
			anchor(monthTarget(after.Year(), int(after.Month())), "next month") + "\n"
	}
	s.link(monthTarget(2031, 6))
}

// monthTarget is the target of a month of the calendar.
func monthTarget(year, month int) string {
	return fmt.Sprintf("/calendar?year=%d&month=%02d", year, month)
}

func resets(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 14, 8))
	s.add("/always.html", 0, func(x *exchange) { x.reset() }).page = false
	s.add("/once.html", http.StatusOK, func(x *exchange) {
		if x.nth == 1 {
			x.reset()
			return
		}
		s.page(x)
	})
	s.link("/always.html", "/once.html")
}

func timeout(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 16, 8))
	s.add("/silent.html", 0, func(x *exchange) { x.silent(2 * s.web.Timeout()) }).page = false
	s.link("/silent.html")
}

func gzipPages(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 30, 12))
	s.wrap = func(x *exchange, next func()) {
		if !strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
			next()
			return
		}
		x.Header().Set("Content-Encoding", "gzip")
		x.Header().Set("Vary", "Accept-Encoding")
		x.send(http.StatusOK, s.contentType, gzipped(s.render(x.target)))
	}
}

func chunked(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 30, 12))
	s.wrap = func(x *exchange, next func()) {
		x.pieces(http.StatusOK, s.contentType, s.render(x.target), 5, 0)
	}
}

func robotsStatus(status int) func(s *site) {
	return func(s *site) {
		s.file("/robots.txt", func(x *exchange) { x.notFound(status) })
		s.grow(pick(s, 24, 8))
	}
}

func robotsBroken(s *site) {
	s.file("/robots.txt", func(x *exchange) {
		x.text(http.StatusInternalServerError, "User-agent: *\nAllow: /\n")
	})
	s.grow(6)
	s.allForbidden = true
	for _, rt := range s.routes {
		rt.page = false
	}
}

func robotsRedirect(s *site) {
	s.file("/robots.txt", func(x *exchange) { x.redirect(http.StatusMovedPermanently, "/policies/robots") })
	s.file("/policies/robots", func(x *exchange) { x.redirect(http.StatusFound, "/policies/robots.txt") })
	s.file("/policies/robots.txt", func(x *exchange) {
		x.text(http.StatusOK, "User-agent: *\nDisallow: /office/\n")
	})
	s.robotsHops["/policies/robots"], s.robotsHops["/policies/robots.txt"] = true, true
	s.robotsEnd.target = "/policies/robots.txt"
	s.grow(pick(s, 18, 8))
	s.forbid("/office/rota.html")
}

func robotsElsewhere(s *site) {
	keeper, target := s.web.sites[0], "/policies/robots-elsewhere.txt"
	keeper.file(target, func(x *exchange) { x.text(http.StatusOK, "User-agent: *\nDisallow: /office/\n") })
	keeper.robotsHops[target] = true
	s.file("/robots.txt", func(x *exchange) { x.redirect(http.StatusFound, keeper.base+target) })
	s.robotsEnd = place{keeper.host, target}
	s.grow(pick(s, 18, 8))
	s.forbid("/office/rota.html")
}

func base(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 14, 6))
	// A page whose relative links stand against its base, of which the first counts.
	s.add("/shelf/index.html", http.StatusOK, func(x *exchange) {
		x.send(http.StatusOK, s.contentType, []byte(`<!doctype html><html><head><title>Shelf</title>`+
			`<base href="/books/"><base href="/wrong/"></head><body><p>`+
			anchor("one.html", "one")+" "+anchor("../two.html", "two")+" "+anchor("?volume=3", "three")+`</p></body></html>`))
	})
	for _, t := range []string{"/books/one.html", "/two.html", "/books/?volume=3", "/there/new.html"} {
		s.add(t, http.StatusOK, s.page)
	}
	s.add("/here/old.html", http.StatusOK, func(x *exchange) {
		x.send(http.StatusOK, s.contentType, []byte(`<!doctype html><html><head><title>Moved</title>`+
			`<meta http-equiv="refresh" content="0; url='/there/new.html'"></head><body><p>Moved.</p></body></html>`))
	})
	s.link("/shelf/index.html", "/here/old.html")
}

func big(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 16, 6))
	s.add("/big.html", http.StatusOK, func(x *exchange) {
		page := s.render(x.target)
		row := []byte("<p>" + s.text.paragraph(s.draw("row")) + "</p>\n")
		x.send(http.StatusOK, s.contentType, append(page, bytes.Repeat(row, (1200<<10)/len(row))...))
	})
	s.link("/big.html")
}

func nofollow(s *site) {
	s.robots("User-agent: *", "Disallow:")
	s.grow(pick(s, 16, 6))
	// Directives for the whole page: what only such pages link to is not followed. rel=nofollow is about ranking.
	for _, how := range []string{"meta", "header"} {
		hidden := "/behind-" + how + ".html"
		s.add(hidden, http.StatusOK, s.page).page = false
		s.add("/directive-"+how+".html", http.StatusOK, func(x *exchange) {
			meta := ""
			if how == "meta" {
				meta = `<meta name="robots" content="noarchive, nofollow">`
			} else {
				x.Header().Set("X-Robots-Tag", "nofollow")
			}
			x.send(http.StatusOK, s.contentType, []byte(`<!doctype html><html><head><title>Notice</title>`+meta+
				`</head><body><p>`+anchor(hidden, "more")+`</p></body></html>`))
		})
		s.link("/directive-" + how + ".html")
	}
	for _, rel := range []string{"nofollow", "ugc", "sponsored"} {
		t := "/rel/" + rel + ".html"
		s.add(t, http.StatusOK, s.page)
		s.extra = append(s.extra, `<a rel="`+rel+`" href="`+t+`">an offer</a>`)
	}
}
