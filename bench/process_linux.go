package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent makes the kernel end a child when this program is killed. It is bound to the thread that starts the
// child, so main locks its OS thread.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// asPostgres is dieWithParent for PostgreSQL, which does not run as root, and the owner of its folder; -1 is the
// current user. SIGQUIT ends all its processes at once and, unlike SIGKILL, releases the shared memory.
func asPostgres() (attr *syscall.SysProcAttr, uid, gid int, err error) {
	attr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr, -1, -1, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 31)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 31)
		if err1 == nil && err2 == nil {
			attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			return attr, int(uid), int(gid), nil
		}
	}
	return nil, 0, 0, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// pause stops the process, so that its background work does not disturb another server's round. The signal is
// asynchronous: on a busy machine it takes a moment until all threads have stopped.
func (p *process) pause() {
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	for range 1000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil || bytes.Contains(stat, []byte(") T ")) {
			return // paused, or gone
		}
		time.Sleep(time.Millisecond)
	}
}

// resume continues a paused process.
func (p *process) resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// volatileDisk returns a warning if the data is on a memory file system, where durable writes cost nothing.
func volatileDisk(dir string) string {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs {
		return ""
	}
	return "The data lay on tmpfs: what is durable here did not reach a disk. Choose another folder with --dir."
}
