package core

import (
	"context"
	"slices"
	"time"
)

// Role is what a person is on this installation.
type Role string

// The roles. There is one owner, the first account; admins manage people and plans; members use agents.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// Administers reports whether people of this role run the installation.
func (r Role) Administers() bool { return r == RoleOwner || r == RoleAdmin }

// Scopes are all that somebody of this role can do, and so what a session of theirs has.
func (r Role) Scopes() []Scope {
	if r.Administers() {
		return []Scope{ScopeAgents, ScopeManage, ScopeAccount, ScopeAdmin}
	}
	return []Scope{ScopeAgents, ScopeManage, ScopeAccount}
}

// CredentialKind is how a caller proved who they act for.
type CredentialKind string

// The kinds of credential. Session is a browser that somebody signed in with. Operator is the person at the machine,
// using the command line.
const (
	CredentialKey      CredentialKind = "key"
	CredentialMinted   CredentialKind = "minted"
	CredentialOAuth    CredentialKind = "oauth"
	CredentialSession  CredentialKind = "session"
	CredentialOperator CredentialKind = "operator"
)

// Actor is who is asking: one user, through one credential, with that user's plan and spend. Every service takes
// one, and what it may do is decided by Allow alone.
type Actor struct {
	UserID string
	Role   Role
	// Plan is the plan that the user has now, and Lacks what it does not include.
	Plan         string
	Lacks        CapabilitySet
	Spend        Spend
	CredentialID string
	Credential   CredentialKind
	// Scopes are what the credential was made for; the plan may allow less.
	Scopes []Scope
	// Agents are the only agents the credential may touch; empty means all of the user's.
	Agents []string
	// CredentialSpend is what was used of the credential's own cap, if it has one.
	CredentialSpend Spend
	// Models are the only models that the plan pays for; empty means all.
	Models []string
	// Rate is how often all credentials of the user together may ask.
	Rate Rate
	// AuthenticatedAt is when the person of a session last proved who they are; other credentials have no such time.
	AuthenticatedAt time.Time
}

// Rate is how often somebody may ask: so many times a second, and so many at once. What is 0 is left to the server.
type Rate struct{ PerSecond, Burst int }

// SpendScope is what a cap holds for.
type SpendScope string

// The scopes of caps: a user's month, which is meant where nothing is said, a credential's month, and a turn.
const (
	SpendOfUser       SpendScope = ""
	SpendOfCredential SpendScope = "credential"
	SpendOfTurn       SpendScope = "turn"
)

// Spend is what was used of a cap. Money is in micro-dollars.
type Spend struct {
	Of       SpendScope
	Capped   bool
	Cap      int64
	Used     int64
	ResetsAt time.Time
}

// Operator is the actor of commands that the person at the machine runs, for a user where the command names one.
func Operator(userID string) Actor {
	return Actor{
		UserID: userID, Role: RoleAdmin, Plan: PlanOpen, Credential: CredentialOperator,
		Scopes: RoleAdmin.Scopes(),
	}
}

// Touches reports whether the credential may touch this agent. Whether the agent is the user's is another question,
// answered by the store.
func (a Actor) Touches(agentID string) bool {
	return len(a.Agents) == 0 || slices.Contains(a.Agents, agentID)
}

type actorKey struct{}

// WithActor returns a context that carries the actor from the edge, where the credential is checked, to a handler.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &a)
}

// ActorFrom returns the actor of the context and whether there is one.
func ActorFrom(ctx context.Context) (Actor, bool) {
	a, ok := ctx.Value(actorKey{}).(*Actor)
	if !ok {
		return Actor{}, false
	}
	return *a, true
}
