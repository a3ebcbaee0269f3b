// Package capture is what one HTTP exchange gave: its [Class], its [Phases], its heads, and its
// body in a [Spool].
//
// Bodies in flight share one [Budget] of memory. A Spool is a plain slice while it is short and
// the Budget has room, and an unlinked temporary file otherwise, so that many large bodies at a
// time cost disk and not memory. Whoever owns a Capture closes it; until then its bytes stay valid.
package capture
