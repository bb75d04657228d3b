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

// Conversation is a page of a thread's messages, in order of time.
type Conversation struct {
	Messages []Message
	// Turn is the one that works, or nil.
	Turn *Progress
	// Next leads to older messages.
	Next string
}

// Messages returns a page of a thread. The first page holds the newest messages, so that a plain poll always shows
// the reply.
func (s *Service) Messages(ctx context.Context, actor core.Actor, agentID, threadID string, page core.Page) (Conversation, error) {
	if _, err := s.getFor(ctx, actor, core.OpListMessages, agentID, threadID); err != nil {
		return Conversation{}, err
	}
	rows, err := page.Rows(defaultMessages)
	if err != nil {
		return Conversation{}, err
	}
	before := 0
	cursor, err := core.DecodeIDCursor("messages", page.Cursor)
	if err != nil {
		return Conversation{}, err
	}
	if cursor != "" {
		n, err := strconv.ParseInt(cursor, 10, 32) // PostgreSQL counts messages in 32 bits and fails on more
		if err != nil || n < 1 {
			return Conversation{}, core.BadCursor()
		}
		before = int(n)
	}
	turn, messages, err := s.read(ctx, threadID, before, rows+1)
	if err != nil {
		return Conversation{}, err
	}
	next := ""
	if len(messages) > rows {
		messages = messages[:rows]
		next = core.EncodeCursor("messages", strconv.Itoa(messages[rows-1].Seq))
	}
	slices.Reverse(messages)
	return Conversation{Messages: messages, Turn: turn, Next: next}, nil
}

// readTries bounds how often a conversation that changes under its reader is read again.
const readTries = 5

// read returns the turn that works and messages before a sequence number, newest first, that fit each other: a turn
// that has its reply is over, and after a question without one a turn works. The turn is read first: one that ends in
// between is then shown with its reply, never without.
func (s *Service) read(ctx context.Context, threadID string, before, n int) (turn *Progress, messages []Message, err error) {
	for range readTries {
		if turn, err = s.progress(ctx, threadID); err != nil {
			return nil, nil, err
		}
		if messages, err = s.store.Messages(ctx, threadID, before, n); err != nil {
			return nil, nil, err
		}
		if turn != nil && slices.ContainsFunc(messages, func(m Message) bool { return m.TurnID == turn.TurnID && m.Role == RoleAssistant }) {
			turn = nil // it has ended meanwhile
		}
		open := before == 0 && len(messages) > 0 && messages[0].Role == RoleUser
		if !open || turn != nil && turn.TurnID == messages[0].TurnID {
			break
		}
	}
	return turn, messages, nil
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
