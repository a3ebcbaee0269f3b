package configs

import (
	"fmt"
	"slices"
	"strings"

	"amble/frontier"
)

// trapsOff is what `traps:` says of a host for which none holds.
const trapsOff = "off"

// traps are those that hold for a host; nil is all.
func (h *Host) traps() []frontier.Reason {
	if h.Traps == nil {
		return nil
	}
	on := []frontier.Reason{}
	for _, name := range h.Traps {
		if name != trapsOff {
			on = append(on, frontier.Reason(name))
		}
	}
	return on
}

func (h *Host) checkTraps() error {
	if len(h.Traps) == 1 && h.Traps[0] == trapsOff {
		return nil
	}
	for _, name := range h.Traps {
		if !slices.Contains(frontier.Traps, frontier.Reason(name)) {
			names := make([]string, len(frontier.Traps))
			for i, t := range frontier.Traps {
				names[i] = string(t)
			}
			return fmt.Errorf("traps: %q is neither off nor a list of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}
