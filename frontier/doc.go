// Package frontier keeps what is to be fetched and what has been: the queues per host, the seen set, and the log on disk.
//
// # On disk
//
// One bbolt file, used as a transactional append-only log. Each bucket holds values that begin with a CRC-32C over the
// bucket's name, the key and the value.
//
//	meta     format, hash seed, seen-key rule, totals, archive and log ends, counters
//	hosts    HostID -> pace key
//	origins  OriginID -> host, scheme and port
//	seeds    number -> ordinal, the seed with its keys
//	urls     first Ordinal -> chunk of URL records
//	pages    first visit number -> chunk of visit records
//	hblob    HostID -> opaque state of the rate controller
//	oblob    OriginID -> opaque state of robots.txt
//
// All ids are dense and given in order of arrival. A chunk is at most 13 records in less than 950 bytes, so that four
// fill a page; the last one of each log is written again until it is full, and a longer record has one of its own.
// Nothing is deleted. A Batch is one transaction; after it the file tells the whole state of the crawl.
//
// Create writes a whole file under another name first. Close cuts the file to its pages in use and marks its end, so
// that a lost or overwritten end is noticed; a file without the mark was not closed in order, and is as good. Whatever
// is damaged, foreign or newer is refused by Open, with the file left as it was.
//
// # In memory
//
// Open rebuilds the index by one pass over the log, checking every checksum and reference. It has no object and no
// pointer per URL: a table of 64-bit fingerprints under a seed drawn per crawl, with ordinals; FIFOs of ordinals by
// host and class, in blocks of 32 bytes; per host a heap of retries; the number of each URL's last visit. A URL is
// pending while its last visit in the log is none or a Retry: so what was in flight when a process died is pending
// again, and the attempts counted before stay counted.
//
// # Order of calls
//
// One goroutine uses the Frontier; Commit, and the setters of a Batch that say so, may run in another, one batch after
// the other. The goroutines share the bbolt file, which is safe, and the batch, which is handed over. Admit and AddSeed
// change the seen set at once, since batches are committed in order and a failed commit stops everything; the queues
// change when a batch is Applied. So no URL is offered before it is durable.
//
// # Scope
//
// See Scope and Rules. example.com and www.example.com, http and https are one site for ScopeHost and ScopePath, on
// their default ports; another port is another site. ScopePath takes the seed's path up to its last slash.
// ScopeDomain is the registrable domain, on any port. Include and Exclude that refuse, and all that lies outside, are
// ReasonScope. The first of scope, depth, trap and budget that refuses names the reason. A change of Rules between two
// runs holds for what is found from then on; Recheck asks again for what is queued.
//
// Only L hops count for the depth. A page that a sitemap lists is as deep as the sitemap, 0 for one that robots.txt
// names; yet a depth of 0, "seeds only", leaves sitemaps and what they list out, unless the sitemap is the seed.
//
// A hop path longer than 50 hops is kept as "N+" and its last 50.
//
// # Traps
//
// Some limits look at a URL alone (traps.go). Others follow what a site's URLs lead to: trapquery.go, traprun.go and
// trapsession.go say when they hold, and why honest sites pass. What they know is a function of the two logs, so that
// Open comes to the same, and it is bounded: 2 MiB of counters for each of two sketches, 8 MiB of known parameter values
// once a path has many queries, and per URL at most a byte for its path, 21 where it is more than 32 hops deep in a form
// of eight, and 12 where it carries a session's number. What is refused may be found again later, and is taken in when
// what was fetched meanwhile speaks for it.
package frontier
