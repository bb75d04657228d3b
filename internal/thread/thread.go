// Package thread implements conversations with an agent: threads, their messages, and the turns that answer them.
package thread

import (
	"cmp"
	"context"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Status is the state of a thread.
type Status string

// The states of a thread.
const (
	StatusIdle    Status = "idle"
	StatusWorking Status = "working"
)

// Thread is one conversation with an agent.
type Thread struct {
	ID            string
	AgentID       string
	Title         string
	Status        Status
	CreatedAt     time.Time
	UpdatedAt     time.Time
	LastMessageAt *time.Time
	// Pinned threads are listed first, and archived ones are put aside.
	Pinned, Archived bool
	// Tags are in alphabetical order.
	Tags []string
	// Match is the message that a search found, or nil.
	Match *Match
}

// Change holds new values for a thread; nil fields stay unchanged.
type Change struct {
	Title            *string
	Pinned, Archived *bool
	Tags             *[]string
}

// activity is the sort key of threads.
func (t Thread) activity() time.Time {
	if t.LastMessageAt != nil {
		return *t.LastMessageAt
	}
	return t.CreatedAt
}

// Role is the author of a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one final message of a thread.
type Message struct {
	ID        string
	ThreadID  string
	Seq       int
	Role      Role
	Text      string
	Status    string
	TurnID    string
	CreatedAt time.Time
	// Scope is what the turn of a question searches.
	Scope Scope
	// Error is the reason why the turn of a reply failed or was cancelled.
	Error *TurnError
	// Answer holds the details of a reply. Its text is in Text.
	Answer Answer
	// Feedback is the user's feedback on a reply, or nil.
	Feedback *Feedback
	// Versions is the place among the versions of the exchange, or nil if there is only one.
	Versions *Versions
	// Parent is the id of the turn before this one if the message is not part of the thread's current branch, "" for the
	// first turn; otherwise it is nil.
	Parent *string
}

// TurnError is the reason why a turn did not complete.
type TurnError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Store persists threads and messages, scoped to a user and an agent; anything else is not_found.
type Store interface {
	// InsertThread stores a thread and returns it. If a thread with this id exists, it returns that one unchanged.
	InsertThread(ctx context.Context, userID string, t Thread) (Thread, error)
	Thread(ctx context.Context, userID, agentID, threadID string) (Thread, error)
	// Threads returns up to n threads that a filter selects, in its order, after the key unless it is nil.
	Threads(ctx context.Context, userID, agentID string, f Filter, after *Key, n int) ([]Thread, error)
	// AllThreads is Threads for the given agents that the user can access, or all of them if there are none.
	AllThreads(ctx context.Context, userID string, agents []string, f Filter, after *Key, n int) ([]Thread, error)
	// ThreadTags returns the spellings of tags, those of the newest threads first.
	ThreadTags(ctx context.Context, userID string, agents []string) ([]core.Tag, error)
	// LatestMatches returns the latest message of each thread that contains one of the words, by thread.
	LatestMatches(ctx context.Context, threadIDs, words []string) (map[string]Message, error)
	// ChangeThread sets the fields of a change that are not nil.
	ChangeThread(ctx context.Context, userID, agentID, threadID string, c Change, at time.Time) (Thread, error)
	// DeleteThread moves a thread to the bin, or deletes it with its messages, in one transaction.
	DeleteThread(ctx context.Context, userID, agentID, threadID string, at time.Time) error
	// Message returns a message of a thread, whichever branch it is part of.
	Message(ctx context.Context, threadID, messageID string) (Message, error)
	// Messages returns up to n messages of a thread's current branch, newest first, before the given sequence number; 0
	// means all.
	Messages(ctx context.Context, threadID string, before, n int) ([]Message, error)
	// AllMessages is Messages for all branches. It does not return Versions.
	AllMessages(ctx context.Context, threadID string, before, n int) ([]Message, error)
	// SubmitTurn stores a question with the task that answers it in one transaction and returns the task. A thread
	// without a title gets this one. A turn with the same id, or an active turn with the same text and scope, is returned
	// unchanged; any other active turn is a conflict.
	SubmitTurn(ctx context.Context, userID, agentID, title string, question Message, t task.Task) (task.Task, error)
	// SubmitVersion is SubmitTurn for a question that is a new version of an exchange, that of the message with the id.
	// The thread's current branch then ends with the new question.
	SubmitVersion(
		ctx context.Context, userID, agentID, messageID string, question Message, t task.Task,
	) (task.Task, error)
	// SelectVersion makes the branch with a message the current one. It is a conflict while a turn is active.
	SelectVersion(ctx context.Context, userID, agentID, threadID, messageID string) error
	// DeleteExchange deletes the question and the reply that a message belongs to. If the current branch ends with them
	// and they have other versions, one of these becomes current. It is a conflict while their turn is active.
	DeleteExchange(ctx context.Context, userID, agentID, threadID, messageID string) error
	// FinishTurn ends a turn's task and stores its reply in one transaction, or returns task.ErrLost.
	FinishTurn(ctx context.Context, f task.Fence, o task.Outcome, reply Message) error
	// Reply returns the reply of a turn.
	Reply(ctx context.Context, threadID, turnID string) (Message, error)
	// SetFeedback stores the feedback on a reply; nil deletes it. It returns not_found if the message is not a reply,
	// or if there is no feedback to delete.
	SetFeedback(ctx context.Context, threadID, messageID string, f *Feedback) error
	Turns
	Library
}

// Turns reads the tasks of a thread.
type Turns interface {
	// ActiveTask returns the queued or running task of a thread.
	ActiveTask(ctx context.Context, threadID string) (task.Task, error)
	// ThreadPosition returns the current end of a thread's event stream, and whether its last turn is active.
	ThreadPosition(ctx context.Context, threadID string) (at task.Position, working bool, err error)
	TaskSteps(ctx context.Context, taskID string) ([]task.StepRecord, error)
	TaskEvents(ctx context.Context, taskID string, after int64, n int) ([]task.Event, error)
}

// Agents checks access to agents.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Service implements the operations on threads, messages and turns.
type Service struct {
	store    Store
	agents   Agents
	clock    core.Clock
	tasks    *task.Engine
	answerer Answerer
	deadline time.Duration
	limits   Limits
}

// Deps are the dependencies of a Service. All but Deadline are required.
type Deps struct {
	Store  Store
	Agents Agents
	Clock  core.Clock
	// Tasks runs the turns. The caller must register Service.Kind with it.
	Tasks *task.Engine
	// Answerer writes the replies.
	Answerer Answerer
	// Deadline is the time limit of a turn, after which it fails; 0 means 15 minutes. It must leave the answerer more
	// time than its own limits do.
	Deadline time.Duration `dep:"optional"`
	// Limits are the limits of concurrent turns.
	Limits Limits `dep:"optional"`
}

// Limits are the limits of concurrent turns; 0 means no limit. Further turns wait.
type Limits struct {
	// PerUser limits the running turns of a user on all nodes, PerNode those on one node.
	PerUser, PerNode int
}

// NewService returns a service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{
		store: d.Store, agents: d.Agents, clock: d.Clock, tasks: d.Tasks, answerer: d.Answerer,
		deadline: cmp.Or(d.Deadline, turnDeadline), limits: d.Limits,
	}
}

// titleLimit is the length of a title, in code points.
const titleLimit = 200

var titleRule = core.TextRule{Max: titleLimit}

func (s *Service) allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	return s.agents.Allow(ctx, actor, op, agentID)
}

// Create starts a thread. A thread without a title gets one from its first message.
func (s *Service) Create(ctx context.Context, actor core.Actor, agentID, title string) (Thread, error) {
	if err := s.allow(ctx, actor, core.OpCreateThread, agentID); err != nil {
		return Thread{}, err
	}
	title = strings.TrimSpace(title)
	if detail := titleRule.Check(title); detail != "" {
		return Thread{}, core.InvalidField("/title", detail)
	}
	now := s.clock.Now()
	t := Thread{
		ID: core.NewIDIn(ctx, core.PrefixThread), AgentID: agentID, Title: title, Status: StatusIdle,
		CreatedAt: now, UpdatedAt: now,
	}
	// A request repeated after a crash gets the thread of its first attempt.
	return s.store.InsertThread(ctx, actor.UserID, t)
}

// Get returns one thread.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, threadID string) (Thread, error) {
	return s.getFor(ctx, actor, core.OpGetThread, agentID, threadID)
}

// getFor returns a thread if the actor may perform the operation on the agent.
func (s *Service) getFor(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, threadID string,
) (Thread, error) {
	if err := s.allow(ctx, actor, op, agentID); err != nil {
		return Thread{}, err
	}
	return s.get(ctx, actor, agentID, threadID)
}

func (s *Service) get(ctx context.Context, actor core.Actor, agentID, threadID string) (Thread, error) {
	if !core.IsID(core.PrefixThread, threadID) {
		return Thread{}, core.NotFound("thread")
	}
	return s.store.Thread(ctx, actor.UserID, agentID, threadID)
}

// CheckThread returns not_found unless the thread belongs to the actor and the agent. It does not check access to an
// operation, which is up to the caller.
func (s *Service) CheckThread(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	_, err := s.get(ctx, actor, agentID, threadID)
	return err
}

// Change sets the title of a thread, whether it is pinned or archived, and its tags.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, threadID string, c Change) (Thread, error) {
	if err := s.allow(ctx, actor, core.OpRenameThread, agentID); err != nil {
		return Thread{}, err
	}
	if err := c.clean(); err != nil {
		return Thread{}, err
	}
	if !core.IsID(core.PrefixThread, threadID) {
		return Thread{}, core.NotFound("thread")
	}
	if c == (Change{}) {
		return s.store.Thread(ctx, actor.UserID, agentID, threadID)
	}
	return s.store.ChangeThread(ctx, actor.UserID, agentID, threadID, c, s.clock.Now())
}

// clean replaces the values by the form to store and returns an error for the invalid ones.
func (c *Change) clean() error {
	var bad []core.FieldError
	if c.Tags != nil {
		tags, invalid := core.CleanTags(*c.Tags)
		c.Tags, bad = &tags, invalid
	}
	if c.Title != nil {
		title := strings.TrimSpace(*c.Title)
		if detail := titleRule.Check(title); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/title", Detail: detail})
		}
		c.Title = &title
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Delete deletes a thread with its messages and stops its running turn.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	if err := s.allow(ctx, actor, core.OpDeleteThread, agentID); err != nil {
		return err
	}
	return s.delete(ctx, actor, agentID, threadID)
}

func (s *Service) delete(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	// Cancel while the run can still be reached. The fence stops a turn that starts in between.
	if _, err := s.cancel(ctx, threadID); err != nil && !core.IsKind(err, core.KindNotFound) {
		return err
	}
	return s.store.DeleteThread(ctx, actor.UserID, agentID, threadID, s.clock.Now())
}

// DeleteAll deletes several threads like Delete. After an error some of them may have been deleted.
func (s *Service) DeleteAll(
	ctx context.Context, actor core.Actor, agentID string, ids []string,
) (core.Deletion, error) {
	if err := s.allow(ctx, actor, core.OpDeleteThreads, agentID); err != nil {
		return core.Deletion{}, err
	}
	if err := core.CheckBatch(ids); err != nil {
		return core.Deletion{}, err
	}
	var deleted []string
	for _, id := range ids {
		err := s.delete(ctx, actor, agentID, id)
		switch {
		case err == nil:
			deleted = append(deleted, id)
		case !core.IsKind(err, core.KindNotFound):
			return core.Deletion{}, err
		}
	}
	return core.NewDeletion(ids, deleted), nil
}
