package canon

import (
	"errors"
	"strconv"
)

// Errors that Parse and Resolve wrap. Match them with errors.Is.
var (
	// ErrSyntax: the reference is no URL by the WHATWG URL standard, or longer than MaxLength.
	ErrSyntax = errors.New("invalid URL")
	// ErrScheme: the reference has a scheme other than http and https. What
	// follows the scheme is not looked at.
	ErrScheme = errors.New("scheme is not http or https")
)

// MaxLength is the most bytes that a reference and a canonical form may have.
// Servers take some 8 KiB; the bound keeps one attribute of many megabytes from
// costing a multiple of that in the parser.
const MaxLength = 64 << 10

const tooLong = "over 64 KiB"

// quotedRefBytes is how much of a refused reference an error shows.
const quotedRefBytes = 120

// refError is a refused reference. It formats only when printed: pages hold many.
type refError struct {
	err    error
	ref    string
	reason string
}

func fail(err error, ref, reason string) error {
	if len(ref) > quotedRefBytes {
		ref = ref[:quotedRefBytes]
	}
	return &refError{err: err, ref: string([]byte(ref)), reason: reason}
}

func (e *refError) Error() string {
	s := e.err.Error() + ": " + strconv.Quote(e.ref)
	if e.reason != "" {
		s += " (" + e.reason + ")"
	}
	return s
}

func (e *refError) Unwrap() error { return e.err }
