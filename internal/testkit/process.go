package testkit

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a child that does not outlive us, however we end.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended and was waited for
	err  error         // of the wait; readable once done is closed
}

// startProcess starts the command. On Linux the child gets the signal when we die; the kernel takes the death of the
// thread that started it for ours, so the goroutine that starts it keeps its thread until the child has ended.
func startProcess(cmd *exec.Cmd, onOurDeath syscall.Signal) (*process, error) {
	dieWithUs(cmd, onOurDeath)
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

// running reports whether the child has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end sends the signal and waits for the child's end. One that does not end in time is killed, and that is an error.
// It does nothing when the child has ended already. How the child ended is in p.err.
func (p *process) end(sig syscall.Signal, patience time.Duration) error {
	_ = p.cmd.Process.Signal(sig) // fails only if it has ended
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not end within %v of %v and was killed", p.cmd.Path, patience, sig)
}

// logBuffer collects what a child writes while others read it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written so far.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
