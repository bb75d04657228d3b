package sqlite

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// syncData syncs the content of a file, and its size if that has changed. The base VFS also syncs the time of the last
// change, which is a second write to the disk on file systems with a journal.
func syncData(tls *libc.TLS, file uintptr) (code int32, ok bool) {
	if libc.Xfdatasync(tls, at[lib.TunixFile](file).Fh) != 0 {
		return lib.SQLITE_IOERR_FSYNC, true
	}
	return lib.SQLITE_OK, true
}
