package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"
	"time"
)

// An account that is deleted leaves nothing personal in the log. What named the person is taken out of the entries, which
// keep their numbers, times, events and hashes: the chain still holds them together. But the hash of such an entry can't
// be reckoned again, and so could hide a change. For that the entry that tells of the deletion holds a digest of all that
// it redacted. It is part of the chain itself, so nobody redacts an entry without it, or one more.

// Redacted gathers the entries that one deletion redacts, in order.
type Redacted struct {
	entries int
	digest  hash.Hash
}

// Add takes one more entry. Of what is left of it only that counts which never changes again.
func (r *Redacted) Add(e Entry) {
	if r.digest == nil {
		r.digest = sha256.New()
	}
	var n [8]byte
	for _, v := range []int64{e.Seq, e.At.UnixMilli(), int64(len(e.Event))} {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		r.digest.Write(n[:])
	}
	r.digest.Write([]byte(e.Event))
	r.digest.Write(e.Hash)
	r.entries++
}

// detail is what the entry of a deletion says of what it redacted.
func (r *Redacted) detail() string {
	out := map[string]string{"entries": strconv.Itoa(r.entries)}
	if r.digest != nil {
		out["digest"] = hex.EncodeToString(r.digest.Sum(nil))
	}
	b, _ := json.Marshal(out) // texts always marshal, in the order of their names
	return string(b)
}

// Deletion is the entry that tells of the deletion of an account, after the present end of the chain. It does not say
// whose; actor is who did it, and must not name the person either.
func Deletion(head Head, at time.Time, actor string, r *Redacted) Entry {
	e := Entry{
		Seq: head.Seq + 1, At: at, Actor: actor, Event: AccountDeleted, Detail: r.detail(), Prev: append([]byte{}, head.Hash...),
	}
	e.Hash = e.sum()
	return e
}

// redactions checks, while the log is read from its beginning, that every redacted entry belongs to a deletion.
type redactions map[int64]*Redacted

// note takes an entry: one that was redacted waits for its deletion, and a deletion must account for all that it redacted.
func (r redactions) note(e Entry) error {
	if e.RedactedBy != 0 {
		if r[e.RedactedBy] == nil {
			r[e.RedactedBy] = &Redacted{}
		}
		r[e.RedactedBy].Add(e)
		return nil
	}
	waiting := r[e.Seq]
	if waiting == nil {
		waiting = &Redacted{}
	}
	delete(r, e.Seq)
	if e.Event != AccountDeleted && waiting.entries > 0 || e.Event == AccountDeleted && e.Detail != waiting.detail() {
		return &BrokenError{e.Seq, "does not account for the entries that were redacted"}
	}
	return nil
}
