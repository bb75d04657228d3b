package credential

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// SessionPrefix is the prefix of session secrets. It distinguishes them from keys, and logs redact secrets by prefix.
const SessionPrefix = "crls"

// Sessions expire after 14 idle days, and after 90 days in any case.
const (
	SessionIdle = 14 * 24 * time.Hour
	SessionLife = 90 * 24 * time.Hour
)

// seenEvery is the resolution of Session.SeenAt. Storing every request would turn reads into writes.
const seenEvery = 5 * time.Minute

// maxUserAgent is the maximum length of a stored User-Agent, in code points.
const maxUserAgent = 200

// Session is a browser session, without its secret.
type Session struct {
	ID     string
	UserID string
	// Address and Agent are the IP address and User-Agent of the sign-in.
	Address, Agent string
	CreatedAt      time.Time
	// AuthenticatedAt is the time of the last proof of identity. Sensitive operations require a recent one.
	AuthenticatedAt time.Time
	SeenAt          time.Time
	ExpiresAt       time.Time
	RevokedAt       *time.Time
}

func (s Session) live(now time.Time) bool {
	return s.RevokedAt == nil && now.Before(s.ExpiresAt) && now.Before(s.SeenAt.Add(SessionIdle))
}

// FoundSession is the result of a session lookup: the session and everything needed to build the actor.
type FoundSession struct {
	Session Session
	User    account.User
	// Used is the amount the user has spent and reserved in the month, in micro-dollars.
	Used int64
	// Entitlement is the plan of the account.
	Entitlement billing.Entitlement
}

// SessionCookie returns the name of the session cookie. Browsers accept the __Host- prefix only from this host over
// HTTPS, so other hosts of the domain cannot plant a cookie. Over plain HTTP the prefix is not available.
func SessionCookie(https bool) string {
	if https {
		return "__Host-carrel"
	}
	return "carrel"
}

// SessionStore persists sessions. A missing session is a not_found error.
type SessionStore interface {
	InsertSession(ctx context.Context, s Session, hash []byte) error
	// SessionByHash returns a session with its user and the user's spend in the period ("2026-11"), in one query.
	SessionByHash(ctx context.Context, hash []byte, period string) (FoundSession, error)
	// Sessions returns the sessions of a user that are not revoked, expired or idle, newest first.
	Sessions(ctx context.Context, userID string, now, idleSince time.Time) ([]Session, error)
	// TouchSession updates SeenAt. It never moves it back.
	TouchSession(ctx context.Context, sessionID string, at time.Time) error
	// StepUpSession updates AuthenticatedAt.
	StepUpSession(ctx context.Context, sessionID string, at time.Time) error
	// RevokeSession ends a session of the user. Ending it again changes nothing.
	RevokeSession(ctx context.Context, userID, sessionID string, at time.Time) error
	// RevokeSessions ends all sessions of the user except one, or all if except is empty.
	RevokeSessions(ctx context.Context, userID, except string, at time.Time) error
	// PruneSessions deletes sessions that ended before the time.
	PruneSessions(ctx context.Context, before time.Time) error
}

// SessionDeps are the dependencies of Sessions.
type SessionDeps struct {
	Store SessionStore
	Clock core.Clock
	Audit audit.Recorder
	// HashKey is the HMAC key of stored secrets.
	HashKey []byte
}

// Sessions begins, looks up and ends browser sessions.
type Sessions struct {
	store   SessionStore
	clock   core.Clock
	audit   audit.Recorder
	hashKey []byte
}

// NewSessions returns Sessions. It panics if a dependency is missing.
func NewSessions(d SessionDeps) *Sessions {
	core.RequireDeps(d)
	return &Sessions{store: d.Store, clock: d.Clock, audit: d.Audit, hashKey: d.HashKey}
}

// Begin creates a session for a user who has just signed in and returns its secret. The secret is always new, so a
// planted cookie cannot fixate the session.
func (s *Sessions) Begin(ctx context.Context, userID, address, agent string) (Session, string, error) {
	now := s.clock.Now()
	token := newToken(SessionPrefix)
	session := Session{
		ID: core.NewID(core.PrefixCredential), UserID: userID, Address: address, Agent: cleanUserAgent(agent),
		CreatedAt: now, AuthenticatedAt: now, SeenAt: now, ExpiresAt: now.Add(SessionLife),
	}
	if err := s.store.InsertSession(ctx, session, hashToken(s.hashKey, token)); err != nil {
		return Session{}, "", err
	}
	return session, token, nil
}

// cleanUserAgent removes control characters and invalid UTF-8 from a User-Agent and truncates it.
func cleanUserAgent(agent string) string {
	agent = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(agent, ""))
	if utf8.RuneCountInString(agent) > maxUserAgent {
		agent = string([]rune(agent)[:maxUserAgent])
	}
	return agent
}

// Find returns the session with this secret. It is not cached: ended sessions and disabled users are rejected from the
// next request on, on every node.
func (s *Sessions) Find(ctx context.Context, token string) (FoundSession, error) {
	ended := core.Unauthenticated("invalid_credential", "This session has ended. Sign in again.")
	if !wellFormed(SessionPrefix, token) {
		return FoundSession{}, ended
	}
	now := s.clock.Now()
	found, err := s.store.SessionByHash(ctx, hashToken(s.hashKey, token), core.Month(now))
	if core.IsKind(err, core.KindNotFound) {
		return FoundSession{}, ended
	}
	if err != nil {
		return FoundSession{}, err
	}
	if !found.Session.live(now) || found.User.DisabledAt != nil {
		return FoundSession{}, ended
	}
	if now.Sub(found.Session.SeenAt) >= seenEvery {
		if err := s.store.TouchSession(ctx, found.Session.ID, now); err != nil {
			return FoundSession{}, err
		}
		found.Session.SeenAt = now
	}
	return found, nil
}

// Authenticate returns the actor of a session, with all scopes of the user's role.
func (s *Sessions) Authenticate(ctx context.Context, token string) (core.Actor, error) {
	found, err := s.Find(ctx, token)
	if err != nil {
		return core.Actor{}, err
	}
	u := found.User
	actor := core.Actor{
		UserID: u.ID, Role: u.Role, CredentialID: found.Session.ID, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: found.Session.AuthenticatedAt,
	}
	found.Entitlement.Entitle(&actor, u.SpendCap, found.Used, s.clock.Now())
	return actor, nil
}

// StepUp stores that the user of a session has just proved their identity.
func (s *Sessions) StepUp(ctx context.Context, sessionID string) error {
	return s.store.StepUpSession(ctx, sessionID, s.clock.Now())
}

// List returns the active sessions of a user, newest first.
func (s *Sessions) List(ctx context.Context, userID string) ([]Session, error) {
	now := s.clock.Now()
	return s.store.Sessions(ctx, userID, now, now.Add(-SessionIdle))
}

// End ends one session of a user.
func (s *Sessions) End(ctx context.Context, userID, sessionID string) error {
	return s.store.RevokeSession(ctx, userID, sessionID, s.clock.Now())
}

// EndOthers ends all sessions of a user except one, or all if except is empty.
func (s *Sessions) EndOthers(ctx context.Context, userID, except string) error {
	return s.store.RevokeSessions(ctx, userID, except, s.clock.Now())
}

// Prune deletes expired sessions.
func (s *Sessions) Prune(ctx context.Context) error {
	return s.store.PruneSessions(ctx, s.clock.Now())
}
