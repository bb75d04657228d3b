package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// pruneBatch is the number of entries deleted in one transaction.
const pruneBatch = 1000

// Prune deletes the entries older than a time. Every deletion appends an entry with the number and the hash of the last
// deleted entry. The rest of the chain starts there, so Verify detects a log that was cut off at another place.
func (l *Log) Prune(ctx context.Context, before time.Time) error {
	for {
		found, err := l.store.PruneAudit(ctx, before, pruneBatch, func(head, pruned Head) Entry {
			e := Entry{
				Seq: head.Seq + 1, At: l.clock.Now(), Actor: "retention", Event: LogPruned,
				Detail: pruned.detail(), Prev: append([]byte{}, head.Hash...),
			}
			e.Hash = e.sum()
			return e
		})
		if err != nil || !found {
			return err
		}
	}
}

// detail returns Entry.Detail of the entry that records this head as the last pruned one.
func (h Head) detail() string {
	b, _ := json.Marshal(map[string]string{ // a map of strings always encodes, with sorted keys
		"through": strconv.FormatInt(h.Seq, 10), "hash": hex.EncodeToString(h.Hash),
	})
	return string(b)
}
