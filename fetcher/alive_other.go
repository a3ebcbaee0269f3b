//go:build !unix

package fetcher

import "net"

// alive cannot look without reading here; an exchange over a dead connection is Stale.
func alive(net.Conn) bool { return true }
