//go:build unix

package scheduler

import "golang.org/x/sys/unix"

// freeDisk is the space that an ordinary user may still write to the file system of path; ok is false where it cannot be told.
func freeDisk(path string) (bytes int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
