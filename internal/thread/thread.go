// Package thread implements conversations with an agent: threads, their messages, and the turns that answer them.
package thread

import (
	"cmp"
	"context"
	"strconv"
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
	// Error is the reason why the turn of a reply failed or was cancelled.
	Error *TurnError
	// Answer holds the details of a reply. Its text is in Text.
	Answer Answer
	// Feedback is the user's feedback on a reply, or nil.
	Feedback *Feedback
}

// TurnError is the reason why a turn did not complete.
type TurnError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Key is the position after which a page of threads starts.
type Key struct {
	Activity time.Time
	ID       string
}

// Store persists threads and messages, scoped to a user and an agent; anything else is not_found.
type Store interface {
	// InsertThread stores a thread. It does nothing if the thread exists.
	InsertThread(ctx context.Context, userID string, t Thread) error
	Thread(ctx context.Context, userID, agentID, threadID string) (Thread, error)
	// Threads returns up to n threads, newest activity first, after the key unless it is nil.
	Threads(ctx context.Context, userID, agentID string, after *Key, n int) ([]Thread, error)
	RenameThread(ctx context.Context, userID, agentID, threadID, title string, at time.Time) (Thread, error)
	// DeleteThread deletes a thread and its messages in one transaction.
	DeleteThread(ctx context.Context, userID, agentID, threadID string) error
	// Messages returns up to n messages of a thread, newest first, before the given sequence number; 0 means all.
	Messages(ctx context.Context, threadID string, before, n int) ([]Message, error)
	// SubmitTurn stores a question with the task that answers it in one transaction and returns the task. A thread
	// without a title gets this one. A turn with the same id, or an active turn with the same text, is returned
	// unchanged; an active turn with another text is a conflict.
	SubmitTurn(ctx context.Context, userID, agentID, title string, question Message, t task.Task) (task.Task, error)
	// FinishTurn ends a turn's task and stores its reply in one transaction, or returns task.ErrLost.
	FinishTurn(ctx context.Context, f task.Fence, o task.Outcome, reply Message) error
	// Reply returns the reply of a turn.
	Reply(ctx context.Context, threadID, turnID string) (Message, error)
	// SetFeedback stores the feedback on a reply; nil deletes it. It returns not_found if the message is not a reply,
	// or if there is no feedback to delete.
	SetFeedback(ctx context.Context, threadID, messageID string, f *Feedback) error
	Turns
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

var titleRule = core.TextRule{Max: 200}

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
	if err := s.store.InsertThread(ctx, actor.UserID, t); err != nil {
		return Thread{}, err
	}
	// Read back, because a request repeated after a crash finds the thread of its first attempt.
	return s.store.Thread(ctx, actor.UserID, agentID, t.ID)
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

// List returns a page of threads, newest activity first, and the cursor of the next page.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID string, page core.Page,
) ([]Thread, string, error) {
	if err := s.allow(ctx, actor, core.OpListThreads, agentID); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	after, err := decodeKey(page.Cursor)
	if err != nil {
		return nil, "", err
	}
	threads, err := s.store.Threads(ctx, actor.UserID, agentID, after, rows+1)
	if err != nil || len(threads) <= rows {
		return threads, "", err
	}
	last := threads[rows-1]
	return threads[:rows], core.EncodeCursor("threads", strconv.FormatInt(last.activity().UnixMilli(), 10),
		last.ID), nil
}

func decodeKey(cursor string) (*Key, error) {
	key, err := core.DecodeCursor("threads", cursor, 2)
	if key == nil || err != nil {
		return nil, err
	}
	at, err := core.CursorTime(key[0])
	if err != nil {
		return nil, err
	}
	return &Key{Activity: at, ID: key[1]}, nil
}

// Rename sets a thread's title.
func (s *Service) Rename(ctx context.Context, actor core.Actor, agentID, threadID, title string) (Thread, error) {
	if err := s.allow(ctx, actor, core.OpRenameThread, agentID); err != nil {
		return Thread{}, err
	}
	title = strings.TrimSpace(title)
	if detail := titleRule.Check(title); detail != "" {
		return Thread{}, core.InvalidField("/title", detail)
	}
	if !core.IsID(core.PrefixThread, threadID) {
		return Thread{}, core.NotFound("thread")
	}
	return s.store.RenameThread(ctx, actor.UserID, agentID, threadID, title, s.clock.Now())
}

// Delete deletes a thread with its messages and stops its running turn.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	if err := s.allow(ctx, actor, core.OpDeleteThread, agentID); err != nil {
		return err
	}
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	// Cancel while the run can still be reached. The fence stops a turn that starts in between.
	if _, err := s.cancel(ctx, threadID); err != nil && !core.IsKind(err, core.KindNotFound) {
		return err
	}
	return s.store.DeleteThread(ctx, actor.UserID, agentID, threadID)
}
