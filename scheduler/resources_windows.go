package scheduler

import "golang.org/x/sys/windows"

// freeDisk is the space that this user may still write to the volume of path; ok is false where it cannot be told.
func freeDisk(path string) (bytes int64, ok bool) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return 0, false
	}
	return int64(free), true
}
