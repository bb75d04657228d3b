package store

import (
	"sync"
	"sync/atomic"

	"carrel/internal/store/sqlite"
)

// checkpoints copies the write-ahead log into the database, so that SQLite can begin the log anew.
//
// By default the connection that writes does this when the log has a certain number of pages. A copy of thousands of
// random pages with its sync takes a tenth of a second, and all writes wait. Here another connection copies most pages
// while writes go on. The writer copies the few that were written meanwhile, because only a log that is copied
// completely can begin anew.
//
// A page that several commits change is copied once per checkpoint, so a longer log costs less. Up to 4,062 pages have
// one hash table in the WAL index, so a page in the log is found as fast as in a short one.
type checkpoints struct {
	open func() (*sqlite.Conn, error)
	// next is the length of the log at which a copy starts, or has started.
	next    int
	running sync.WaitGroup
	// copying is set while another connection copies, and copied when it has ended.
	copying bool
	copied  atomic.Bool
}

const (
	// checkpointAfter is the length of the log at which a copy starts.
	checkpointAfter = 2500
	// checkpointAgain is how much longer the log must be if it could not begin anew, because of a reader or an error.
	checkpointAgain = 1000
	// checkpointLimit is the length at which writes wait for a copy that is slower than they are.
	checkpointLimit = 4500
)

// committed is called after each commit with the connection that writes and the length of the log, which is negative if
// it is not known; then SQLite makes the checkpoints.
func (c *checkpoints) committed(writer *sqlite.Conn, frames int) {
	if frames < 0 {
		return
	}
	if !c.copying && frames < checkpointAfter {
		c.next = checkpointAfter
	}
	if c.copying && frames >= c.next+checkpointLimit-checkpointAfter {
		c.wait()
	}
	switch {
	case c.copied.Load():
		// As in SQLite's own checkpoints, errors are ignored: the log stays longer, and the next write reports that the
		// disk is full or broken.
		_, _ = writer.Exec("PRAGMA wal_checkpoint(PASSIVE)")
		c.copied.Store(false)
		c.copying, c.next = false, max(checkpointAfter, frames+checkpointAgain)
	case !c.copying && frames >= c.next:
		c.copying = true
		c.running.Go(c.copy)
	}
}

// copy runs beside the writer.
func (c *checkpoints) copy() {
	defer c.copied.Store(true)
	conn, err := c.open()
	if err != nil {
		return // the writer copies all
	}
	_, _ = conn.Exec("PRAGMA wal_checkpoint(PASSIVE)")
	_ = conn.Close() // nothing was written
}

// wait returns when no other connection copies.
func (c *checkpoints) wait() { c.running.Wait() }
