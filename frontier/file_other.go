//go:build !(unix && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x))

package frontier

import "errors"

// Elsewhere address space is short, or the system would make the file as long as its mapping.
const (
	initialMmapBytes = 0
	cutMapped        = false
)

var errNoMemory = errors.New("out of address space")
