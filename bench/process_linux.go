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

// dieWithParent has the kernel end a child when this program is killed in a way
// that leaves it no time to do so itself. It is bound to the thread that starts
// the child, which is why main locks itself to its own.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// asPostgres is dieWithParent for PostgreSQL, which does not run as root, and
// the user that its folder must belong to: -1 is ourselves. SIGQUIT ends all its
// processes at once, and unlike SIGKILL leaves no shared memory behind.
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

// pause stops the process where it is, so that what it does in the background
// does not disturb another one's round. The signal only asks for that: on a busy
// machine it takes a moment until all threads have heard it.
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

// resume lets a paused process go on.
func (p *process) resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// volatileDisk warns when the data lie in memory, where making a write durable
// costs nothing and a durable create says nothing.
func volatileDisk(dir string) string {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs {
		return ""
	}
	return "The data lay on tmpfs: what is durable here did not reach a disk. Choose another folder with --dir."
}
