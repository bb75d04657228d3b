//go:build !linux

package app

// releaseExecutable does nothing: other systems do not tell which pages can be read again.
func releaseExecutable() {}
