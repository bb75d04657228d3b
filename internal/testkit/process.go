package testkit

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child process that does not outlive the test process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed after Wait
	err  error         // result of Wait; valid once done is closed
}

// startProcess starts the command. On Linux the child gets the signal when its parent dies. The kernel means the thread
// that started it, so the starting goroutine keeps its thread until the child has exited.
func startProcess(cmd *exec.Cmd, parentDeathSignal syscall.Signal) (*process, error) {
	killOnParentDeath(cmd, parentDeathSignal)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// running reports whether the child has not exited yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end sends the signal and waits for the child to exit. A child that does not exit in time is killed, which is an
// error. It does nothing if the child has exited. The exit status is in p.err.
func (p *process) end(sig syscall.Signal, timeout time.Duration) error {
	_ = p.cmd.Process.Signal(sig) // fails only if the child has exited
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not end within %v of %v and was killed", p.cmd.Path, timeout, sig)
}
