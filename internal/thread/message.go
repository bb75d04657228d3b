package thread

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
)

// defaultMessages is larger than other lists': a reader wants the conversation, not a page of it.
const defaultMessages = 100

// Messages returns a page of a thread in order of time, with the thread's status and the cursor of the page before.
// The first page holds the newest messages, so that a plain poll always shows the reply.
func (s *Service) Messages(ctx context.Context, actor core.Actor, agentID, threadID string, page core.Page) ([]Message, Status, string, error) {
	t, err := s.Get(ctx, actor, agentID, threadID)
	if err != nil {
		return nil, "", "", err
	}
	rows, err := page.Rows(defaultMessages)
	if err != nil {
		return nil, "", "", err
	}
	before := 0
	cursor, err := core.DecodeIDCursor("messages", page.Cursor)
	if err != nil {
		return nil, "", "", err
	}
	if cursor != "" {
		n, err := strconv.ParseInt(cursor, 10, 32) // PostgreSQL counts messages in 32 bits and fails on more
		if err != nil || n < 1 {
			return nil, "", "", core.BadCursor()
		}
		before = int(n)
	}
	messages, err := s.store.Messages(ctx, threadID, before, rows+1)
	if err != nil {
		return nil, "", "", err
	}
	next := ""
	if len(messages) > rows {
		messages = messages[:rows]
		next = core.EncodeCursor("messages", strconv.Itoa(messages[rows-1].Seq))
	}
	slices.Reverse(messages)
	return messages, t.Status, next, nil
}

// Turn is one exchange: a message and the reply to it.
type Turn struct {
	ID    string
	Reply Message
}

var messageRule = core.TextRule{Min: 1, Max: 8000}

// Send puts a message into a thread and returns the turn that answers it.
func (s *Service) Send(ctx context.Context, actor core.Actor, agentID, threadID, text string) (Turn, error) {
	if err := s.allow(ctx, actor, core.OpSendMessage, agentID); err != nil {
		return Turn{}, err
	}
	if detail := messageRule.Check(text); detail != "" {
		return Turn{}, core.InvalidField("/text", detail)
	}
	if err := s.Reach(ctx, actor, agentID, threadID); err != nil {
		return Turn{}, err
	}
	now := s.clock.Now()
	turn := core.NewIDIn(ctx, core.PrefixTurn)
	question := Message{
		ID: core.NewID(core.PrefixMessage), ThreadID: threadID, Role: RoleUser, Text: text,
		Status: "complete", TurnID: turn, CreatedAt: now,
	}
	reply := Message{
		ID: core.NewID(core.PrefixMessage), ThreadID: threadID, Role: RoleAssistant, Text: echo(text),
		Status: "complete", TurnID: turn, CreatedAt: now,
	}
	if err := s.store.AppendTurn(ctx, actor.UserID, agentID, threadID, titleOf(text), question, reply); err != nil {
		return Turn{}, err
	}
	stored, err := s.store.Reply(ctx, threadID, turn)
	return Turn{ID: turn, Reply: stored}, err
}

// echo is all that can honestly be said before agents can read.
func echo(text string) string {
	return "No source is connected to this conversation yet, so I cannot answer. You wrote: " + text
}

// maxTitle is how much of a first message becomes the thread's title, in code points.
const maxTitle = 60

// titleOf makes a title of a message: its first words on one line.
func titleOf(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	runes := []rune(words)
	if len(runes) <= maxTitle {
		return words
	}
	cut := string(runes[:maxTitle])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return cut + "…"
}
