// Package audit is the log of what happened to accounts and credentials: who signed in, which keys were made, what was
// revoked. Each entry holds the hash of the one before, so that a row that is changed, removed or put in later is found.
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

// Event is what happened.
type Event string

// The events. Words are stable: operators search for them.
const (
	SignedIn        Event = "sign_in"
	SignInFailed    Event = "sign_in_failed"
	SignedOut       Event = "sign_out"
	SetUp           Event = "set_up"
	SetUpFailed     Event = "set_up_failed"
	UserCreated     Event = "user_created"
	UserDisabled    Event = "user_disabled"
	PasswordChanged Event = "password_changed"
	KeyCreated      Event = "key_created"
	KeyRevoked      Event = "key_revoked"
	CodeCreated     Event = "code_created"
	CodeExchanged   Event = "code_exchanged"
	CodeCancelled   Event = "code_cancelled"
	NameChanged     Event = "name_changed"
	EmailChanged    Event = "email_changed"
	EmailRequested  Event = "email_requested"
	SessionEnded    Event = "session_ended"
	ConnectionNamed Event = "connection_named"

	// What happens at the authorization server.
	ClientRegistered Event = "client_registered"
	GrantGiven       Event = "grant_given"
	GrantRevoked     Event = "grant_revoked"
	TokenReused      Event = "token_reused"
	SigningKeyMade   Event = "signing_key_made"
)

// Entry is one line of the log. It never holds a secret, nor what somebody typed into a form.
type Entry struct {
	// Seq counts from 1 without a gap.
	Seq int64
	At  time.Time
	// UserID is the account that it happened to; empty where there is none, as when somebody tries an unknown address.
	UserID string
	// Actor is who did it: the account itself, a credential, or the operator at the machine.
	Actor string
	Event Event
	// Detail is a small JSON object with what else is worth knowing.
	Detail string
	// Address is where the request came from; empty for commands.
	Address string
	Prev    []byte
	Hash    []byte
	// RedactedBy is the entry of the deletion that took out what named a person, or 0.
	RedactedBy int64
}

// Head is the end of the chain.
type Head struct {
	Seq  int64
	Hash []byte
}

// Store keeps the log.
type Store interface {
	// AppendAudit adds the entry that next makes of the present end. Appends come one after the other, over all nodes:
	// next is called while nobody else can append. It may be called again when the transaction has to be repeated.
	AppendAudit(ctx context.Context, next func(Head) Entry) error
	// Audit returns up to limit entries before seq (0: the newest), newest first; of one user, or of all if that is empty.
	Audit(ctx context.Context, userID string, before int64, limit int) ([]Entry, error)
	// AuditFrom returns up to limit entries after seq, oldest first.
	AuditFrom(ctx context.Context, seq int64, limit int) ([]Entry, error)
	// AuditHead returns the recorded end.
	AuditHead(ctx context.Context) (Head, error)
}

// Record is what a caller says of an event.
type Record struct {
	Event  Event
	UserID string
	// Actor may be left empty for the user itself.
	Actor  string
	Detail map[string]string
}

// Log appends to the audit log and reads it.
type Log struct {
	store   Store
	clock   core.Clock
	address func(context.Context) string
	log     *slog.Logger
}

// New returns a log. address tells where the request of a context came from; nil means nowhere.
func New(store Store, clock core.Clock, address func(context.Context) string, log *slog.Logger) *Log {
	if address == nil {
		address = func(context.Context) string { return "" }
	}
	return &Log{store: store, clock: clock, address: address, log: log}
}

// Append writes an event down.
func (l *Log) Append(ctx context.Context, r Record) error {
	detail := []byte("{}")
	if len(r.Detail) > 0 {
		detail, _ = json.Marshal(r.Detail) // texts always marshal, in the order of their names
	}
	actor := r.Actor
	if actor == "" {
		actor = r.UserID
	}
	address := l.address(ctx)
	return l.store.AppendAudit(ctx, func(head Head) Entry {
		// The clock is read under the lock: times then follow the order of the entries.
		e := Entry{
			Seq: head.Seq + 1, At: l.clock.Now(), UserID: r.UserID, Actor: actor, Event: r.Event,
			Detail: string(detail), Address: address, Prev: append([]byte{}, head.Hash...), // never nil: the first has an empty one
		}
		e.Hash = e.sum()
		return e
	})
}

// Note is Append for callers that have done the thing already and can't undo it: a failure goes to the other log. It
// goes on when the client has hung up, because the thing has happened all the same.
func (l *Log) Note(ctx context.Context, r Record) {
	if err := l.Append(context.WithoutCancel(ctx), r); err != nil {
		l.log.ErrorContext(ctx, "an event is missing from the audit log", slog.String("event", string(r.Event)), slog.Any("error", err))
	}
}

// sum is the hash of an entry: SHA-256 over the hash before it and every field, each with its length in front, so that
// nothing can move from one field to the next.
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

// List returns the newest entries before seq (0: from the end), of one account or of all.
func (l *Log) List(ctx context.Context, userID string, before int64, limit int) ([]Entry, error) {
	return l.store.Audit(ctx, userID, before, limit)
}

// BrokenError says where the chain does not hold.
type BrokenError struct {
	Seq    int64
	Reason string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the audit log was tampered with: entry %d %s", e.Seq, e.Reason)
}
