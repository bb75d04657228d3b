package audit

import (
	"bytes"
	"context"
)

// verifyPage is the number of entries read at a time.
const verifyPage = 500

// Verify reads the whole log and returns its head. A broken chain is a *BrokenError. noted is a head kept outside the
// database, or nil: an attacker with write access to the database can recompute the whole chain, which only a hash
// stored elsewhere reveals.
func (l *Log) Verify(ctx context.Context, noted *Head) (Head, error) {
	for {
		anchor, kept, err := l.anchor(ctx, noted)
		if err != nil {
			return Head{}, err
		}
		head, err := l.verifyFrom(ctx, anchor, kept)
		if err == nil {
			return head, nil
		}
		// Entries that are pruned during the check are missing for it.
		if now, again := l.store.AuditAnchor(ctx); again != nil || now.Seq == anchor.Seq {
			return Head{}, err
		}
	}
}

// verifyFrom is Verify for the entries after the last pruned one.
func (l *Log) verifyFrom(ctx context.Context, anchor Head, noted *Head) (Head, error) {
	// The head is read first; entries appended during the check are behind it.
	end, err := l.store.AuditHead(ctx)
	if err != nil {
		return Head{}, err
	}
	at, anchored := anchor, anchor.Seq == 0
	redacted := redactions{}
	for at.Seq < end.Seq {
		entries, err := l.store.AuditFrom(ctx, at.Seq, verifyPage)
		if err != nil {
			return Head{}, err
		}
		if len(entries) == 0 {
			return Head{}, &BrokenError{at.Seq + 1, "and all later entries are missing"}
		}
		for _, e := range entries {
			if at, err = next(at, e); err == nil {
				err = redacted.check(e, anchor.Seq > 0)
			}
			anchored = anchored || e.Event == LogPruned && e.RedactedBy == 0 && e.Detail == anchor.detail()
			if err != nil {
				return Head{}, err
			}
			if err := compare(at, &end, "does not match the stored head"); err != nil {
				return Head{}, err
			}
			if err := compare(at, noted, "does not match the noted hash"); err != nil {
				return Head{}, err
			}
			if at.Seq == end.Seq {
				break
			}
		}
	}
	if !anchored {
		return Head{}, &BrokenError{anchor.Seq, "and all earlier ones are missing, and no entry records a deletion"}
	}
	if noted != nil && noted.Seq > end.Seq {
		return Head{}, &BrokenError{noted.Seq, "was noted and is missing"}
	}
	return l.checkDeletions(ctx, end, noted, redacted)
}

// anchor returns the last pruned entry, after which the log starts and which an entry of the log must record. A noted
// head of an earlier entry cannot be compared and is dropped.
func (l *Log) anchor(ctx context.Context, noted *Head) (Head, *Head, error) {
	at, err := l.store.AuditAnchor(ctx)
	if err != nil {
		return Head{}, nil, err
	}
	if noted != nil && noted.Seq < at.Seq {
		return at, nil, nil
	}
	return at, noted, compare(at, noted, "does not match the noted hash")
}

// checkDeletions returns end if every redacted entry had its deletion. If an account was deleted during the check, its
// deletion lies behind end, and the whole log is verified again.
func (l *Log) checkDeletions(ctx context.Context, end Head, noted *Head, left redactions) (Head, error) {
	for deletion := range left {
		now, err := l.store.AuditHead(ctx)
		if err != nil {
			return Head{}, err
		}
		if deletion <= end.Seq || deletion > now.Seq {
			return Head{}, &BrokenError{deletion, "is missing, but redacted entries refer to it"}
		}
		return l.Verify(ctx, noted)
	}
	return end, nil
}

// next returns the head after e, or an error if e does not follow at.
func next(at Head, e Entry) (Head, error) {
	switch {
	case e.Seq != at.Seq+1:
		return at, &BrokenError{at.Seq + 1, "is missing"}
	case !bytes.Equal(e.Prev, at.Hash):
		return at, &BrokenError{e.Seq, "does not contain the hash of the previous entry"}
	case e.RedactedBy == 0 && !bytes.Equal(e.Hash, e.sum()):
		return at, &BrokenError{e.Seq, "was changed"}
	}
	return Head{Seq: e.Seq, Hash: e.Hash}, nil
}

func compare(at Head, want *Head, reason string) error {
	if want != nil && at.Seq == want.Seq && !bytes.Equal(at.Hash, want.Hash) {
		return &BrokenError{at.Seq, reason}
	}
	return nil
}
