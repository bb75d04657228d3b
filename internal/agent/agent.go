// Package agent holds agents: what a user gives a name, instructions and sources, and then asks.
package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
)

// Agent is one agent of a user.
type Agent struct {
	ID           string
	UserID       string
	Name         string
	Description  string
	Instructions string
	// Model overrides the installation's model; empty means that one.
	Model   string
	Sources []Source
	// Grant is what the user who asked may do with it.
	Grant core.Grant
	// Owner names the account that the agent belongs to. It is set only on agents of other accounts.
	Owner     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Source is what an agent's record says of a source that it searches.
type Source struct {
	ID        string
	Name      string
	Kind      string
	Default   bool
	Documents int
	Status    string
	// Language is that of its documents (ISO 639-1), empty while it is not known.
	Language string
}

// DefaultSource returns the id of the source that is searched when none is named. An agent always has one.
func (a Agent) DefaultSource() string {
	for _, s := range a.Sources {
		if s.Default {
			return s.ID
		}
	}
	return ""
}

// Store keeps agents. All but InsertAgent find only agents of the user; others are not_found.
type Store interface {
	// InsertAgent stores an agent together with its sources; one with the same id is left as it is.
	InsertAgent(ctx context.Context, a Agent) error
	Agent(ctx context.Context, userID, agentID string) (Agent, error)
	// Agents returns up to n agents after a position; an empty only means all. The user's own agents come before shared
	// ones, so that nobody can put an agent in front of them; each part is newest first.
	Agents(ctx context.Context, userID string, only []string, after Position, n int) ([]Agent, error)
	// ChangeAgent lets change edit the stored agent and stores the outcome, in one transaction. When change fails
	// nothing is stored.
	ChangeAgent(ctx context.Context, userID, agentID string, change func(*Agent) error) (Agent, error)
	// DeleteAgent removes an agent and all that hangs on it, in one transaction.
	DeleteAgent(ctx context.Context, userID, agentID string) error
	// AgentGrant returns what a user may do with an agent. One that is not there, or not for them, is not_found.
	AgentGrant(ctx context.Context, userID, agentID string) (core.Grant, error)
	ShareStore
	InvitationStore
}

// Position is the place of an agent in a user's list. The zero Position is before the first.
type Position struct {
	Shared bool
	ID     string
}

// Shared reports whether the agent belongs to another account than the one that asked.
func (a Agent) Shared() bool { return a.Grant != core.GrantOwner }

// Service is the door to agents.
type Service struct {
	store Store
	clock core.Clock
	// models are those that an agent may name; nil means any.
	models []string
}

// NewService returns a service on this store.
func NewService(store Store, clock core.Clock) *Service {
	return &Service{store: store, clock: clock}
}

// What an agent's texts may be.
var (
	nameRule         = core.TextRule{Min: 1, Max: 100}
	descriptionRule  = core.TextRule{Max: 2000}
	instructionsRule = core.TextRule{Max: 8000}
	modelRule        = core.TextRule{Max: 200}
)

// Change is what to set of an agent; a nil field is left alone.
type Change struct {
	Name         *string
	Description  *string
	Instructions *string
	Model        *string
}

// allowed returns nil if the change names a model that the operator and the actor's plan allow, or none.
func (s *Service) allowed(actor core.Actor, c Change) error {
	if c.Model == nil {
		return nil
	}
	name := strings.TrimSpace(*c.Model)
	if name == "" || s.models == nil || slices.Contains(s.models, name) {
		return actor.AllowModel(name)
	}
	if len(s.models) == 0 {
		return core.InvalidField("/model", "There is no model to choose: this installation answers without one. Leave it empty.")
	}
	return core.InvalidField("/model", "Must be empty or one of: "+strings.Join(s.models, ", ")+".")
}

// AllowModels says which models an agent may name; the first is asked for agents that name none. Without it any name is taken, as tests and commands do.
func (s *Service) AllowModels(names []string) { s.models = append([]string{}, names...) }

// apply sets the fields that are given and returns what is wrong with them.
func (c Change) apply(a *Agent) error {
	var bad []core.FieldError
	set := func(pointer string, rule core.TextRule, from, to *string) {
		if from == nil {
			return
		}
		*to = strings.TrimSpace(*from)
		if detail := rule.Check(*to); detail != "" {
			bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	set("/name", nameRule, c.Name, &a.Name)
	set("/description", descriptionRule, c.Description, &a.Description)
	set("/instructions", instructionsRule, c.Instructions, &a.Instructions)
	set("/model", modelRule, c.Model, &a.Model)
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Create makes an agent with an empty library as its default source, so that an agent always has one.
func (s *Service) Create(ctx context.Context, actor core.Actor, c Change) (Agent, error) {
	if err := actor.Allow(core.OpCreateAgent); err != nil {
		return Agent{}, err
	}
	if err := actor.AllowWholeAccount(); err != nil {
		return Agent{}, err // it could not use the agent that it makes
	}
	if c.Name == nil {
		return Agent{}, core.InvalidField("/name", "Is required.")
	}
	now := s.clock.Now()
	a := Agent{
		ID: core.NewIDIn(ctx, core.PrefixAgent), UserID: actor.UserID, CreatedAt: now, UpdatedAt: now,
		Sources: []Source{{
			ID: core.NewIDIn(ctx, core.PrefixSource), Name: "Library", Kind: "upload", Default: true, Status: "ready",
		}},
	}
	if err := s.allowed(actor, c); err != nil {
		return Agent{}, err
	}
	if err := c.apply(&a); err != nil {
		return Agent{}, err
	}
	if err := s.store.InsertAgent(ctx, a); err != nil {
		return Agent{}, err
	}
	return s.store.Agent(ctx, actor.UserID, a.ID)
}

// Get returns one agent.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID string) (Agent, error) {
	if err := s.Allow(ctx, actor, core.OpGetAgent, agentID); err != nil {
		return Agent{}, err
	}
	return s.store.Agent(ctx, actor.UserID, agentID)
}

// The two parts of a list in its cursors.
const (
	partOwn    = "own"
	partShared = "shared"
)

// List returns a page of agents and the cursor of the next page: the user's own first, then shared ones, each newest first.
func (s *Service) List(ctx context.Context, actor core.Actor, page core.Page) ([]Agent, string, error) {
	if err := actor.Allow(core.OpListAgents); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	after, err := positionOf(page.Cursor)
	if err != nil {
		return nil, "", err
	}
	agents, err := s.store.Agents(ctx, actor.UserID, actor.Agents, after, rows+1)
	if err != nil || len(agents) <= rows {
		return agents, "", err
	}
	agents = agents[:rows]
	last, part := agents[rows-1], partOwn
	if last.Shared() {
		part = partShared
	}
	return agents, core.EncodeCursor("agents", part, last.ID), nil
}

func positionOf(cursor string) (Position, error) {
	key, err := core.DecodeCursor("agents", cursor, 2)
	switch {
	case key == nil || err != nil:
		return Position{}, err
	case key[0] != partOwn && key[0] != partShared:
		return Position{}, core.BadCursor()
	}
	return Position{Shared: key[0] == partShared, ID: key[1]}, nil
}

// Change sets fields of an agent.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID string, c Change) (Agent, error) {
	if err := s.Allow(ctx, actor, core.OpChangeAgent, agentID); err != nil {
		return Agent{}, err
	}
	if err := s.allowed(actor, c); err != nil {
		return Agent{}, err
	}
	if err := c.apply(&Agent{}); err != nil {
		return Agent{}, err // here, so that a bad request does not hold up those who write
	}
	return s.store.ChangeAgent(ctx, actor.UserID, agentID, func(a *Agent) error {
		a.UpdatedAt = s.clock.Now()
		return c.apply(a)
	})
}

// Delete removes an agent with its sources, documents, threads, memories and favourites.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID string) error {
	if err := s.Allow(ctx, actor, core.OpDeleteAgent, agentID); err != nil {
		return err
	}
	return s.store.DeleteAgent(ctx, actor.UserID, agentID)
}

// Allow decides whether the actor may carry out an operation on an agent or on anything below it: sources, files, threads,
// memories, favourites. It is the only such decision, and it knows the credential, the plan and the grant. The protocols
// ask it before they read a request's body, and every service asks it before it acts.
func (s *Service) Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	g, err := s.grant(ctx, actor, agentID)
	if err != nil {
		return err
	}
	if err := actor.AllowAgent(op, agentID, g); err != nil {
		return err
	}
	return s.allowAnswer(ctx, actor, op, agentID)
}

// grant returns the actor's grant for an agent. An agent that does not exist, or not for this actor, has none.
func (s *Service) grant(ctx context.Context, actor core.Actor, agentID string) (core.Grant, error) {
	if !core.IsID(core.PrefixAgent, agentID) || !actor.Touches(agentID) {
		return core.GrantNone, nil
	}
	if known, ok := ctx.Value(knownKey{}).(known); ok && known.userID == actor.UserID && known.agentID == agentID {
		return known.grant, nil
	}
	g, err := s.store.AgentGrant(ctx, actor.UserID, agentID)
	if core.IsKind(err, core.KindNotFound) {
		return core.GrantNone, nil
	}
	return g, err
}

// known is a grant that a caller of this package has read or decided about.
type known struct {
	userID, agentID string
	grant           core.Grant
}

type knownKey struct{}

// WithGrant returns a context in which Allow takes the user's grant for an agent as this, instead of reading it. It is for
// work that is authorized already: the rest of a request, and the export of what users wrote with an agent that is no
// longer shared with them.
func WithGrant(ctx context.Context, userID, agentID string, g core.Grant) context.Context {
	return context.WithValue(ctx, knownKey{}, known{userID, agentID, g})
}

// AllowOnce is Allow for the start of a request that is answered at once. The context that it returns carries the grant,
// so that the services need not read it again. Streams and other work that outlives a revocation must use Allow.
func (s *Service) AllowOnce(ctx context.Context, actor core.Actor, op core.Operation, agentID string) (context.Context, error) {
	g, err := s.grant(ctx, actor, agentID)
	if err != nil {
		return ctx, err
	}
	ctx = WithGrant(ctx, actor.UserID, agentID, g)
	return ctx, s.Allow(ctx, actor, op, agentID)
}

// allowAnswer refuses a message that the plan would not pay the answer of, before a turn is made of it.
func (s *Service) allowAnswer(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	if op != core.OpSendMessage && op != core.OpResearch || len(actor.Models) == 0 || len(s.models) == 0 {
		return nil
	}
	a, err := s.store.Agent(ctx, actor.UserID, agentID)
	if err != nil {
		return err
	}
	return actor.AllowModel(cmp.Or(a.Model, s.models[0]))
}
