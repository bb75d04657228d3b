//go:build !linux

package sqlite

import "modernc.org/libc"

// syncData is not implemented here; the base VFS syncs.
func syncData(*libc.TLS, uintptr) (code int32, ok bool) { return 0, false }
