package links

import "amble/frontier/canon"

// Hop types, as WARC's hopsFromSeed uses them.
const (
	Link     = 'L' // a page link
	Redirect = 'R' // Location, Refresh, meta refresh
	Embed    = 'E' // an embedded resource
)

// MaxOutlinks is how many references of one document are looked at. It bounds
// the memory that a page made of links alone can take; Page.Dropped counts the rest.
const MaxOutlinks = 50_000

// Limits on text taken from a document, in bytes.
const (
	textBytes  = 200
	titleBytes = 2048
	refBytes   = 200
)

// Outlink is a link as a page has it.
type Outlink struct {
	URL canon.URL
	// Rel is the element and attribute or relation ("a", "area", "iframe", "img/srcset", "link/stylesheet", "meta/refresh").
	Rel string
	// Hop is Link, Redirect or Embed.
	Hop byte
	// NoFollow: rel=nofollow, ugc or sponsored stands on the link. Of several
	// links to one URL each must have it.
	NoFollow bool
	// Text is the anchor text, white space folded, at most 200 bytes; only when Options.Text is set.
	Text string
}

// Rejected is a reference that is no http or https URL.
type Rejected struct {
	// Ref is the reference, at most its first 200 bytes.
	Ref string
	// Scheme: it is a URL of another scheme (mailto, javascript, ...); else it is no URL at all.
	Scheme bool
}

// Options say what to extract.
type Options struct {
	// Text: fill Outlink.Text.
	Text bool
	// Product is the crawler's product token: meta elements of that name count
	// as robots meta too. Empty: only name=robots.
	Product string
	// XHTML: the body is application/xhtml+xml, in which "<script/>" is a whole element.
	XHTML bool
}

// Page is what one pass over a document found.
type Page struct {
	// Base is what references were resolved against.
	Base canon.URL
	// Title is the title element's text, white space folded, at most 2,048 bytes.
	Title string
	// Lang is the html element's lang attribute.
	Lang string
	// Canonical is link rel=canonical, the zero URL when there is none.
	Canonical canon.URL
	// RobotsMeta are the content values of meta name=robots (and of the crawler's own name), lower case.
	RobotsMeta []string
	// Outlinks, each URL and hop type once, in document order. Their URLs may
	// share one block of memory.
	Outlinks []Outlink
	// Rejected, each reference once.
	Rejected []Rejected
	// Dropped counts the references beyond MaxOutlinks, which are in neither list.
	Dropped int
}
