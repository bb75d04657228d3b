package sqlite

import (
	"errors"
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// GatherLog is the parameter of a URI for the connection that writes. SQLite writes each page of a commit to the
// write-ahead log with two system calls. With this parameter the pages are gathered in memory and written with one call
// when SQLite syncs the log. Other connections see a commit only after that, because SQLite publishes it last.
//
// It requires synchronous = FULL: with other settings SQLite does not sync before it publishes a commit.
const GatherLog = "vfs=" + logVFS

const logVFS = "carrel-log"

// gathered is the most that is gathered: 31 pages of 4 KB with their headers, because the base VFS writes at most
// 128 KB with one call. Most batches of writes change fewer.
const gathered = 31 * (24 + 4096)

// baseVFS is the default VFS, and fileSize the size of its files. They are set once by registerLogVFS.
var (
	baseVFS  uintptr
	fileSize uintptr
)

// logFile follows the file of a write-ahead log in memory that belongs to SQLite, so it contains no pointers to memory
// of Go.
type logFile struct {
	// base are the methods of the file in the base VFS.
	base *lib.Tsqlite3_io_methods
	// methods are the methods that SQLite calls: base, except for those that need gathered bytes.
	methods lib.Tsqlite3_io_methods
	// memory has the n bytes that belong at offset of the file.
	memory uintptr
	offset int64
	n      int32
	// synced is set after the first sync, with which the base VFS also syncs the folder of a new file.
	synced bool
	// database is the file to which the log belongs.
	database *databaseFile
}

// databaseFile follows the file of a database. It discards what is gathered when the connection stops writing.
//
// A transaction that changes more pages than its connection caches writes some before it ends. If it is rolled back,
// they are not needed. Written later, they could replace pages that another process has written in the meantime.
type databaseFile struct {
	base    *lib.Tsqlite3_io_methods
	methods lib.Tsqlite3_io_methods
	log     *logFile // nil while no log is open
}

// registerLogVFS makes the VFS of GatherLog known to SQLite.
var registerLogVFS = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	baseVFS = lib.Xsqlite3_vfs_find(tls, 0)
	if baseVFS == 0 {
		return errors.New("sqlite: there is no default VFS")
	}
	name, err := libc.CString(logVFS)
	if err != nil {
		return errMemory
	}
	memory := libc.Xmalloc(tls, types.Size_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if memory == 0 {
		return errMemory
	}
	vfs := at[lib.Tsqlite3_vfs](memory)
	*vfs = *at[lib.Tsqlite3_vfs](baseVFS)
	fileSize = (uintptr(vfs.FszOsFile) + 7) &^ 7
	vfs.FszOsFile = int32(fileSize + max(unsafe.Sizeof(logFile{}), unsafe.Sizeof(databaseFile{})))
	vfs.FzName, vfs.FpNext = name, 0
	vfs.FxOpen = pointerTo(openFile)
	if code := lib.Xsqlite3_vfs_register(tls, memory, 0); code != lib.SQLITE_OK {
		return &Error{int(code), libc.GoString(lib.Xsqlite3_errstr(tls, code))}
	}
	return nil
})

// openFile implements xOpen. Files that are neither databases nor write-ahead logs have the methods of the base VFS.
func openFile(tls *libc.TLS, _, name, file uintptr, flags int32, opened uintptr) int32 {
	code := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](
		at[lib.Tsqlite3_vfs](baseVFS).FxOpen)(tls, baseVFS, name, file, flags, opened)
	own := at[lib.Tsqlite3_file](file)
	if code != lib.SQLITE_OK || own.FpMethods == 0 {
		return code
	}
	base := at[lib.Tsqlite3_io_methods](own.FpMethods)
	switch {
	case flags&lib.SQLITE_OPEN_MAIN_DB != 0:
		d := databaseOf(file)
		*d = databaseFile{base: base, methods: *base}
		d.methods.FxShmLock = pointerTo(lockLog)
		own.FpMethods = addressOf(&d.methods)
	case flags&lib.SQLITE_OPEN_WAL != 0:
		memory := libc.Xmalloc(tls, gathered)
		if memory == 0 {
			return lib.SQLITE_OK // without gathering
		}
		l := logOf(file)
		*l = logFile{
			base: base, methods: *base, memory: memory, database: databaseOf(lib.Xsqlite3_database_file_object(tls, name)),
		}
		l.methods.FxClose, l.methods.FxRead = pointerTo(closeLog), pointerTo(readLog)
		l.methods.FxWrite, l.methods.FxTruncate = pointerTo(writeLog), pointerTo(truncateLog)
		l.methods.FxSync, l.methods.FxFileSize = pointerTo(syncLog), pointerTo(sizeOfLog)
		l.database.log = l
		own.FpMethods = addressOf(&l.methods)
	}
	return lib.SQLITE_OK
}

// lockLog implements xShmLock of a database. A committed transaction has synced the log before it gives up the lock for
// writing, so bytes that are still gathered then are of a rolled-back transaction and are dropped.
func lockLog(tls *libc.TLS, file uintptr, first, n, flags int32) int32 {
	const writing = 0 // WAL_WRITE_LOCK
	d := databaseOf(file)
	if d.log != nil && first == writing && flags&lib.SQLITE_SHM_UNLOCK != 0 {
		d.log.n = 0
	}
	return function[func(*libc.TLS, uintptr, int32, int32, int32) int32](d.base.FxShmLock)(tls, file, first, n, flags)
}

func writeLog(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	l := logOf(file)
	if l.n > 0 && (offset != l.offset+int64(l.n) || l.n+n > gathered) {
		if code := l.flush(tls, file); code != lib.SQLITE_OK {
			return code
		}
	}
	if n > gathered {
		return l.write(tls, file, data, n, offset)
	}
	if l.n == 0 {
		l.offset = offset
	}
	copy(bytesAt(l.memory+uintptr(l.n), int(n)), bytesAt(data, int(n)))
	l.n += n
	return lib.SQLITE_OK
}

// flush writes the gathered bytes. After an error they are gone, as after a failed write: SQLite rolls back.
func (l *logFile) flush(tls *libc.TLS, file uintptr) int32 {
	n := l.n
	if l.n = 0; n == 0 {
		return lib.SQLITE_OK
	}
	return l.write(tls, file, l.memory, n, l.offset)
}

func (l *logFile) write(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](l.base.FxWrite)(tls, file, data, n, offset)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	l := logOf(file)
	if code := l.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	if l.synced {
		if code, ok := syncData(tls, file); ok {
			return code
		}
	}
	code := function[func(*libc.TLS, uintptr, int32) int32](l.base.FxSync)(tls, file, flags)
	l.synced = code == lib.SQLITE_OK
	return code
}

func readLog(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	l := logOf(file)
	if code := l.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](l.base.FxRead)(tls, file, data, n, offset)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	l := logOf(file)
	if code := l.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	return function[func(*libc.TLS, uintptr, int64) int32](l.base.FxTruncate)(tls, file, size)
}

func sizeOfLog(tls *libc.TLS, file, size uintptr) int32 {
	l := logOf(file)
	if code := l.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	return function[func(*libc.TLS, uintptr, uintptr) int32](l.base.FxFileSize)(tls, file, size)
}

func closeLog(tls *libc.TLS, file uintptr) int32 {
	l := logOf(file)
	l.database.log = nil
	libc.Xfree(tls, l.memory)
	return function[func(*libc.TLS, uintptr) int32](l.base.FxClose)(tls, file)
}

// logOf and databaseOf return what follows a file of the base VFS.
func logOf(file uintptr) *logFile           { return at[logFile](file + fileSize) }
func databaseOf(file uintptr) *databaseFile { return at[databaseFile](file + fileSize) }

// at returns memory of SQLite as a value.
func at[T any](address uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(nil), address)) //nolint:gosec // a T of SQLite is at the address
}

// addressOf is the inverse of at, for values in memory of SQLite.
func addressOf[T any](value *T) uintptr { return uintptr(unsafe.Pointer(value)) } //nolint:gosec // see at

// pointerTo returns a Go function as a function pointer of SQLite, which is the value of a Go function variable.
func pointerTo[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) } //nolint:gosec // see function

// function is the inverse of pointerTo. Translated from C to Go, SQLite's own functions are Go functions.
func function[F any](pointer uintptr) F { return *(*F)(unsafe.Pointer(&pointer)) } //nolint:gosec // see pointerTo
