// Package storage keeps the archive of a job: WARC segments, a sidecar index beside each, recovery.
//
// # Segments
//
// A segment is a .warc.gz file named PREFIX-TIME-SERIAL-MACHINE.warc.gz (WARC 1.1 annex C): TIME is the UTC time at
// which it was begun, in 17 digits (milliseconds), SERIAL at least 5 digits, rising by one, MACHINE the host name. While
// it is written the name ends in ".open". It begins with a warcinfo record; then each capture is a response, a request
// and a metadata record, adjacent, one gzip member each, linked by WARC-Concurrent-To and the same WARC-Date. A capture
// never spans segments.
//
// WARC-Warcinfo-ID names the warcinfo record that was the archive's newest when the capture was encoded. Encoding runs
// ahead of appending, so the first captures of a segment can name the warcinfo of the segment before; both describe the
// same crawl.
//
// A response is stored as received, but for its transfer coding: chunk framing is gone, so the field Transfer-Encoding is
// renamed to X-Crawler-Transfer-Encoding, and Content-Length says the stored size. Content coding is kept. Digests are
// SHA-256; the payload digest is that of the stored body.
//
// # Metadata records
//
// A metadata record has the type application/warc-fields. Its fields, left out when there is nothing to say:
//
//	via                where the URL was found
//	hopsFromSeed       the hop path, a letter a hop (L E R P M I)
//	fetchTimeMs        from the request written to the response's end, in ms
//	ttfbMs             from the request written to the response's first byte, in ms, to the microsecond
//	depth              hops of type L from the seed (always there)
//	seed               URL of the seed
//	kind               robots or sitemap; nothing for a page
//	mime               media type, as the crawl used it
//	charset            encoding, as the crawl used it
//	language, title, canonical, robots-meta, redirect-to
//	                   what the page says of itself, and where it redirects
//	content-bytes      size of the decoded body (there together with content-digest)
//	content-digest     digest of the decoded body, or of what was decoded of it
//	content-truncated  "yes": decoding stopped at a limit
//	attempt            number of the request for this URL, from 1
//	outlink            one field for each outlink, where they are archived; at most 8 MiB of them
//
// # Ends and recovery
//
// What is valid is decided by the committed Ends, which the caller keeps in its database: Append writes, Sync makes it
// durable and returns the Ends, and only then may the caller commit them. Open cuts everything back to them. Of the
// segments, only the one that Ends name and those before it count.
//
// # Sidecar index
//
// NAME.warc.gz.idx beside a segment has an entry for each capture, in order, with a checksum each (see index.go). It
// saves time and holds nothing of its own: where it is missing, torn or not of this segment, the segment itself is read.
package storage
