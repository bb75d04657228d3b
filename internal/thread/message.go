package thread

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
)

// defaultMessages is larger than the default of other lists, because clients usually show the whole conversation.
const defaultMessages = 100

// Conversation is a page of a thread's messages in chronological order.
type Conversation struct {
	Messages []Message
	// Turn is the active turn, or nil.
	Turn *Progress
	// Next is the cursor of older messages.
	Next string
}

// Messages returns a page of a thread. The first page holds the newest messages, so that polling it shows the reply.
func (s *Service) Messages(
	ctx context.Context, actor core.Actor, agentID, threadID string, page core.Page,
) (Conversation, error) {
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
		n, err := strconv.ParseInt(cursor, 10, 32) // PostgreSQL stores sequence numbers in 32 bits
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

// readTries limits how often a changing conversation is read again.
const readTries = 5

// read returns the active turn and the messages before a sequence number, newest first, in a consistent state: a turn
// with a reply is not active, and a question without a reply has an active turn. The turn is read first, so that a turn
// that ends in between is shown with its reply.
func (s *Service) read(
	ctx context.Context, threadID string, before, n int,
) (turn *Progress, messages []Message, err error) {
	for range readTries {
		if turn, err = s.progress(ctx, threadID); err != nil {
			return nil, nil, err
		}
		if messages, err = s.store.Messages(ctx, threadID, before, n); err != nil {
			return nil, nil, err
		}
		if turn != nil && slices.ContainsFunc(messages,
			func(m Message) bool { return m.TurnID == turn.TurnID && m.Role == RoleAssistant }) {
			turn = nil // ended meanwhile
		}
		open := before == 0 && len(messages) > 0 && messages[0].Role == RoleUser
		if !open || turn != nil && turn.TurnID == messages[0].TurnID {
			break
		}
	}
	return turn, messages, nil
}

// maxTitle is the length of a title taken from the first message, in code points, without the ellipsis.
const maxTitle = titleLimit - 1

// titleOf returns the first words of a message on one line.
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
