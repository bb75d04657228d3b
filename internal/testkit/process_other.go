//go:build !linux

package testkit

import (
	"os/exec"
	"syscall"
)

// killOnParentDeath is supported on Linux only. Elsewhere Main and t.Cleanup end the children unless the parent is
// killed.
func killOnParentDeath(*exec.Cmd, syscall.Signal) {}
