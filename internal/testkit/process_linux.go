package testkit

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel send the signal to the child when we die, even by SIGKILL.
func dieWithUs(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = sig
}
