// Package robots decides what a robots.txt permits (RFC 9309).
//
// Parse reads the file once, Rules.Group picks the rules of one product token and compiles them, and Group.Decide answers for
// a path and query. Fetching, caching and what an absent or failing robots.txt means are the caller's; AllowAll and DenyAll
// are the groups for those cases.
//
// Where the RFC is silent or leaves a choice, this package decides as follows:
//   - Keys are taken only as spelt in the RFC, without regard to case. Misspelt keys ("Dissallow") and lines without a colon
//     are no records, as the grammar of section 2.2 has it.
//   - A line with a control octet before its comment is rejected (section 3), the others stand.
//   - A file of MaxBytes or more loses its last line when that is not ended: half a path blocks or frees more than was meant.
//   - A user-agent value counts up to its first octet that cannot be part of a product token ("Bot/1.0" is "Bot"); "*" alone
//     or followed by blanks and text is everybody, "*bot" is nobody.
//   - A rule that begins with neither "/" nor "*" matches nothing, and so does an empty one; either still is a rule, which ends
//     the run of user-agent lines.
//   - Rules and targets are compared in one normal form: escapes of unreserved characters are decoded, other octets that a
//     URI cannot hold are encoded, hex digits are in upper case (section 2.2.2). The octets of a rule are counted in that form.
//   - A Crawl-delay is no rule (section 2.2.4). It belongs to the agents of its group that are named above it.
package robots
