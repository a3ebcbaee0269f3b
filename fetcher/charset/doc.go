// Package charset finds a document's character encoding, and reads the
// Content-Type field value as leniently as browsers do.
package charset
