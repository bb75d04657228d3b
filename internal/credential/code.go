package credential

import (
	"context"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// codeLife is how long a connect code can be exchanged, and codeTrace how long it is kept after that: the page that
// showed it wants to know what became of it.
const (
	codeLife  = 15 * time.Minute
	codeTrace = 30 * 24 * time.Hour
)

// Code is a one-time connect code, without its secret.
type Code struct {
	ID        string
	UserID    string
	CreatedAt time.Time
	ExpiresAt time.Time
	// UsedAt is when a program exchanged it, for the connection KeyID, calling itself ClientName.
	UsedAt     *time.Time
	KeyID      string
	ClientName string
	// MadeWith is the key that it was made with, or empty, and KeyExpiresAt the end of that key. What connects with the
	// code ends with it.
	MadeWith     string
	KeyExpiresAt *time.Time
}

// CodeState is what became of a code.
type CodeState string

// The states of a code.
const (
	CodeWaiting CodeState = "waiting"
	CodeClaimed CodeState = "claimed"
	CodeExpired CodeState = "expired"
)

// State tells what became of the code.
func (c Code) State(now time.Time) CodeState {
	switch {
	case c.UsedAt != nil:
		return CodeClaimed
	case !now.Before(c.ExpiresAt):
		return CodeExpired
	}
	return CodeWaiting
}

// CodeStore keeps connect codes.
type CodeStore interface {
	// InsertCode stores a code. As with keys, one with the same id gets the new secret.
	InsertCode(ctx context.Context, c Code, hash []byte) error
	// RedeemCode uses up the code with this hash and stores the key minted from it for the code's user, with the end of the
	// key that the code was made with, in one transaction: of any number of parallel calls one succeeds. An unknown,
	// expired or used code is not_found.
	RedeemCode(ctx context.Context, codeHash []byte, now time.Time, minted Key, keyHash []byte) error
	// Codes returns up to limit codes of the user before an id, newest first.
	Codes(ctx context.Context, userID, before string, limit int) ([]Code, error)
	Code(ctx context.Context, userID, codeID string) (Code, error)
	// CancelCode forgets a code that was not used.
	CancelCode(ctx context.Context, userID, codeID string) error
	// PruneCodes forgets codes that expired before.
	PruneCodes(ctx context.Context, before time.Time) error
}

// CreateCode makes a connect code for a user and returns it; it can't be had again. It needs a recent proof, as a key does.
func (s *Service) CreateCode(ctx context.Context, actor core.Actor) (Code, string, error) {
	now := s.clock.Now()
	if err := actor.AllowProved(core.OpKeys, now); err != nil {
		return Code{}, "", err
	}
	// As with keys: what comes of a code can do no more than what the code was made with. It works with all agents.
	for _, op := range []core.Operation{core.OpListAgents, core.OpCreateAgent} {
		if err := actor.Allow(op); err != nil {
			return Code{}, "", err
		}
	}
	if len(actor.Agents) > 0 {
		return Code{}, "", core.Forbidden("forbidden", "This credential is for some agents alone, and what connects with a code gets all of them.")
	}
	maker, err := s.maker(ctx, actor)
	if err != nil {
		return Code{}, "", err
	}
	token := newToken(s.prefixes.Code)
	c := Code{
		ID: core.NewIDIn(ctx, core.PrefixCredential), UserID: actor.UserID, CreatedAt: now, ExpiresAt: now.Add(codeLife),
		MadeWith: maker.ID, KeyExpiresAt: maker.ExpiresAt,
	}
	if err := s.store.InsertCode(ctx, c, hashToken(s.secret, token)); err != nil {
		return Code{}, "", err
	}
	s.note(ctx, actor, audit.CodeCreated, c.ID, "")
	return c, token, nil
}

// Codes lists a user's connect codes, newest first, and returns the cursor of the next page.
func (s *Service) Codes(ctx context.Context, actor core.Actor, p core.Page) ([]Code, string, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return nil, "", err
	}
	return pageByID("connectCodes", p, func(before string, limit int) ([]Code, error) {
		return s.store.Codes(ctx, actor.UserID, before, limit)
	}, func(c Code) string { return c.ID })
}

// Code returns one connect code of a user.
func (s *Service) Code(ctx context.Context, actor core.Actor, codeID string) (Code, error) {
	if err := actor.Allow(core.OpKeys); err != nil {
		return Code{}, err
	}
	return s.store.Code(ctx, actor.UserID, codeID)
}

// CancelCode makes a code useless. One that was exchanged can't be cancelled; the connection can be revoked.
func (s *Service) CancelCode(ctx context.Context, actor core.Actor, codeID string) error {
	if err := actor.Allow(core.OpKeys); err != nil {
		return err
	}
	err := s.store.CancelCode(ctx, actor.UserID, codeID)
	if core.IsKind(err, core.KindNotFound) {
		if c, missing := s.store.Code(ctx, actor.UserID, codeID); missing == nil && c.UsedAt != nil {
			return core.Conflict("conflict", "A program has exchanged this code already. Revoke its connection instead.")
		}
	}
	if err != nil {
		return err
	}
	s.note(ctx, actor, audit.CodeCancelled, codeID, "")
	return nil
}

// PruneCodes forgets codes that nobody asks about any more.
func (s *Service) PruneCodes(ctx context.Context) error {
	return s.store.PruneCodes(ctx, s.clock.Now().Add(-codeTrace))
}

// Exchange turns a connect code into a key of its own for the client. Unknown, expired and used codes get one and
// the same answer.
func (s *Service) Exchange(ctx context.Context, code, client string) (string, error) {
	if client = strings.TrimSpace(client); !printable(client) {
		return "", core.InvalidField("/client", "Must be 1 to 64 printable characters: a short name for the tool.")
	}
	invalid := &core.Error{
		Kind: core.KindInvalid, Code: "invalid_code",
		Detail: "This connect code is unknown, expired or already used. Make a new one; it is valid for 15 minutes, once.",
	}
	if !wellFormed(s.prefixes.Code, code) {
		return "", invalid
	}
	token := newToken(s.prefixes.Key)
	minted := s.newKey(core.NewID(core.PrefixCredential), core.CredentialMinted, NewKey{Name: client, Scopes: defaultScopes}, token)
	minted.ClientName = client
	err := s.store.RedeemCode(ctx, hashToken(s.secret, code), s.clock.Now(), minted, hashToken(s.secret, token))
	if core.IsKind(err, core.KindNotFound) {
		return "", invalid
	}
	if err != nil {
		return "", err
	}
	s.noteExchange(ctx, minted, token)
	return token, nil
}
