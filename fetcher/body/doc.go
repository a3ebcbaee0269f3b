// Package body decodes HTTP content codings within limits.
//
// A response body arrives in one or more content codings (RFC 9110 section 8.4). It is archived as it came and decoded only
// for reading, so every reader of an archived body comes through here. Three things bound what a hostile body can do: the
// decoded size, the ratio of decoded to coded bytes, and the memory of one decoder (windows of at most 16 MiB for br, which
// its format fixes, and 8 MiB for zstd, which RFC 9659 fixes for HTTP). Nothing is decoded ahead of the reader.
//
// Decoders are pooled, because setting one up costs more than decoding a page.
//
// What is tolerated, since pages are read all the same and no octet is lost: octets after the last gzip member, deflate
// stream or br stream; deflate with and without the zlib wrapper (RFC 9110 section 8.4.1.2 notes both in use); a body that
// is called gzip but begins with plain text; an empty body under any coding.
package body
