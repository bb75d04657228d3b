//go:build !linux

package main

import "syscall"

// dieWithParent does nothing here; stop still ends the children.
func dieWithParent() *syscall.SysProcAttr { return nil }

// asPostgres runs PostgreSQL as the current user.
func asPostgres() (attr *syscall.SysProcAttr, uid, gid int, err error) { return nil, -1, -1, nil }

// pause and resume do nothing here, so the other servers keep running in the background.
func (p *process) pause()  {}
func (p *process) resume() {}

// volatileDisk is implemented on Linux only.
func volatileDisk(string) string { return "" }
