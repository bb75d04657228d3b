//go:build !unix

package disk

import "os"

// syncDir does nothing, because these systems cannot sync a folder and order changes of names themselves.
func syncDir(*os.File) error { return nil }
