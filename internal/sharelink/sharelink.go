// Package sharelink makes threads readable for everybody who has a link. A link shows the messages that the thread had
// when the link was created; the token in its address is stored as a hash only.
package sharelink

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/thread"
	"carrel/internal/transcript"
)

// Path is the path of the pages that links show, before the token.
const Path = "/shared/"

// MaxPerThread is the maximum number of links to a thread.
const MaxPerThread = 20

// expiredLife is how long an expired link is listed.
const expiredLife = 30 * 24 * time.Hour

// Link is a link to a thread.
type Link struct {
	ID       string
	UserID   string
	AgentID  string
	ThreadID string
	// Title is the title of the thread.
	Title string
	// Messages are the ids of the messages that the link shows.
	Messages  []string
	CreatedAt time.Time
	// ExpiresAt is nil if the link does not expire.
	ExpiresAt *time.Time
}

// Expired reports whether the link has stopped working.
func (l Link) Expired(now time.Time) bool { return l.ExpiresAt != nil && !now.Before(*l.ExpiresAt) }

// Store persists links. A missing link is not_found.
type Store interface {
	// InsertLink stores a link under the hash of its token. If the user already has a link with this id, only its hash is
	// replaced. Exceeding the limit per thread is a conflict.
	InsertLink(ctx context.Context, l Link, hash []byte, limit int) error
	// ThreadLinks returns the links to a thread of a user, newest first.
	ThreadLinks(ctx context.Context, userID, threadID string) ([]Link, error)
	// Links returns up to n links of a user, newest first, starting after the link with the id before unless it is empty.
	Links(ctx context.Context, userID, before string, n int) ([]Link, error)
	// LinkByHash returns the link with a token unless its user is disabled.
	LinkByHash(ctx context.Context, hash []byte) (Link, error)
	DeleteLink(ctx context.Context, userID, linkID string) error
	// PruneLinks deletes the links that expired before the time.
	PruneLinks(ctx context.Context, before time.Time) error
	// Entitlement returns the plan and the subscription of a user.
	Entitlement(ctx context.Context, userID string) (billing.Entitlement, error)
}

// Agents checks access to agents.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Threads reads threads. The thread service implements it.
type Threads interface {
	Get(ctx context.Context, actor core.Actor, agentID, threadID string) (thread.Thread, error)
	ExportedMessages(ctx context.Context, actor core.Actor, agentID, threadID string) ([]thread.Message, error)
}

// Transcripts reads the shown messages. transcript.Reader implements it.
type Transcripts interface {
	Messages(
		ctx context.Context, actor core.Actor, agentID, threadID string, ids []string,
	) (transcript.Transcript, error)
}

// Service implements the operations on links, and reads the threads that they show.
type Service struct {
	Deps
}

// Deps are the dependencies of a Service. All but Disabled are required.
type Deps struct {
	Store       Store
	Agents      Agents
	Threads     Threads
	Transcripts Transcripts
	Clock       core.Clock
	Audit       audit.Recorder
	// HashKey is the key of the stored hashes, and Prefix the start of tokens.
	HashKey []byte
	Prefix  string
	// Disabled is set if the operator does not allow links. Existing ones do not work then.
	Disabled bool `dep:"optional"`
}

// NewService returns a service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{d}
}

// Create creates a link to the current messages of a thread. It returns the token, which is not shown again.
func (s *Service) Create(
	ctx context.Context, actor core.Actor, agentID, threadID string, expiresAt *time.Time,
) (Link, string, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpCreateThreadLink, agentID); err != nil {
		return Link{}, "", err
	}
	if s.Disabled {
		return Link{}, "", core.Forbidden("capability_disabled",
			"Links to threads are turned off on this installation. Its operator can allow them with share-links.")
	}
	now := s.Clock.Now()
	if expiresAt != nil && !now.Before(*expiresAt) {
		return Link{}, "", core.InvalidField("/expiresAt", "Must be in the future.")
	}
	t, err := s.Threads.Get(ctx, actor, agentID, threadID)
	if err != nil {
		return Link{}, "", err
	}
	messages, err := s.Threads.ExportedMessages(ctx, actor, agentID, threadID)
	if err != nil {
		return Link{}, "", err
	}
	if len(messages) == 0 {
		return Link{}, "", core.Conflict("conflict", "The thread has no messages yet. Send one first.")
	}
	l := Link{
		ID: core.NewIDIn(ctx, core.PrefixLink), UserID: actor.UserID, AgentID: agentID, ThreadID: threadID, Title: t.Title,
		CreatedAt: now, ExpiresAt: expiresAt,
	}
	for _, m := range messages {
		l.Messages = append(l.Messages, m.ID)
	}
	token := credential.NewSecret(s.Prefix)
	if err := s.Store.InsertLink(ctx, l, credential.Hash(s.HashKey, token), MaxPerThread); err != nil {
		return Link{}, "", err
	}
	s.record(ctx, actor, audit.LinkCreated, l.ID)
	return l, token, nil
}

// OfThread returns the links to a thread, newest first.
func (s *Service) OfThread(ctx context.Context, actor core.Actor, agentID, threadID string) ([]Link, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpListThreadLinks, agentID); err != nil {
		return nil, err
	}
	if _, err := s.Threads.Get(ctx, actor, agentID, threadID); err != nil {
		return nil, err
	}
	return s.Store.ThreadLinks(ctx, actor.UserID, threadID)
}

// List returns one page of the links of the actor's account, newest first, and the next cursor.
func (s *Service) List(ctx context.Context, actor core.Actor, p core.Page) ([]Link, string, error) {
	if err := actor.Allow(core.OpListLinks); err != nil {
		return nil, "", err
	}
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor("links", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	list, err := s.Store.Links(ctx, actor.UserID, before, rows+1)
	if err != nil || len(list) <= rows {
		return list, "", err
	}
	return list[:rows], core.EncodeCursor("links", list[rows-1].ID), nil
}

// Delete revokes a link. Its page stops working at once.
func (s *Service) Delete(ctx context.Context, actor core.Actor, linkID string) error {
	if err := actor.Allow(core.OpDeleteLink); err != nil {
		return err
	}
	if !core.IsID(core.PrefixLink, linkID) {
		return core.NotFound("link")
	}
	if err := s.Store.DeleteLink(ctx, actor.UserID, linkID); err != nil {
		return err
	}
	s.record(ctx, actor, audit.LinkDeleted, linkID)
	return nil
}

// Open returns the thread that a token shows. An unknown, revoked or expired token is not_found, and so is every link
// of an account that may no longer share the thread.
func (s *Service) Open(ctx context.Context, token string) (Link, transcript.Transcript, error) {
	missing := core.NotFound("link")
	if s.Disabled || !credential.IsSecret(s.Prefix, token) {
		return Link{}, transcript.Transcript{}, missing
	}
	l, err := s.Store.LinkByHash(ctx, credential.Hash(s.HashKey, token))
	if err != nil {
		return Link{}, transcript.Transcript{}, err
	}
	now := s.Clock.Now()
	if l.Expired(now) {
		return Link{}, transcript.Transcript{}, missing
	}
	has, err := s.Store.Entitlement(ctx, l.UserID)
	if err != nil {
		return Link{}, transcript.Transcript{}, err
	}
	// The account acts with a session's scopes on this agent alone.
	owner := core.Actor{
		UserID: l.UserID, Role: core.RoleMember, Credential: core.CredentialSession, Scopes: core.RoleMember.Scopes(),
		Agents: []string{l.AgentID},
	}
	has.Entitle(&owner, nil, 0, now)
	if err := s.Agents.Allow(ctx, owner, core.OpCreateThreadLink, l.AgentID); err != nil {
		if core.IsKind(err, core.KindForbidden) {
			err = missing
		}
		return Link{}, transcript.Transcript{}, err
	}
	t, err := s.Transcripts.Messages(ctx, owner, l.AgentID, l.ThreadID, l.Messages)
	return l, t, err
}

// Prune deletes links that expired a while ago.
func (s *Service) Prune(ctx context.Context) error {
	return s.Store.PruneLinks(ctx, s.Clock.Now().Add(-expiredLife))
}

func (s *Service) record(ctx context.Context, actor core.Actor, event audit.Event, linkID string) {
	s.Audit.Note(ctx, audit.Record{
		Event: event, UserID: actor.UserID, Actor: audit.ActorID(actor), Detail: map[string]string{"of": linkID},
	})
}
