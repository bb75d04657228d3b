package testkit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small file system that a test can fill.
type Disk struct {
	// Dir is the folder where the file system is mounted.
	Dir string

	t testing.TB
}

// NewDisk mounts a file system in memory with this many megabytes until the end of the test. Mounting needs root: the
// test is skipped for other users.
func NewDisk(t testing.TB, megabytes int) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), t: t}
	err := syscall.Mount("carrel-test", d.Dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("only root can mount a small file system")
	}
	if err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount the small file system: %v", err)
		}
	})
	return d
}

// ballast is the file that fills the disk.
func (d *Disk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill uses all free space of the disk. It can be called again when files were deleted.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // nothing is read from it
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("fill the disk: %v", err)
	}
}

// Free removes the file of Fill.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
}

// FillBut uses the free space of the disk except for this many bytes.
func (d *Disk) FillBut(bytes int64) {
	d.t.Helper()
	d.Fill()
	info, err := os.Stat(d.ballast())
	if err == nil {
		err = os.Truncate(d.ballast(), max(0, info.Size()-bytes))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}
