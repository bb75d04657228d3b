package cli

import "fmt"

// lockedError means that another process holds the lock of the data folder.
type lockedError struct{ dir, holder string }

func (e lockedError) Error() string {
	return fmt.Sprintf(
		"another process (%s) uses the data folder %s; stop it, or set another folder with --data", e.holder, e.dir)
}
