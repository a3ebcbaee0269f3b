// Package web is the bundled synthetic web that the demo and the end-to-end tests crawl: some thirty hosts on loopback
// addresses, each with a behaviour that real sites show. It keeps its own log of what it was asked and when, and
// judges a crawler's politeness by that log alone, without using any of the crawler's code.
//
// Everything it serves follows from a fixed seed; only the ports differ from run to run.
package web
