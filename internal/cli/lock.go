package cli

import "fmt"

// lockedError says that a server uses the data folder.
type lockedError struct{ dir, holder string }

func (e lockedError) Error() string {
	return fmt.Sprintf("another server (process %s) uses the data folder %s; stop it, or choose another folder with --data", e.holder, e.dir)
}
