package core

import (
	"context"
	"slices"
	"time"
)

// Role is a user's role on the installation.
type Role string

// The roles. The first account is the owner. Admins manage users and plans. Members use agents.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// Administers reports whether the role may administer the installation.
func (r Role) Administers() bool { return r == RoleOwner || r == RoleAdmin }

// Scopes returns all scopes of the role. Its sessions have all of them.
func (r Role) Scopes() []Scope {
	if r.Administers() {
		return []Scope{ScopeAgents, ScopeManage, ScopeAccount, ScopeAdmin}
	}
	return []Scope{ScopeAgents, ScopeManage, ScopeAccount}
}

// CredentialKind is the kind of credential that a caller authenticated with.
type CredentialKind string

// The kinds of credential. A minted key was issued for a connect code. A session belongs to a browser. Operator is the
// command line on the server.
const (
	CredentialKey      CredentialKind = "key"
	CredentialMinted   CredentialKind = "minted"
	CredentialOAuth    CredentialKind = "oauth"
	CredentialSession  CredentialKind = "session"
	CredentialOperator CredentialKind = "operator"
)

// Actor is the caller of an operation: a user, the credential they use, their plan and their spend. Every service
// method takes an Actor, and Allow decides what it may do.
type Actor struct {
	UserID string
	Role   Role
	// Plan is the user's current plan, and Lacks are the capabilities that it does not include.
	Plan         string
	Lacks        CapabilitySet
	Spend        Spend
	CredentialID string
	Credential   CredentialKind
	// Scopes are the scopes of the credential; the plan may allow less.
	Scopes []Scope
	// Agents limits the credential to these agents; empty means all of the user's.
	Agents []string
	// CredentialSpend is the spend of this credential, with the credential's own cap, if any.
	CredentialSpend Spend
	// Models are the models that the plan includes; empty means all.
	Models []string
	// Rate is the rate limit for all credentials of the user together.
	Rate Rate
	// AuthenticatedAt is the last time the user of a session proved their identity. It is zero for other credentials.
	AuthenticatedAt time.Time
}

// Rate is a rate limit. Zero fields mean the server's defaults.
type Rate struct{ PerSecond, Burst int }

// SpendScope is the scope of a spend cap.
type SpendScope string

// The scopes of spend caps: a user's month (the default), a credential's month, a turn.
const (
	SpendOfUser       SpendScope = ""
	SpendOfCredential SpendScope = "credential"
	SpendOfTurn       SpendScope = "turn"
)

// Spend is the amount used of a cap, in micro-dollars.
type Spend struct {
	Of       SpendScope
	Capped   bool
	Cap      int64
	Used     int64
	ResetsAt time.Time
}

// Operator returns the actor of the command line, acting for a user if userID is set.
func Operator(userID string) Actor {
	return Actor{
		UserID: userID, Role: RoleAdmin, Plan: PlanOpen, Credential: CredentialOperator,
		Scopes: RoleAdmin.Scopes(),
	}
}

// Touches reports whether the credential may access this agent. It does not check whether the user may.
func (a Actor) Touches(agentID string) bool {
	return len(a.Agents) == 0 || slices.Contains(a.Agents, agentID)
}

type actorKey struct{}

// actorContext carries an actor. Unlike a context of context.WithValue, it is a single allocation.
type actorContext struct {
	context.Context
	actor Actor
}

// Value implements context.Context.
func (c *actorContext) Value(key any) any {
	if _, ok := key.(actorKey); ok {
		return &c.actor
	}
	return c.Context.Value(key)
}

// WithActor returns a context that carries the actor.
func WithActor(ctx context.Context, a Actor) context.Context {
	return &actorContext{ctx, a}
}

// ActorFrom returns the actor of the context, if any.
func ActorFrom(ctx context.Context) (Actor, bool) {
	a, ok := ctx.Value(actorKey{}).(*Actor)
	if !ok {
		return Actor{}, false
	}
	return *a, true
}
