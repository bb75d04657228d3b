//go:build linux || darwin

package app

import "syscall"

// DiskSpace returns the free bytes and the size of the disk that holds a folder.
func DiskSpace(dir string) (free, size uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
