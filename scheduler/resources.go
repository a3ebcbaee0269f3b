package scheduler

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// freeMemory is what the machine can still give without swapping; ok is false where the system does not tell (it is
// read from /proc/meminfo).
func freeMemory() (n int64, ok bool) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) >= 2 && string(f[0]) == "MemAvailable:" {
			kib, err := strconv.ParseInt(string(f[1]), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// scarcity says what is too low to go on, empty when nothing is. Once paused, a tenth more than the limit must be
// free again, so that the crawl does not flutter around it.
func scarcity(dir string, minDisk, minMemory int64, paused bool) string {
	if paused {
		minDisk, minMemory = minDisk+minDisk/10, minMemory+minMemory/10
	}
	if free, ok := freeDisk(dir); ok && free < minDisk {
		return fmt.Sprintf("low disk: %d MiB free, %d MiB wanted", free>>20, minDisk>>20)
	}
	if free, ok := freeMemory(); ok && free < minMemory {
		return fmt.Sprintf("low memory: %d MiB available, %d MiB wanted", free>>20, minMemory>>20)
	}
	return ""
}
