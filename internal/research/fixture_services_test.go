package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/thread"
)

// Messages implements research.Conversation.
func (w *fixture) Messages(_ context.Context, _ string, _, n int) ([]thread.Message, error) {
	asked := thread.Message{ID: question, Role: thread.RoleUser, Text: "the question itself"}
	all := append([]thread.Message{asked}, w.messages...)
	return all[:min(n, len(all))], nil
}

// said adds an exchange to the conversation.
func (w *fixture) said(question, answer string, titles ...string) {
	turn := fmt.Sprintf("trn_%d", len(w.messages))
	a := thread.Message{ID: "msg_a" + turn, Role: thread.RoleAssistant, Text: answer, TurnID: turn}
	for _, title := range titles {
		a.Answer.Citations = append(a.Answer.Citations, thread.Citation{Title: title})
	}
	q := thread.Message{ID: "msg_q" + turn, Role: thread.RoleUser, Text: question, TurnID: turn}
	w.messages = append([]thread.Message{a, q}, w.messages...)
}

// Recall implements research.Memories.
func (w *fixture) Recall(context.Context, string, string, string) ([]memory.Memory, error) {
	if w.recalled != nil {
		return w.recalled, nil
	}
	return w.memories, nil
}

// Propose implements research.Memories.
func (w *fixture) Propose(_ context.Context, _, _, _, _, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proposed = append(w.proposed, text)
	return nil
}

// Known implements research.Memories.
func (w *fixture) Known(context.Context, string, string) ([]memory.Memory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.memories), nil
}

// Add implements research.Memories.
func (w *fixture) Add(_ context.Context, actor core.Actor, _, text string) (memory.Memory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deny != nil {
		return memory.Memory{}, w.deny
	}
	w.changes = append(w.changes, "add memory for "+actor.UserID)
	for _, m := range w.memories {
		if core.Fold(m.Text) == core.Fold(text) {
			return m, nil
		}
	}
	m := memory.Memory{ID: core.NewID(core.PrefixMemory), Text: text, Status: memory.StatusActive}
	w.memories = append([]memory.Memory{m}, w.memories...)
	return m, nil
}

// Delete implements research.Memories.
func (w *fixture) Delete(_ context.Context, actor core.Actor, _, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deny != nil {
		return w.deny
	}
	w.changes = append(w.changes, "delete memory for "+actor.UserID)
	n := len(w.memories)
	if w.memories = slices.DeleteFunc(w.memories, func(m memory.Memory) bool { return m.ID == id }); len(w.memories) == n {
		return core.NotFound("memory")
	}
	return nil
}

// saved implements research.Favourites.
type saved struct{ w *fixture }

// List implements research.Favourites.
func (s saved) List(context.Context, core.Actor, string, string, core.Page) ([]favourite.Favourite, string, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return slices.Clone(s.w.favourites), "", nil
}

// Save implements research.Favourites.
func (s saved) Save(
	_ context.Context, actor core.Actor, _ string, card json.RawMessage, thread string,
) (favourite.Favourite, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.deny != nil {
		return favourite.Favourite{}, s.w.deny
	}
	id, err := favourite.CardID(card)
	if err != nil {
		return favourite.Favourite{}, err
	}
	s.w.changes = append(s.w.changes, "save favourite for "+actor.UserID)
	f := favourite.Favourite{CardID: id, Card: card, ThreadID: thread}
	s.w.favourites = append(slices.DeleteFunc(s.w.favourites, func(o favourite.Favourite) bool {
		return o.CardID == id
	}), f)
	return f, nil
}

// Delete implements research.Favourites.
func (s saved) Delete(_ context.Context, actor core.Actor, _, id string) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.deny != nil {
		return s.w.deny
	}
	s.w.changes = append(s.w.changes, "delete favourite for "+actor.UserID)
	n := len(s.w.favourites)
	if s.w.favourites = slices.DeleteFunc(s.w.favourites, func(o favourite.Favourite) bool {
		return o.CardID == id
	}); len(s.w.favourites) == n {
		return core.NotFound("favourite")
	}
	return nil
}

// Agent implements research.Agents.
func (w *fixture) Agent(context.Context, string, string) (agent.Agent, error) { return w.agent, nil }

// purse is the budget of the user.
type purse struct {
	mu                   sync.Mutex
	capped               bool
	cap, spent, reserved int64
	estimated            bool
	settled              int
}

// Reserve implements research.Spend.
func (p *purse) Reserve(_ context.Context, _, _, _ string, micros int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += p.reserved // a call interrupted by a crash
	p.reserved = 0
	if p.capped && p.spent+micros > p.cap {
		return core.Spend{Cap: p.cap, Used: p.spent, Capped: true}.Reached()
	}
	p.reserved = micros
	return nil
}

// Settle implements research.Spend.
func (p *purse) Settle(_ context.Context, _, _ string, micros int64, estimated bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += micros
	p.reserved = 0
	p.estimated = p.estimated || estimated
	p.settled++
	return nil
}
