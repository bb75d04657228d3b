//go:build !linux

package main

import "syscall"

// dieWithParent has no counterpart here; children are still ended by stop.
func dieWithParent() *syscall.SysProcAttr { return nil }

// volatileDisk is only known on Linux.
func volatileDisk(string) string { return "" }
