//go:build !linux

package testkit

import (
	"os/exec"
	"syscall"
)

// dieWithUs does nothing here: only Linux can do it. Main and t.Cleanup end the children, unless we are killed.
func dieWithUs(*exec.Cmd, syscall.Signal) {}
