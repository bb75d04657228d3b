// Package thread holds conversations with an agent: threads, their messages, and the turns that answer them.
package thread

import (
	"context"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Status says whether a turn is running.
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

// activity is what threads are ordered by.
func (t Thread) activity() time.Time {
	if t.LastMessageAt != nil {
		return *t.LastMessageAt
	}
	return t.CreatedAt
}

// Role is who wrote a message.
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
	// Error says why the turn of a reply failed or was cancelled.
	Error *TurnError
	// Answer is what belongs to a reply besides its text, which is Text.
	Answer Answer
	// Feedback is what the reader thinks of a reply, or nil.
	Feedback *Feedback
}

// TurnError is why a turn did not complete.
type TurnError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Key is where a page of threads goes on.
type Key struct {
	Activity time.Time
	ID       string
}

// Store keeps threads and messages. Everything is scoped to a user and an agent; what lies outside is not_found.
type Store interface {
	// InsertThread stores a thread; one with the same id is left as it is.
	InsertThread(ctx context.Context, userID string, t Thread) error
	Thread(ctx context.Context, userID, agentID, threadID string) (Thread, error)
	// Threads returns up to n threads, newest activity first, after the key unless it is nil.
	Threads(ctx context.Context, userID, agentID string, after *Key, n int) ([]Thread, error)
	RenameThread(ctx context.Context, userID, agentID, threadID, title string, at time.Time) (Thread, error)
	// DeleteThread removes a thread and its messages, in one transaction.
	DeleteThread(ctx context.Context, userID, agentID, threadID string) error
	// Messages returns up to n messages of a thread, newest first: those before the sequence number, unless it is 0.
	Messages(ctx context.Context, threadID string, before, n int) ([]Message, error)
	// SubmitTurn stores a question with the task that answers it, in one transaction, and returns the task. A thread
	// without a title takes this one. A turn that is stored already, and one that works on a question of the same text,
	// is returned as it is; while one works on another question it is a conflict.
	SubmitTurn(ctx context.Context, userID, agentID, title string, question Message, t task.Task) (task.Task, error)
	// FinishTurn ends a turn's task and stores its reply, in one transaction. Without the fence it is task.ErrLost.
	FinishTurn(ctx context.Context, f task.Fence, o task.Outcome, reply Message) error
	// Reply returns the reply of a turn.
	Reply(ctx context.Context, threadID, turnID string) (Message, error)
	// SetFeedback keeps what the reader thinks of a reply, or forgets it with nil. What is no reply is not_found, and
	// so is a reply without feedback that is to be forgotten.
	SetFeedback(ctx context.Context, threadID, messageID string, f *Feedback) error
	Turns
}

// Turns is what is read of the tasks behind a thread.
type Turns interface {
	// ActiveTask returns the task of a thread that is queued or running.
	ActiveTask(ctx context.Context, threadID string) (task.Task, error)
	// ThreadPosition returns where the events of a thread end now, and whether its last turn still works.
	ThreadPosition(ctx context.Context, threadID string) (at task.Position, working bool, err error)
	TaskSteps(ctx context.Context, taskID string) ([]task.StepRecord, error)
	TaskEvents(ctx context.Context, taskID string, after int64, n int) ([]task.Event, error)
}

// Agents decides whether an actor may do something with an agent.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Service is the door to conversations.
type Service struct {
	store  Store
	agents Agents
	clock  core.Clock
	// tasks runs turns, and answerer writes their replies.
	tasks    *task.Engine
	answerer Answerer
}

// NewService returns a service on this store. Its kind of task must be registered with the engine.
func NewService(store Store, agents Agents, clock core.Clock, tasks *task.Engine, answerer Answerer) *Service {
	return &Service{store: store, agents: agents, clock: clock, tasks: tasks, answerer: answerer}
}

var titleRule = core.TextRule{Max: 200}

func (s *Service) allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	return s.agents.Allow(ctx, actor, op, agentID)
}

// Create starts a thread. Without a title it gets one from its first message.
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
	// Read back: a request that is sent again after a crash finds the thread of its first attempt.
	return s.store.Thread(ctx, actor.UserID, agentID, t.ID)
}

// Get returns one thread.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, threadID string) (Thread, error) {
	return s.getFor(ctx, actor, core.OpGetThread, agentID, threadID)
}

// getFor returns a thread for an operation, after it has asked whether the actor may carry that out on the agent.
func (s *Service) getFor(ctx context.Context, actor core.Actor, op core.Operation, agentID, threadID string) (Thread, error) {
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

// Reach returns nil when the thread is the actor's and of this agent, else not_found. It decides nothing else: the
// caller has asked for access to what it does.
func (s *Service) Reach(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	_, err := s.get(ctx, actor, agentID, threadID)
	return err
}

// List returns a page of threads, newest activity first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string, page core.Page) ([]Thread, string, error) {
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
	return threads[:rows], core.EncodeCursor("threads", strconv.FormatInt(last.activity().UnixMilli(), 10), last.ID), nil
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

// Delete removes a thread with its messages. A turn that runs in it is stopped.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, threadID string) error {
	if err := s.allow(ctx, actor, core.OpDeleteThread, agentID); err != nil {
		return err
	}
	if err := s.Reach(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	// Asked to stop while it can still be told. One that begins in between finds its fence gone.
	if _, err := s.cancel(ctx, threadID); err != nil && !core.IsKind(err, core.KindNotFound) {
		return err
	}
	return s.store.DeleteThread(ctx, actor.UserID, agentID, threadID)
}
