//go:build unix && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package frontier

import "syscall"

const (
	// initialMmapBytes is address space, not memory: growing within it remaps nothing, so readers never wait for it.
	initialMmapBytes = 16 << 30
	// cutMapped: a mapped file can be cut.
	cutMapped = true
)

var errNoMemory error = syscall.ENOMEM
