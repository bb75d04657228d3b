// Package agent manages agents: their names, instructions and models, and who they are shared with. It also decides
// access to an agent and everything below it.
package agent

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

// Agent is an agent as a user sees it.
type Agent struct {
	ID           string
	UserID       string
	Name         string
	Description  string
	Instructions string
	// Model overrides the installation's default model; empty means the default.
	Model string
	Settings
	Sources []Source
	// Grant is the grant of the user who requested the agent.
	Grant core.Grant
	// Owner is the name of the agent's account. It is set only if that is another account than the requesting one.
	Owner     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Settings are how an agent answers. The zero values are the defaults.
type Settings struct {
	// Policy decides what happens to sentences that the sources do not support.
	Policy Policy
	// AnswerLength is the preferred length of answers.
	AnswerLength AnswerLength
	// Language is the language of answers (ISO 639-1); empty means the language of the question.
	Language string
	// Opening is shown in an empty thread, with Examples of questions.
	Opening  string
	Examples []string
}

// Policy decides what happens to sentences that the sources do not support.
type Policy string

// The policies. Strict removes such sentences, and facts without a citation. Marked, the default, shows them with their
// state. Open neither corrects nor replaces them.
const (
	PolicyStrict Policy = "strict"
	PolicyMarked Policy = "marked"
	PolicyOpen   Policy = "open"
)

// AnswerLength is the preferred length of answers.
type AnswerLength string

// The lengths. Normal is the default.
const (
	AnswerShort  AnswerLength = "short"
	AnswerNormal AnswerLength = "normal"
	AnswerLong   AnswerLength = "long"
)

// Source is the summary of a source in the record of its agent.
type Source struct {
	ID        string
	Name      string
	Kind      string
	Default   bool
	Documents int
	Status    string
	// Language is the language of its documents (ISO 639-1), or empty if unknown.
	Language string
}

// DefaultSource returns the id of the source that is searched if a request names none. Every stored agent has a default
// source.
func (a Agent) DefaultSource() string {
	for _, s := range a.Sources {
		if s.Default {
			return s.ID
		}
	}
	return ""
}

// Store stores agents. Its methods find the user's own and shared agents; for all others they return not_found.
type Store interface {
	// InsertAgent stores an agent with its sources. It does nothing if the id exists.
	InsertAgent(ctx context.Context, a Agent) error
	Agent(ctx context.Context, userID, agentID string) (Agent, error)
	// Agents returns up to n agents after a position, limited to the ids in only unless that is empty. The user's own
	// agents come before shared ones, so that other users cannot place an agent in front of them; each part is newest
	// first.
	Agents(ctx context.Context, userID string, only []string, after Position, n int) ([]Agent, error)
	// ChangeAgent calls change with the stored agent and stores the result, in one transaction. If change returns an
	// error, nothing is stored.
	ChangeAgent(ctx context.Context, userID, agentID string, change func(*Agent) error) (Agent, error)
	// DeleteAgent deletes an agent and everything below it, in one transaction.
	DeleteAgent(ctx context.Context, userID, agentID string) error
	// AgentGrant returns the grant of a user for an agent, or not_found.
	AgentGrant(ctx context.Context, userID, agentID string) (core.Grant, error)
	ShareStore
	InvitationStore
}

// Position is a place in a user's list of agents. The zero Position is before the first agent.
type Position struct {
	Shared bool
	ID     string
}

// Shared reports whether the agent belongs to another account than the requesting one.
func (a Agent) Shared() bool { return a.Grant != core.GrantOwner }

// Service implements the operations on agents.
type Service struct {
	store  Store
	clock  core.Clock
	audit  audit.Recorder
	models []string
}

// Deps are the dependencies of a Service. Store, Clock and Audit are required.
type Deps struct {
	Store Store
	Clock core.Clock
	// Audit records who an agent is shared with.
	Audit audit.Recorder
	// Models are the models that an agent may use. The first is the default of agents that name none. Nil allows any
	// name, an empty list none.
	Models []string `dep:"optional"`
}

// NewService returns a service. It panics if a required dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{store: d.Store, clock: d.Clock, audit: d.Audit, models: d.Models}
}

// Limits of an agent's texts.
var (
	nameRule         = core.TextRule{Min: 1, Max: 100}
	descriptionRule  = core.TextRule{Max: 2000}
	instructionsRule = core.TextRule{Max: 8000}
	modelRule        = core.TextRule{Max: 200}
	openingRule      = core.TextRule{Max: 1000}
	exampleRule      = core.TextRule{Min: 1, Max: 300}
)

// maxExamples is the maximum number of example questions.
const maxExamples = 6

// Change holds new values for an agent; nil fields stay unchanged.
type Change struct {
	Name         *string
	Description  *string
	Instructions *string
	Model        *string
	Policy       *Policy
	AnswerLength *AnswerLength
	Language     *string
	Opening      *string
	// Examples replaces all example questions unless it is nil.
	Examples []string
}

// checkModel checks that the model of a change is allowed by the operator and by the actor's plan.
func (s *Service) checkModel(actor core.Actor, c Change) error {
	if c.Model == nil {
		return nil
	}
	name := strings.TrimSpace(*c.Model)
	if name == "" || s.models == nil || slices.Contains(s.models, name) {
		return actor.AllowModel(name)
	}
	if len(s.models) == 0 {
		return core.InvalidField("/model", "This installation has no models. Leave it empty.")
	}
	return core.InvalidField("/model", "Must be empty or one of: "+strings.Join(s.models, ", ")+".")
}

// Models returns the models of the installation that the plan of the actor includes.
func (s *Service) Models(actor core.Actor) []string {
	var out []string
	for _, name := range s.models {
		if actor.AllowModel(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// apply sets the given fields and returns an error for the invalid ones.
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
	set("/opening", openingRule, c.Opening, &a.Opening)
	bad = append(bad, c.applySettings(&a.Settings)...)
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// languageCode matches ISO 639 codes.
var languageCode = lazyregexp.New(`^(?:[a-z]{2,3})?$`)

// applySettings sets the given settings and returns the invalid ones.
func (c Change) applySettings(s *Settings) []core.FieldError {
	var bad []core.FieldError
	if c.Policy != nil {
		switch s.Policy = *c.Policy; s.Policy {
		case PolicyStrict, PolicyMarked, PolicyOpen:
		default:
			bad = append(bad, core.FieldError{Pointer: "/policy", Detail: "Must be strict, marked or open."})
		}
	}
	if c.AnswerLength != nil {
		switch s.AnswerLength = *c.AnswerLength; s.AnswerLength {
		case AnswerShort, AnswerNormal, AnswerLong:
		default:
			bad = append(bad, core.FieldError{Pointer: "/answerLength", Detail: "Must be short, normal or long."})
		}
	}
	if c.Language != nil {
		if s.Language = strings.TrimSpace(*c.Language); !languageCode.MatchString(s.Language) {
			bad = append(bad, core.FieldError{Pointer: "/language", Detail: "Must be a language code, such as de, or empty."})
		}
	}
	if c.Examples == nil {
		return bad
	}
	if len(c.Examples) > maxExamples {
		return append(bad, core.FieldError{Pointer: "/examples", Detail: "Must be at most 6 questions."})
	}
	s.Examples = nil
	for i, example := range c.Examples {
		example = strings.TrimSpace(example)
		if detail := exampleRule.Check(example); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/examples/" + strconv.Itoa(i), Detail: detail})
		}
		s.Examples = append(s.Examples, example)
	}
	return bad
}

// Create creates an agent with an empty library as its default source, so that every agent has a source.
func (s *Service) Create(ctx context.Context, actor core.Actor, c Change) (Agent, error) {
	if err := actor.Allow(core.OpCreateAgent); err != nil {
		return Agent{}, err
	}
	if err := actor.AllowWholeAccount(); err != nil {
		return Agent{}, err // a credential limited to agents could not use the new one
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
	if err := s.checkModel(actor, c); err != nil {
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

// The parts of a list, as cursors name them.
const (
	partOwn    = "own"
	partShared = "shared"
)

// List returns a page of agents and the cursor of the next page: the user's own agents, then shared ones, each newest
// first.
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
	if err := s.checkModel(actor, c); err != nil {
		return Agent{}, err
	}
	if err := c.apply(&Agent{}); err != nil {
		return Agent{}, err // before the transaction, so that an invalid request does not block other writers
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

// Allow decides whether the actor may carry out an operation on an agent or anything below it: sources, files, threads,
// memories, favourites. It is the only such decision, by credential, plan and grant. The protocols call it before they
// read the body of a request, and every service calls it before it acts.
func (s *Service) Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	g, err := s.grant(ctx, actor, agentID)
	if err != nil {
		return err
	}
	if err := actor.AllowAgent(op, agentID, g); err != nil {
		return err
	}
	return s.checkAnswerModel(ctx, actor, op, agentID)
}

// grant returns the actor's grant for an agent, or GrantNone if the agent does not exist or the actor has no access to
// it.
func (s *Service) grant(ctx context.Context, actor core.Actor, agentID string) (core.Grant, error) {
	if !core.IsID(core.PrefixAgent, agentID) || !actor.Touches(agentID) {
		return core.GrantNone, nil
	}
	if c, ok := ctx.Value(grantKey{}).(*contextGrant); ok && c.userID == actor.UserID && c.agentID == agentID {
		return c.grant, nil
	}
	g, err := s.store.AgentGrant(ctx, actor.UserID, agentID)
	if core.IsKind(err, core.KindNotFound) {
		return core.GrantNone, nil
	}
	return g, err
}

// contextGrant is a context that carries a grant, which was read earlier in the same request.
type contextGrant struct {
	context.Context
	userID, agentID string
	grant           core.Grant
}

type grantKey struct{}

// Value implements context.Context.
func (c *contextGrant) Value(key any) any {
	if _, ok := key.(grantKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// WithGrant returns a context in which Allow uses this grant instead of reading it from the store. It is for work that
// is authorized already: the rest of a request, and the export of a user's content with an agent that is no longer
// shared with them.
func WithGrant(ctx context.Context, userID, agentID string, g core.Grant) context.Context {
	return &contextGrant{ctx, userID, agentID, g}
}

// AllowOnce is Allow for the start of a short request. The returned context carries the grant, so that services do not
// read it again. Streams and other long work must use Allow, which notices a revocation.
func (s *Service) AllowOnce(
	ctx context.Context, actor core.Actor, op core.Operation, agentID string,
) (context.Context, error) {
	g, err := s.grant(ctx, actor, agentID)
	if err != nil {
		return ctx, err
	}
	ctx = WithGrant(ctx, actor.UserID, agentID, g)
	return ctx, s.Allow(ctx, actor, op, agentID)
}

// checkAnswerModel refuses a message to a model that the plan does not include, before a turn starts.
func (s *Service) checkAnswerModel(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	if op != core.OpSendMessage && op != core.OpResearch || len(actor.Models) == 0 || len(s.models) == 0 {
		return nil
	}
	a, err := s.store.Agent(ctx, actor.UserID, agentID)
	if err != nil {
		return err
	}
	return actor.AllowModel(cmp.Or(a.Model, s.models[0]))
}
