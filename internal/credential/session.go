package credential

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/account"
	"carrel/internal/core"
)

// SessionPrefix starts the secret of a session, so that logs mask it and a key is never taken for one.
const SessionPrefix = "crls"

// How long a session lasts: unused, and at most. Whoever is away for two weeks signs in again, and so does everybody
// once in three months.
const (
	SessionIdle = 14 * 24 * time.Hour
	SessionLife = 90 * 24 * time.Hour
)

// seenEvery is how exact the time of the last use is; noting every request would make reading pages cost writes.
const seenEvery = 5 * time.Minute

// maxUserAgent bounds what a browser may say of itself, in code points.
const maxUserAgent = 200

// Session is a browser that somebody signed in with, without its secret.
type Session struct {
	ID     string
	UserID string
	// Address and Agent are where it was made and by what program.
	Address, Agent string
	CreatedAt      time.Time
	// AuthenticatedAt is when the user last proved who they are; sensitive acts ask for a recent one.
	AuthenticatedAt time.Time
	SeenAt          time.Time
	ExpiresAt       time.Time
	RevokedAt       *time.Time
}

// live reports whether the session can still be used.
func (s Session) live(now time.Time) bool {
	return s.RevokedAt == nil && now.Before(s.ExpiresAt) && now.Before(s.SeenAt.Add(SessionIdle))
}

// FoundSession is a session together with its user.
type FoundSession struct {
	Session Session
	User    account.User
	// Used is what the user has spent and reserved in the month asked for, in micro-dollars.
	Used int64
	// Entitlement is what the account has.
	Entitlement account.Entitlement
}

// SessionCookie is the name of the cookie that holds the secret of a session. With the prefix __Host- a browser takes it
// from this very host over HTTPS alone, so that no other host of the domain can plant one. Over plain HTTP there are no
// such cookies.
func SessionCookie(https bool) string {
	if https {
		return "__Host-carrel"
	}
	return "carrel"
}

// SessionStore keeps sessions. What is not there is not_found.
type SessionStore interface {
	InsertSession(ctx context.Context, s Session, hash []byte) error
	// SessionByHash finds a session with its user and the user's spend in the period ("2026-11"), in one query.
	SessionByHash(ctx context.Context, hash []byte, period string) (FoundSession, error)
	// Sessions returns those of a user that have not ended, newest first.
	Sessions(ctx context.Context, userID string, now, idleSince time.Time) ([]Session, error)
	// TouchSession moves the last use on, never back.
	TouchSession(ctx context.Context, sessionID string, at time.Time) error
	// StepUpSession notes that the user has proved who they are again.
	StepUpSession(ctx context.Context, sessionID string, at time.Time) error
	// RevokeSession ends a session of the user; one that has ended already stays as it is.
	RevokeSession(ctx context.Context, userID, sessionID string, at time.Time) error
	// RevokeSessions ends all sessions of the user but one, or all if that is empty.
	RevokeSessions(ctx context.Context, userID, except string, at time.Time) error
	// PruneSessions forgets those that ended before.
	PruneSessions(ctx context.Context, before time.Time) error
}

// Sessions makes, finds and ends sessions.
type Sessions struct {
	store    SessionStore
	clock    core.Clock
	secret   []byte
	recorder Recorder
}

// NewSessions returns a service whose hashes are keyed with secret.
func NewSessions(store SessionStore, clock core.Clock, secret []byte) *Sessions {
	return &Sessions{store: store, clock: clock, secret: secret}
}

// Begin makes a session for a user who has just signed in, and returns its secret. It is always a new one: a secret
// that a browser had before means nothing, so nobody can have put it there.
func (s *Sessions) Begin(ctx context.Context, userID, address, agent string) (Session, string, error) {
	now := s.clock.Now()
	token := newToken(SessionPrefix)
	session := Session{
		ID: core.NewID(core.PrefixCredential), UserID: userID, Address: address, Agent: tidyAgent(agent),
		CreatedAt: now, AuthenticatedAt: now, SeenAt: now, ExpiresAt: now.Add(SessionLife),
	}
	if err := s.store.InsertSession(ctx, session, hashToken(s.secret, token)); err != nil {
		return Session{}, "", err
	}
	return session, token, nil
}

// tidyAgent makes what a browser says of itself fit to be stored and shown.
func tidyAgent(agent string) string {
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

// Find returns the session with this secret. It asks the store each time, so that a session that was ended, or whose
// user was disabled or has another password, fails on the very next request on every node.
func (s *Sessions) Find(ctx context.Context, token string) (FoundSession, error) {
	ended := core.Unauthenticated("invalid_credential", "This session has ended. Sign in again.")
	if !wellFormed(SessionPrefix, token) {
		return FoundSession{}, ended
	}
	now := s.clock.Now()
	found, err := s.store.SessionByHash(ctx, hashToken(s.secret, token), core.Month(now))
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

// Authenticate returns the actor behind a session: its user, with all that they may do.
func (s *Sessions) Authenticate(ctx context.Context, token string) (core.Actor, error) {
	found, err := s.Find(ctx, token)
	if err != nil {
		return core.Actor{}, err
	}
	u := found.User
	who := core.Actor{
		UserID: u.ID, Role: u.Role, CredentialID: found.Session.ID, Credential: core.CredentialSession,
		Scopes: u.Role.Scopes(), AuthenticatedAt: found.Session.AuthenticatedAt,
	}
	found.Entitlement.Entitle(&who, u.SpendCap, found.Used, s.clock.Now())
	return who, nil
}

// StepUp notes that the user of a session has just proved who they are once more.
func (s *Sessions) StepUp(ctx context.Context, sessionID string) error {
	return s.store.StepUpSession(ctx, sessionID, s.clock.Now())
}

// List returns the sessions of a user that have not ended, newest first.
func (s *Sessions) List(ctx context.Context, userID string) ([]Session, error) {
	now := s.clock.Now()
	return s.store.Sessions(ctx, userID, now, now.Add(-SessionIdle))
}

// End ends one session of a user.
func (s *Sessions) End(ctx context.Context, userID, sessionID string) error {
	return s.store.RevokeSession(ctx, userID, sessionID, s.clock.Now())
}

// EndOthers ends all sessions of a user but one, or all if that is empty.
func (s *Sessions) EndOthers(ctx context.Context, userID, except string) error {
	return s.store.RevokeSessions(ctx, userID, except, s.clock.Now())
}

// Prune forgets sessions that can't be used any more.
func (s *Sessions) Prune(ctx context.Context) error {
	return s.store.PruneSessions(ctx, s.clock.Now())
}
