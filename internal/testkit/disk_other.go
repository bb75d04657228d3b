//go:build !linux

package testkit

import "testing"

// Disk is a small file system that a test can fill. It is supported on Linux only.
type Disk struct {
	// Dir is the folder where the file system is mounted.
	Dir string
}

// NewDisk skips the test.
func NewDisk(t testing.TB, _ int) *Disk {
	t.Helper()
	t.Skip("small file systems are mounted on Linux only")
	return nil
}

// Fill does nothing.
func (*Disk) Fill() {}

// FillBut does nothing.
func (*Disk) FillBut(int64) {}

// Free does nothing.
func (*Disk) Free() {}
