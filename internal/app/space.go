//go:build linux || darwin

package app

import "syscall"

// freeSpace returns how many bytes the disk of a folder still takes.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
