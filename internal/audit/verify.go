package audit

import (
	"bytes"
	"context"
)

// verifyPage is how many entries are read at a time.
const verifyPage = 500

// Verify reads the whole log and returns its end. A chain that does not hold is a *BrokenError. noted is an end that
// somebody wrote down elsewhere before, or nil: whoever can write to the database could make the whole chain anew, and
// only a hash outside of it tells.
func (l *Log) Verify(ctx context.Context, noted *Head) (Head, error) {
	// The end is read first: entries that come meanwhile lie behind it.
	end, err := l.store.AuditHead(ctx)
	if err != nil {
		return Head{}, err
	}
	var at Head
	redacted := redactions{}
	for at.Seq < end.Seq {
		entries, err := l.store.AuditFrom(ctx, at.Seq, verifyPage)
		if err != nil {
			return Head{}, err
		}
		if len(entries) == 0 {
			return Head{}, &BrokenError{at.Seq + 1, "is missing, and all after it"}
		}
		for _, e := range entries {
			if at, err = follow(at, e); err == nil {
				err = redacted.note(e)
			}
			if err != nil {
				return Head{}, err
			}
			if err := compare(at, &end, "is not the one that was the last"); err != nil {
				return Head{}, err
			}
			if err := compare(at, noted, "is not the one that was noted"); err != nil {
				return Head{}, err
			}
			if at.Seq == end.Seq {
				break
			}
		}
	}
	if noted != nil && noted.Seq > end.Seq {
		return Head{}, &BrokenError{noted.Seq, "was noted and is missing"}
	}
	return l.accounted(ctx, end, noted, redacted)
}

// accounted returns the end if no redacted entry is left without its deletion. An account that was deleted while the log was
// read has its entry behind the end: then all is read again.
func (l *Log) accounted(ctx context.Context, end Head, noted *Head, left redactions) (Head, error) {
	for deletion := range left {
		now, err := l.store.AuditHead(ctx)
		if err != nil {
			return Head{}, err
		}
		if deletion <= end.Seq || deletion > now.Seq {
			return Head{}, &BrokenError{deletion, "is missing, and entries say that it redacted them"}
		}
		return l.Verify(ctx, noted)
	}
	return end, nil
}

// follow returns the end after one more entry, if that fits.
func follow(at Head, e Entry) (Head, error) {
	switch {
	case e.Seq != at.Seq+1:
		return at, &BrokenError{at.Seq + 1, "is missing"}
	case !bytes.Equal(e.Prev, at.Hash):
		return at, &BrokenError{e.Seq, "does not follow the one before it"}
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
