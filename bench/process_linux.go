package main

import "syscall"

// dieWithParent has the kernel end a child when this program is killed in a way
// that leaves it no time to do so itself. It is bound to the thread that starts
// the child, which is why main locks itself to its own.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// volatileDisk warns when the data lie in memory, where making a write durable
// costs nothing and a durable create says nothing.
func volatileDisk(dir string) string {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs {
		return ""
	}
	return "The data lay on tmpfs: the durable create did not reach a disk. Choose another folder with --dir."
}
