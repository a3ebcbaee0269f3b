// Package export writes what a job fetched in the formats that other tools read, from the segments and their sidecar
// indexes alone.
//
// # Formats
//
//   - warc: the captures that were chosen, robots.txt and sitemaps among them, in the order of the archive. The gzip
//     members are copied byte for byte. Before them stand a warcinfo record of the file's own and, ahead of the first
//     capture of each segment, that segment's. A name that does not end in .gz gets the records uncompressed.
//   - jsonl: a JSON object a line, every key on every line. Its host is the pace key of the crawl log: the host name, with
//     its port when it is neither 80 nor 443.
//   - csv: the same columns by RFC 4180, with a header line and CRLF. A text cell that begins with = + - @ or a tab gets
//     an apostrophe before it: sites choose titles, and a spreadsheet would run them as formulas. Where the exact text
//     matters, jsonl has it.
//   - urls: the URLs of the pages that were fetched, with whatever status, sorted by bytes, each once.
//   - seeds: the seeds from which captures came, in the order in which their first captures were archived, each once.
//
// All but warc leave out captures of robots.txt and of sitemaps: they are no pages.
//
// # Damage
//
// Of each capture that is written, but for urls, all that is read is verified by its checksums first; for warc, jsonl and
// csv that is every record whole. One that is damaged is left out, told to Options.Damaged and counted. With First or
// Newest, no other capture of its URL takes its place. What ends an export are damage to the warcinfo record that begins a
// segment, and damage in a part of a segment that its index does not cover: there the captures behind it cannot be found.
//
// # Filters
//
// All filters hold together. First and Newest choose among the captures that the others have left; they remember 16
// bytes (First) or 24 bytes (Newest) of each URL, some 20 to 60 bytes with the map around them.
package export
