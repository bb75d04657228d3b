//go:build unix

package disk

import "os"

func syncDir(dir *os.File) error { return dir.Sync() }
