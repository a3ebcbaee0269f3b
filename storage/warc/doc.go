// Package warc reads and writes WARC 1.1 records (ISO 28500:2017).
//
// Writing is in the manner of append: a Header is put together in memory and appended to a byte slice, and a Compressor
// makes one gzip member of each record (annex D), so that every record can be read on its own. Nothing here knows what
// a crawl is.
//
// Reading takes compressed and plain files, of Amble and of others, one record at a time and within bounds: a header is
// at most MaxHeaderBytes long, a block is streamed. What is wrong with a file is told as a *SyntaxError with the offset.
package warc
