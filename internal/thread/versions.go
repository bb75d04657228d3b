package thread

import (
	"context"
	"slices"

	"carrel/internal/core"
)

// SelectVersion makes the branch with a message the current one of its thread, and returns the message.
func (s *Service) SelectVersion(
	ctx context.Context, actor core.Actor, agentID, threadID, messageID string,
) (Message, error) {
	if err := s.checkMessage(ctx, actor, core.OpSelectMessage, agentID, threadID, messageID); err != nil {
		return Message{}, err
	}
	if err := s.store.SelectVersion(ctx, actor.UserID, agentID, threadID, messageID); err != nil {
		return Message{}, err
	}
	return s.store.Message(ctx, threadID, messageID)
}

// DeleteExchange deletes the question and the reply that a message belongs to, in this version only.
func (s *Service) DeleteExchange(ctx context.Context, actor core.Actor, agentID, threadID, messageID string) error {
	if err := s.checkMessage(ctx, actor, core.OpDeleteMessage, agentID, threadID, messageID); err != nil {
		return err
	}
	return s.store.DeleteExchange(ctx, actor.UserID, agentID, threadID, messageID)
}

// checkMessage checks access to the operation and the thread, and the form of the message id.
func (s *Service) checkMessage(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, threadID, messageID string,
) error {
	if _, err := s.getFor(ctx, actor, op, agentID, threadID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMessage, messageID) {
		return core.NotFound("message")
	}
	return nil
}

// Versions is the place of a message among the versions of its exchange.
type Versions struct {
	// Number is the number of this version, from 1 in the order of creation. Count is the number of versions, 2 or more.
	Number, Count int
	// Previous and Next are the ids of the questions of the neighbouring versions, "" at the ends.
	Previous, Next string
}

// Exchange is a question of a thread, which stands for its turn in the tree of turns.
type Exchange struct {
	TurnID     string
	QuestionID string
	// Parent is the id of the turn before this one, "" for the first. NewTree sets it for turns of the current branch.
	Parent string
	// Current is set if the turn is part of the current branch.
	Current bool
}

// Tree is the tree of a thread's turns. A turn and its versions have the same parent. One path from the root is the
// current branch, which is what readers and the agent see of the thread.
type Tree struct {
	exchanges []Exchange
	byTurn    map[string]Exchange
	children  map[string][]Exchange
}

// NewTree returns the tree of exchanges, which are in order of time. The parent of a turn of the current branch is the
// previous one.
func NewTree(exchanges []Exchange) Tree {
	t := Tree{byTurn: map[string]Exchange{}, children: map[string][]Exchange{}}
	last := ""
	for _, e := range exchanges {
		if e.Current {
			e.Parent, last = last, e.TurnID
		}
		t.exchanges = append(t.exchanges, e)
		t.byTurn[e.TurnID] = e
		t.children[e.Parent] = append(t.children[e.Parent], e)
	}
	return t
}

// Versions returns the place of a turn among its versions, or nil if it is the only one.
func (t Tree) Versions(turnID string) *Versions {
	e, found := t.byTurn[turnID]
	all := t.children[e.Parent]
	if !found || len(all) < 2 {
		return nil
	}
	i := slices.Index(all, e)
	v := &Versions{Number: i + 1, Count: len(all)}
	if i > 0 {
		v.Previous = all[i-1].QuestionID
	}
	if i+1 < len(all) {
		v.Next = all[i+1].QuestionID
	}
	return v
}

// Parent returns the id of the turn before a turn, "" for the first.
func (t Tree) Parent(turnID string) string { return t.byTurn[turnID].Parent }

// PathTo returns the turns from the root to a turn, which may be "" for none.
func (t Tree) PathTo(turnID string) []string {
	var path []string
	for e, found := t.byTurn[turnID]; found; e, found = t.byTurn[e.Parent] {
		path = append(path, e.TurnID)
	}
	slices.Reverse(path)
	return path
}

// BranchWith returns the branch that contains a turn. After the turn it follows the newest version of every exchange.
func (t Tree) BranchWith(turnID string) []string {
	branch := t.PathTo(turnID)
	for {
		next := t.children[turnID]
		if len(next) == 0 {
			return branch
		}
		turnID = next[len(next)-1].TurnID
		branch = append(branch, turnID)
	}
}

// Switch returns the turns that leave the current branch and those that join it if the branch becomes the current one.
func (t Tree) Switch(branch []string) (leave, join []Exchange) {
	wanted := make(map[string]bool, len(branch))
	for _, id := range branch {
		wanted[id] = true
	}
	for _, e := range t.exchanges {
		switch {
		case e.Current && !wanted[e.TurnID]:
			leave = append(leave, e)
		case !e.Current && wanted[e.TurnID]:
			join = append(join, e)
		}
	}
	return leave, join
}

// Without returns the tree after the deletion of a turn, whose children move to its parent, and the branch that is then
// the current one: the same as before or, if the branch ended with the turn, one with another version of it.
func (t Tree) Without(turnID string) (rest Tree, branch []string) {
	gone := t.byTurn[turnID]
	var kept []Exchange
	for _, e := range t.exchanges {
		if e.TurnID == turnID {
			continue
		}
		if !e.Current && e.Parent == turnID {
			e.Parent = gone.Parent
		}
		kept = append(kept, e)
	}
	rest = NewTree(kept)
	if t.endsWith(gone) {
		siblings := rest.children[gone.Parent]
		if len(siblings) > 0 {
			before := slices.Index(t.children[gone.Parent], gone) - 1
			return rest, rest.BranchWith(siblings[min(max(before, 0), len(siblings)-1)].TurnID)
		}
	}
	for _, e := range rest.exchanges {
		if e.Current {
			branch = append(branch, e.TurnID)
		}
	}
	return rest, branch
}

// endsWith reports whether an exchange is the last one of the current branch.
func (t Tree) endsWith(e Exchange) bool {
	return e.Current && !slices.ContainsFunc(t.children[e.TurnID], func(c Exchange) bool { return c.Current })
}
