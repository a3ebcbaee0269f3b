// Package canon parses URLs, brings them to canonical form, and derives the keys that Amble files them under.
//
// The canonical form is the WHATWG URL standard's serialisation, and so is what
// goes on the wire: order and spelling of a query, "+" and "%2B", reserved
// escapes, and "?" with an empty query against none are all kept, since servers
// tell them apart. Three things are dropped: the fragment; userinfo, which would
// carry secrets into logs; and the dot that may end a host name, because
// "example.org." and "example.org" are one host and must share one pace. (A name
// with other empty labels at its end, "a..", stays as it is: nothing resolves it.)
//
// Beyond the standard, references and canonical forms longer than MaxLength and
// hosts longer than 2 KiB are refused.
//
// github.com/nlnwa/whatwg-url is the full parser. Before it stands a fast path
// for references of plain characters, which slices and, where needed,
// percent-encodes; it declines whatever it is not sure of, and the fuzz targets
// hold it to the full parser's answers.
package canon
