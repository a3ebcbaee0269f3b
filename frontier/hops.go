package frontier

import (
	"strconv"
	"strings"
)

// maxHops is how many hops a path keeps. A longer one is "N+" and the last 50, with N the number left out.
const maxHops = 50

// appendHop is the hop path of a URL that was found by hop on a page with that path.
func appendHop(via string, hop byte) string {
	left := 0
	if n, rest, ok := strings.Cut(via, "+"); ok {
		if v, err := strconv.Atoi(n); err == nil {
			left, via = v, rest
		}
	}
	via += string(rune(hop))
	if cut := len(via) - maxHops; cut > 0 {
		left += cut
		via = via[cut:]
	}
	if left > 0 {
		return strconv.Itoa(left) + "+" + via
	}
	return via
}
