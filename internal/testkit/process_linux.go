package testkit

import (
	"os/exec"
	"syscall"
)

// killOnParentDeath has the kernel send the signal to the child when the parent dies, even by SIGKILL.
func killOnParentDeath(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = sig
}
