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

// Deleting an account removes personal data from its entries. They keep their sequence numbers, times, events and
// hashes, so the chain stays linked, but their hashes can no longer be recomputed and could hide a change. The
// account_deleted entry therefore contains a digest over all entries it redacted. It is part of the chain itself:
// redacting any other entry, or redacting without such an entry, is detected.

// Redacted computes the digest over the entries redacted by one deletion. Entries are added in order.
type Redacted struct {
	entries int
	digest  hash.Hash
}

// Add adds an entry to the digest. Only the fields that a redaction leaves unchanged are included.
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

// detail returns Entry.Detail of the deletion: the number of redacted entries and their digest.
func (r *Redacted) detail() string {
	out := map[string]string{"entries": strconv.Itoa(r.entries)}
	if r.digest != nil {
		out["digest"] = hex.EncodeToString(r.digest.Sum(nil))
	}
	b, _ := json.Marshal(out) // a map of strings always encodes, with sorted keys
	return string(b)
}

// Deletion returns the account_deleted entry to append after head. It does not identify the deleted account, and actor
// must not either.
func Deletion(head Head, at time.Time, actor string, r *Redacted) Entry {
	e := Entry{
		Seq:    head.Seq + 1,
		At:     at,
		Actor:  actor,
		Event:  AccountDeleted,
		Detail: r.detail(),
		Prev:   append([]byte{}, head.Hash...),
	}
	e.Hash = e.sum()
	return e
}

// redactions checks during Verify that a deletion accounts for every redacted entry. It maps the Seq of a deletion to
// the entries read so far that name it.
type redactions map[int64]*Redacted

// check adds a redacted entry to the digest of its deletion. For any other entry it compares that digest with the
// recorded one. If the log was pruned, some of the redacted entries may be missing, and only their number is compared.
func (r redactions) check(e Entry, pruned bool) error {
	if e.RedactedBy != 0 {
		if r[e.RedactedBy] == nil {
			r[e.RedactedBy] = &Redacted{}
		}
		r[e.RedactedBy].Add(e)
		return nil
	}
	claimed := r[e.Seq]
	if claimed == nil {
		claimed = &Redacted{}
	}
	delete(r, e.Seq)
	if pruned && e.Event == AccountDeleted && claimed.entries < recordedEntries(e.Detail) {
		return nil
	}
	if e.Event != AccountDeleted && claimed.entries > 0 || e.Event == AccountDeleted && e.Detail != claimed.detail() {
		return &BrokenError{e.Seq, "does not match the entries that were redacted"}
	}
	return nil
}

// recordedEntries returns the number of redacted entries in the detail of a deletion.
func recordedEntries(detail string) int {
	var d struct {
		Entries int `json:"entries,string"`
	}
	if json.Unmarshal([]byte(detail), &d) != nil {
		return 0
	}
	return d.Entries
}
