// Package links finds a document's outlinks.
//
// One pass over text and tags, no tree: a crawler needs to know which elements
// a parser would see, not where they end up. What follows from that:
//
//   - Comments, scripts, styles, textareas, titles and the raw text of iframes
//     hold no links. Links inside noscript and noframes count, since neither
//     scripts run nor frames are drawn here.
//   - A template's contents are inert, as in browsers, unless it is a declarative
//     shadow root (shadowrootmode), which browsers render.
//   - Metadata that only names a URL (og:url, cite, form actions, hints for
//     connections, pingback) is no link. CSS is not read.
//   - The first base element with an href decides for the whole document, also for
//     links before it. Is it no http or https URL, the document's own URL is the
//     base, and later base elements are not looked at (HTML standard, section 4.2.3).
package links
