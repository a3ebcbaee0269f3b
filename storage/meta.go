package storage

import (
	"bytes"
	"strconv"
	"time"

	"amble/fetcher/capture"
	"amble/storage/warc"
)

// Kinds of captures that are not pages (Meta.Kind).
const (
	KindRobots  = "robots"
	KindSitemap = "sitemap"
)

// maxOutlinkBytes is how long a metadata block may become by outlinks; the rest of them is left out.
const maxOutlinkBytes = maxMetadataBytes / 2

// appendMeta appends the block of a metadata record.
func appendMeta(dst []byte, c *capture.Capture, m *Meta) []byte {
	text := func(name, value string) {
		if value = warc.Safe(value); value != "" {
			dst = warc.AppendField(dst, name, value)
		}
	}
	number := func(name string, n int64) {
		dst = append(append(dst, name...), ": "...)
		dst = append(strconv.AppendInt(dst, n, 10), "\r\n"...)
	}
	text("via", m.Via)
	text("hopsFromSeed", m.Hops)
	number("fetchTimeMs", roundMillis(c.Phases.Total))
	if c.Phases.TTFB > 0 {
		dst = append(dst, "ttfbMs: "...)
		dst = strconv.AppendFloat(dst, float64(c.Phases.TTFB.Microseconds())/1000, 'f', 3, 64)
		dst = append(dst, "\r\n"...)
	}
	number("depth", int64(m.Depth))
	text("seed", m.Seed)
	text("kind", m.Kind)
	text("mime", m.MediaType)
	text("charset", m.Charset)
	text("language", m.Lang)
	text("title", m.Title)
	text("canonical", m.Canonical)
	text("robots-meta", m.RobotsMeta)
	text("redirect-to", m.RedirectTo)
	if m.HasContent {
		number("content-bytes", m.Bytes)
		dst = append(dst, "content-digest: "...)
		dst = append(warc.AppendDigest(dst, m.ContentDigest), "\r\n"...)
	}
	if m.DecodedCut {
		text("content-truncated", "yes")
	}
	if m.Attempt > 0 {
		number("attempt", int64(m.Attempt))
	}
	for _, u := range m.Outlinks {
		if len(dst)+len(u) > maxOutlinkBytes {
			break
		}
		text("outlink", u)
	}
	return dst
}

func roundMillis(d time.Duration) int64 {
	return d.Round(time.Millisecond).Milliseconds()
}

// parseMeta reads the block of a metadata record. Fields that it does not know are skipped, numbers that are none are 0.
func parseMeta(block []byte, rec *Record) {
	m := &rec.Meta
	for line := range bytes.Lines(block) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		v := string(bytes.TrimSpace(value))
		switch string(name) {
		case "via":
			m.Via = v
		case "hopsFromSeed":
			m.Hops = v
		case "fetchTimeMs":
			rec.Total = millis(v)
		case "ttfbMs":
			rec.TTFB = millis(v)
		case "depth":
			m.Depth = int(parseInt(v))
		case "seed":
			m.Seed = v
		case "kind":
			m.Kind = v
		case "mime":
			m.MediaType = v
		case "charset":
			m.Charset = v
		case "language":
			m.Lang = v
		case "title":
			m.Title = v
		case "canonical":
			m.Canonical = v
		case "robots-meta":
			m.RobotsMeta = v
		case "redirect-to":
			m.RedirectTo = v
		case "content-bytes":
			m.Bytes = parseInt(v)
		case "content-digest":
			m.ContentDigest, m.HasContent = warc.ParseDigest(v)
		case "content-truncated":
			m.DecodedCut = v == "yes"
		case "attempt":
			m.Attempt = int(parseInt(v))
		case "outlink":
			m.Outlinks = append(m.Outlinks, v)
		}
	}
}

func parseInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func millis(s string) time.Duration {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil || !(ms >= 0 && ms < 1e12) {
		return 0
	}
	return time.Duration(ms*1000+0.5) * time.Microsecond
}
