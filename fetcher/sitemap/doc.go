// Package sitemap reads sitemaps (sitemaps.org protocol 0.9) as they are found: sitemaps and sitemap indexes, text lists, RSS
// and Atom feeds, compressed or not.
//
// It reads the XML with a tokeniser of its own, because most faults of real sitemaps are faults of the XML: blanks before the
// declaration, a wrong or missing namespace, unclosed elements, bare ampersands, octets outside the declared encoding. An XML
// parser gives up at the first of them, and the rest of the site is lost. The tokeniser keeps going, holds one entry at a
// time, and knows no entities but the five of XML and numbers, so a document type can neither expand nor fetch anything.
//
// Which entries may be crawled is for the scope to say: a sitemap can list any URL of any host.
package sitemap
