// Package scheduler runs a crawl. It is the only package that knows frontier, ratectl, fetcher and storage together.
//
// # The parts
//
// core is the crawl as a state machine: it is told results and the time, and gives jobs and batches. It reads no clock
// and starts no goroutine. [Crawl] is the thin shell around it: it reads the clock, runs the workers and the committer,
// and hands messages between them. One goroutine, the loop, owns core; workers see jobs and results only.
//
// # The way of a page
//
//  1. The loop pops the host whose next start has come, when a global slot is free, and asks the frontier for the
//     host's best URL. What robots.txt says is decided at that moment. The host leaves the heap, so there is one
//     request in flight per host by construction.
//  2. A worker makes exactly one exchange, decodes, extracts outlinks, digests, and compresses the archive records.
//  3. Back in the loop the rate controller observes the outcome and gives the next start and its cause; the result and
//     the outlinks go into the open batch; the host returns to the heap.
//  4. The committer appends the records to the segment, the lines to the crawl log, and then commits one transaction
//     that makes both count. Only then are new URLs offered. At most two batches are open, one filling and one being
//     written; when the first is full the loop stops handing out.
//
// A page is done when its transaction is on disk. What a crash cuts off is cut off everywhere: segment, sidecar index
// and crawl log go back to the committed ends, and what was in flight is pending again.
//
// # Requests that are no pages
//
// robots.txt and sitemaps are requests like any other: paced, logged, archived; they do not count as pages. A
// robots.txt redirect is paced on the host of each hop and counts for the origin that was asked. No page is fetched
// before the rules that permit it are committed, so that each line of the crawl log can name them by their place in
// the archive. Rules live 24 h, across a resume. While the file is unreachable nothing of the origin is fetched, but
// for a copy of the last 30 days, which stays in force.
//
// # What fails
//
//   - A host that cannot be resolved or connected is parked for 1, 5, 15, 60 and 60 minutes, its URLs untouched; then
//     they are skipped as host-unreachable. A name that does not exist and a certificate that does not verify will not
//     heal by waiting: they are tried a second time after 10 s, and then given up.
//   - A robots.txt that answers 5xx, 429 or not at all is asked again in the same rhythm (or when Retry-After says);
//     then the origin's URLs are skipped as robots-unreachable.
//   - Resets, timeouts, cut bodies and 5xx are tried again, Limits.Retries requests in all, after 5 s, 10 s and so on
//     up to 5 min; a 429 or 503, which is about the host and not the URL, up to 10 times at the host's pace. Only the
//     last answer is archived: the others are lines of the crawl log.
//
// # The end
//
// See the constants of Status.End. MaxWait bounds how long the crawl waits while no host can start; after it the run
// stops with work left. Free disk and memory are looked at each second; low, nothing starts until a tenth more than
// the limit is free again.
package scheduler
