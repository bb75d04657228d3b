//go:build !linux

package main

import "syscall"

// dieWithParent has no counterpart here; children are still ended by stop.
func dieWithParent() *syscall.SysProcAttr { return nil }

// asPostgres leaves PostgreSQL to run as ourselves.
func asPostgres() (attr *syscall.SysProcAttr, uid, gid int, err error) { return nil, -1, -1, nil }

// pause and resume do nothing: here the others go on in the background.
func (p *process) pause()  {}
func (p *process) resume() {}

// volatileDisk is only known on Linux.
func volatileDisk(string) string { return "" }
