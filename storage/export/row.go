package export

import (
	"strings"
	"time"

	"amble/storage"
	"amble/storage/warc"
)

// row is a capture as the tables have it.
type row struct {
	entry *storage.Entry
	rec   *storage.Record
}

// column is a key of the JSON contract. One of text and number is set.
type column struct {
	name   string
	text   func(*row) string
	number func(*row) int64
}

// columns are the contract, in its order.
var columns = []column{
	{name: "id", text: func(r *row) string { return r.rec.Meta.ID }},
	{name: "url", text: func(r *row) string { return r.entry.URL }},
	{name: "host", text: func(r *row) string { return r.rec.URL.PaceKey() }},
	{name: "fetched_at", text: func(r *row) string { return r.rec.Start.Format(warc.DateFormat) }},
	{name: "status", number: func(r *row) int64 { return int64(r.rec.Status) }},
	{name: "mime", text: func(r *row) string { return r.rec.Meta.MediaType }},
	{name: "charset", text: func(r *row) string { return r.rec.Meta.Charset }},
	{name: "lang", text: func(r *row) string { return r.rec.Meta.Lang }},
	{name: "title", text: func(r *row) string { return r.rec.Meta.Title }},
	{name: "bytes", number: func(r *row) int64 { return r.rec.Meta.Bytes }},
	{name: "content_digest", text: func(r *row) string {
		if !r.rec.Meta.HasContent {
			return ""
		}
		return warc.FormatDigest(r.rec.Meta.ContentDigest)
	}},
	{name: "payload_digest", text: func(r *row) string { return warc.FormatDigest(r.rec.PayloadDigest) }},
	{name: "depth", number: func(r *row) int64 { return int64(r.rec.Meta.Depth) }},
	{name: "via", text: func(r *row) string { return r.rec.Meta.Via }},
	{name: "hops", text: func(r *row) string { return r.rec.Meta.Hops }},
	{name: "seed", text: func(r *row) string { return r.rec.Meta.Seed }},
	{name: "redirect_to", text: func(r *row) string { return r.rec.Meta.RedirectTo }},
	{name: "canonical", text: func(r *row) string { return r.rec.Meta.Canonical }},
	{name: "robots_meta", text: func(r *row) string { return r.rec.Meta.RobotsMeta }},
	{name: "etag", text: func(r *row) string { return r.field("ETag") }},
	{name: "last_modified", text: func(r *row) string { return r.field("Last-Modified") }},
	{name: "ttfb_ms", number: func(r *row) int64 { return r.rec.TTFB.Round(time.Millisecond).Milliseconds() }},
	{name: "truncated", text: func(r *row) string {
		if r.rec.Truncated == "" && r.rec.Meta.DecodedCut {
			return "length"
		}
		return r.rec.Truncated
	}},
	{name: "warc_filename", text: func(r *row) string { return r.entry.Segment }},
	{name: "warc_record_offset", number: func(r *row) int64 { return r.entry.Offset }},
	{name: "warc_record_length", number: func(r *row) int64 { return r.entry.Length }},
}

func (r *row) field(name string) string {
	return warc.Safe(strings.Join(r.rec.Field(name), ", "))
}
