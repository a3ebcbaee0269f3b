//go:build !linux

package frontier

import "time"

func cpuTime() time.Duration { return 0 }
func writtenBytes() int64    { return 0 }
