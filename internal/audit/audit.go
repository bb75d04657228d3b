// Package audit is the log of security-relevant events: sign-ins, credentials issued and revoked, changes to accounts
// and plans. Every entry contains the hash of the previous one, so a changed, removed or inserted row breaks the chain
// and Verify finds it.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"carrel/internal/core"
)

// Entry is one row of the log. It never contains a secret or text typed into a form.
type Entry struct {
	// Seq counts from 1 without gaps.
	Seq int64
	At  time.Time
	// UserID is the account the event belongs to. It is empty for events without one, such as a sign-in attempt with an
	// unknown address.
	UserID string
	// Actor is the id of the user or credential that caused the event, or "operator".
	Actor string
	Event Event
	// Detail is a small JSON object.
	Detail string
	// Address is the client's IP address. It is empty for commands and for actions of another user; see
	// Record.OmitAddress.
	Address string
	Prev    []byte
	Hash    []byte
	// RedactedBy is the Seq of the account deletion that removed the personal data from this entry, or 0.
	RedactedBy int64
}

// Head is the sequence number and hash of the last entry.
type Head struct {
	Seq  int64
	Hash []byte
}

// Store persists the log.
type Store interface {
	// AppendAudit stores the entry that next returns for the current head. Appends are serialized across all nodes: next
	// runs while no other append can. It may run again if the transaction is retried.
	AppendAudit(ctx context.Context, next func(Head) Entry) error
	// Audit returns up to limit entries with a Seq below before, newest first. 0 starts with the newest. An empty userID
	// selects the entries of all users.
	Audit(ctx context.Context, userID string, before int64, limit int) ([]Entry, error)
	// AuditFrom returns up to limit entries with a Seq above seq, oldest first.
	AuditFrom(ctx context.Context, seq int64, limit int) ([]Entry, error)
	// AuditHead returns the stored head.
	AuditHead(ctx context.Context) (Head, error)
	// AuditAnchor returns the last entry that was pruned; the zero Head if none was.
	AuditAnchor(ctx context.Context) (Head, error)
	// PruneAudit deletes up to n of the oldest entries that are older than before, and appends the entry that next
	// returns for the head and the last deleted entry. It reports whether there were any.
	PruneAudit(ctx context.Context, before time.Time, n int, next func(head, pruned Head) Entry) (bool, error)
}

// Record is an event to append.
type Record struct {
	Event  Event
	UserID string
	// Actor defaults to UserID.
	Actor  string
	Detail map[string]string
	// OmitAddress leaves the client's address out of the entry. It is set if the event was caused by another user than
	// UserID, who can read the entry.
	OmitAddress bool
}

// Recorder appends events that have already happened. It returns no error, because the caller could not undo them;
// implementations report failures themselves. Log implements it.
type Recorder interface {
	Note(ctx context.Context, r Record)
}

// ActorID returns the value of Record.Actor for an actor: the id of the credential, or its kind ("operator") if it has
// no id.
func ActorID(a core.Actor) string {
	if a.CredentialID == "" {
		return string(a.Credential)
	}
	return a.CredentialID
}

// Log appends to the audit log and reads it.
type Log struct {
	store   Store
	clock   core.Clock
	address func(context.Context) string
	log     *slog.Logger
}

// Deps are the dependencies of a Log.
type Deps struct {
	Store Store
	Clock core.Clock
	// Log receives the error when an entry cannot be stored.
	Log *slog.Logger
	// Address returns the client's IP address for the context of a request. Entries have no address without it.
	Address func(context.Context) string `dep:"optional"`
}

// New returns a Log. It panics if a dependency is missing.
func New(d Deps) *Log {
	core.RequireDeps(d)
	if d.Address == nil {
		d.Address = func(context.Context) string { return "" }
	}
	return &Log{store: d.Store, clock: d.Clock, address: d.Address, log: d.Log}
}

// Append adds an entry.
func (l *Log) Append(ctx context.Context, r Record) error {
	detail := []byte("{}")
	if len(r.Detail) > 0 {
		detail, _ = json.Marshal(r.Detail) // a map of strings always encodes, with sorted keys
	}
	actor := r.Actor
	if actor == "" {
		actor = r.UserID
	}
	var address string
	if !r.OmitAddress {
		address = l.address(ctx)
	}
	return l.store.AppendAudit(ctx, func(head Head) Entry {
		// The clock is read inside the serialized append, so times are in the order of the entries.
		e := Entry{
			Seq: head.Seq + 1, At: l.clock.Now(), UserID: r.UserID, Actor: actor, Event: r.Event,
			Detail: string(detail), Address: address, Prev: append([]byte{}, head.Hash...), // empty, not nil, in the first
		}
		e.Hash = e.sum()
		return e
	})
}

// Note implements Recorder. It stores the entry even if the request was cancelled, because the event has happened, and
// logs an error if that fails.
func (l *Log) Note(ctx context.Context, r Record) {
	if err := l.Append(context.WithoutCancel(ctx), r); err != nil {
		l.log.ErrorContext(ctx, "audit entry not stored", slog.String("event", string(r.Event)), slog.Any("error", err))
	}
}

// sum returns the SHA-256 hash over Prev and all fields. Every field is preceded by its length, so bytes cannot move
// between adjacent fields without changing the hash.
func (e Entry) sum() []byte {
	h := sha256.New()
	var n [8]byte
	number := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	field := func(b []byte) {
		number(int64(len(b)))
		h.Write(b)
	}
	field(e.Prev)
	number(e.Seq)
	number(e.At.UnixMilli())
	for _, s := range []string{e.UserID, e.Actor, string(e.Event), e.Detail, e.Address} {
		field([]byte(s))
	}
	return h.Sum(nil)
}

// BrokenError reports the first entry at which the hash chain is broken.
type BrokenError struct {
	Seq    int64
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit log was tampered with: entry %d %s", e.Seq, e.Reason)
}
