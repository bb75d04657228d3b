package research

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// The operations of the API that undo an action.
const (
	undoRemember = string(core.OpDeleteMemory)
	undoForget   = string(core.OpAddMemory)
	undoSave     = string(core.OpDeleteFavourite)
	undoUnsave   = string(core.OpSaveFavourite)
)

// actionPending is the state of an action that has its object and is not carried out yet.
const actionPending thread.ActionState = ""

// maxChoices is how many objects are listed when the words of a request fit several.
const maxChoices = 5

// operations are the operations that the sender of a message must be allowed.
var operations = map[thread.ActionKind]core.Operation{
	thread.ActionRemember: core.OpAddMemory, thread.ActionForget: core.OpDeleteMemory,
	thread.ActionSave: core.OpSaveFavourite, thread.ActionUnsave: core.OpDeleteFavourite,
}

// actor returns the user with no more rights than actions need. The operations that the sender was allowed are checked
// before; the services check the current grant.
func (t *turn) actor() core.Actor {
	return core.Actor{
		UserID: t.q.UserID, Credential: t.q.Sender.Credential, CredentialID: t.q.Sender.CredentialID,
		Scopes: []core.Scope{core.ScopeAgents}, Agents: []string{t.q.AgentID},
	}
}

// act carries out the actions that the user asks for. The objects are found in one step and each action is a step of
// its own, so that a resumed turn acts on the same objects and repeats nothing that changes the outcome.
func (t *turn) act(ctx context.Context, requests []request) ([]thread.Action, error) {
	if len(requests) == 0 && len(t.ready.Choices) == 0 {
		return nil, nil
	}
	const label = "Finding what to change"
	found, err := step(ctx, t, "actions", label, func(ctx context.Context, _ *task.Step) ([]thread.Action, error) {
		return t.resolveAll(ctx, requests)
	})
	if err != nil {
		return nil, err
	}
	var out []thread.Action
	for _, a := range found {
		if a.State != actionPending {
			out = append(out, a)
			continue
		}
		label := actionLabels[a.Kind]
		done, err := step(ctx, t, "act", label, func(ctx context.Context, _ *task.Step) (thread.Action, error) {
			return t.carryOut(ctx, a)
		})
		if err != nil {
			return out, err
		}
		out = append(out, done)
	}
	return out, nil
}

var actionLabels = map[thread.ActionKind]string{
	thread.ActionRemember: "Saving a memory", thread.ActionForget: "Deleting a memory",
	thread.ActionSave: "Saving a favourite", thread.ActionUnsave: "Removing a favourite",
}

// resolveAll finds the objects of all requests, or of the user's choice among the objects of an earlier one.
func (t *turn) resolveAll(ctx context.Context, requests []request) ([]thread.Action, error) {
	if at, ok := chosen(t.q.Text, len(t.ready.Choices)); ok && len(requests) == 0 {
		var out []thread.Action
		for _, i := range at {
			a := t.ready.Choices[i]
			a.State = actionPending
			out = append(out, t.permit(a))
		}
		return out, nil
	}
	var out []thread.Action
	for _, r := range requests {
		actions, err := t.resolve(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, a := range actions {
			a = t.permit(a)
			if !slices.ContainsFunc(out, func(o thread.Action) bool {
				return o.Kind == a.Kind && o.ID == a.ID && o.Text == a.Text
			}) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// permit refuses an action that the sender of the message may not carry out. A memory is proposed instead.
func (t *turn) permit(a thread.Action) thread.Action {
	if a.State == actionPending && a.Kind != thread.ActionRemember && !t.q.Sender.May(operations[a.Kind]) {
		return thread.Action{Kind: a.Kind, State: thread.ActionRefused}
	}
	return a
}

// resolve finds the object of a request. Several pending actions mean that all objects are meant.
func (t *turn) resolve(ctx context.Context, r request) ([]thread.Action, error) {
	switch r.Kind {
	case thread.ActionRemember:
		return t.resolveRemember(ctx, r)
	case thread.ActionForget:
		return t.resolveForget(ctx, r)
	case thread.ActionSave:
		return t.resolveSave(ctx, r)
	}
	return t.resolveUnsave(ctx, r)
}

func (t *turn) resolveRemember(ctx context.Context, r request) ([]thread.Action, error) {
	text := upperFirst(strings.TrimSpace(r.Words))
	known, err := t.Memories.Known(ctx, t.q.UserID, t.q.AgentID)
	if err != nil {
		return nil, err
	}
	for _, m := range known {
		if core.Fold(m.Text) == core.Fold(text) {
			return []thread.Action{{Kind: r.Kind, State: thread.ActionUnchanged, ID: m.ID, Text: m.Text}}, nil
		}
	}
	return []thread.Action{{Kind: r.Kind, Text: text}}, nil
}

// resolveForget finds the memories that contain most words of a request.
func (t *turn) resolveForget(ctx context.Context, r request) ([]thread.Action, error) {
	known, err := t.Memories.Known(ctx, t.q.UserID, t.q.AgentID)
	if err != nil {
		return nil, err
	}
	best := bestMatches(r.Words, known, func(m memory.Memory) string { return m.Text })
	if len(best) == 0 {
		return []thread.Action{{Kind: r.Kind, State: thread.ActionNotFound, Text: r.Words}}, nil
	}
	out := make([]thread.Action, len(best))
	for i, m := range best {
		out[i] = thread.Action{Kind: r.Kind, ID: m.ID, Text: m.Text}
	}
	return asChoices(out), nil
}

// leastMatch is the share of a request's words that the text of its object must contain.
const leastMatch = 0.5

// bestMatches returns the entries that contain the largest share of the words, if it is large enough.
func bestMatches[T any](words string, entries []T, text func(T) string) []T {
	wanted := analysis.Stems(words)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	var best []T
	most := leastMatch
	for _, e := range entries {
		has := analysis.Stems(text(e))
		n := 0
		for _, w := range wanted {
			if slices.Contains(has, w) {
				n++
			}
		}
		share := float64(n) / float64(max(1, len(wanted)))
		if share > most || len(best) == 0 && share == most {
			best, most = nil, share
		}
		if n > 0 && share == most {
			best = append(best, e)
		}
	}
	return best
}

// asChoices turns several candidates into a choice for the user.
func asChoices(actions []thread.Action) []thread.Action {
	if len(actions) < 2 {
		return actions
	}
	actions = actions[:min(len(actions), maxChoices)]
	for i := range actions {
		actions[i].State = thread.ActionChoice
	}
	return actions
}

// resolveSave finds the cited documents that a request names: by position in the last answer with citations, or by
// words of a title.
func (t *turn) resolveSave(ctx context.Context, r request) ([]thread.Action, error) {
	named, all := t.namedCitations(r.Words)
	var out []thread.Action
	for _, c := range named {
		a := thread.Action{Kind: r.Kind, ID: c.CardID, Title: c.Title}
		saved, err := t.isFavourite(ctx, c.CardID)
		if err != nil {
			return nil, err
		}
		if saved {
			a.State = thread.ActionUnchanged
		}
		out = append(out, a)
	}
	switch {
	case len(out) == 0:
		return []thread.Action{{Kind: r.Kind, State: thread.ActionNotFound, Title: r.Words}}, nil
	case all:
		return out, nil
	}
	return asChoices(out), nil
}

// namedCitations returns the citations that words name, one for each document. all is set if every one of them is
// meant.
func (t *turn) namedCitations(words string) (named []thread.Citation, all bool) {
	last := t.ready.lastCitations()
	if m := markNumber.FindStringSubmatch(words); m != nil {
		for _, c := range last {
			if strconv.Itoa(c.N) == m[1] {
				return []thread.Citation{c}, true
			}
		}
		return nil, false
	}
	documents := distinct(last)
	if n := position(words); n != 0 {
		if n == -1 {
			n = len(documents)
		}
		if n > len(documents) {
			return nil, false
		}
		return documents[n-1 : n], true
	}
	if everything.MatchString(foldSentence(words)) {
		return documents, true
	}
	if best := bestMatches(titleWords(words), t.ready.allCitations(), func(c thread.Citation) string {
		return c.Title + " " + strings.Join(c.Authors, " ")
	}); len(best) > 0 {
		return best, false
	}
	if contentWords(titleWords(words)) == 0 {
		return documents, false // "that paper"
	}
	return nil, false
}

// titleWords removes the words for a document from a request.
func titleWords(words string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(foldSentence(words)), func(w string) bool {
		switch w {
		case "paper", "papers", "document", "documents", "article", "book", "source", "text", "one", "that", "this", "it",
			"the", "by", "titled", "called", "artikel", "dokument", "buch", "aufsatz", "quelle", "das", "den", "die",
			"diesen", "dieses", "von":
			return true
		}
		return false
	}), " ")
}

// distinct returns the first citation of each document.
func distinct(citations []thread.Citation) []thread.Citation {
	var out []thread.Citation
	for _, c := range citations {
		if !slices.ContainsFunc(out, func(o thread.Citation) bool { return o.DocumentID == c.DocumentID }) {
			out = append(out, c)
		}
	}
	return out
}

func (t *turn) isFavourite(ctx context.Context, cardID string) (bool, error) {
	found, _, err := t.favourite(ctx, func(id string) bool { return id == cardID })
	return found, err
}

// favourite returns the first favourite whose id fulfils a condition.
func (t *turn) favourite(
	ctx context.Context, is func(cardID string) bool,
) (found bool, card json.RawMessage, err error) {
	if t.Favourites == nil {
		return false, nil, nil
	}
	for cursor := ""; ; {
		list := core.Page{Limit: core.MaxLimit, Cursor: cursor}
		page, next, err := t.Favourites.List(ctx, t.actor(), t.q.AgentID, "", list)
		if err != nil {
			return false, nil, err
		}
		for _, f := range page {
			if is(f.CardID) {
				return true, f.Card, nil
			}
		}
		if cursor = next; cursor == "" {
			return false, nil, nil
		}
	}
}

// resolveUnsave finds the favourites that a request names, by position in the last answer or by words of their titles.
func (t *turn) resolveUnsave(ctx context.Context, r request) ([]thread.Action, error) {
	if named, all := t.namedCitations(r.Words); all {
		var out []thread.Action
		for _, c := range named {
			found, card, err := t.favourite(ctx, func(id string) bool { return id == c.CardID })
			if err != nil {
				return nil, err
			}
			a := thread.Action{Kind: r.Kind, ID: c.CardID, Title: c.Title, Card: card}
			if !found {
				a.State = thread.ActionUnchanged
			}
			out = append(out, a)
		}
		return out, nil
	}
	if t.Favourites == nil {
		return []thread.Action{{Kind: r.Kind, State: thread.ActionNotFound, Title: r.Words}}, nil
	}
	page, _, err := t.Favourites.List(ctx, t.actor(), t.q.AgentID, "", core.Page{Limit: core.MaxLimit})
	if err != nil {
		return nil, err
	}
	var saved []thread.Action
	for _, f := range page {
		var card struct{ Title string }
		_ = json.Unmarshal(f.Card, &card) // cards of clients need not have a title
		saved = append(saved, thread.Action{Kind: r.Kind, ID: f.CardID, Title: card.Title, Card: f.Card})
	}
	best := bestMatches(titleWords(r.Words), saved, func(a thread.Action) string { return a.Title })
	if len(best) == 0 {
		return []thread.Action{{Kind: r.Kind, State: thread.ActionNotFound, Title: r.Words}}, nil
	}
	return asChoices(best), nil
}

// carryOut carries out one action. It can be repeated after a crash: memories and favourites are stored once, and an
// object that is gone has been deleted by the interrupted attempt.
func (t *turn) carryOut(ctx context.Context, a thread.Action) (thread.Action, error) {
	var err error
	switch a.Kind {
	case thread.ActionRemember:
		a, err = t.storeMemory(ctx, a)
	case thread.ActionForget:
		err = t.Memories.Delete(ctx, t.actor(), t.q.AgentID, a.ID)
		a.Undo = undoForget
	case thread.ActionSave:
		var card json.RawMessage
		if card, err = t.cardOf(ctx, a); err == nil {
			_, err = t.Favourites.Save(ctx, t.actor(), t.q.AgentID, card, t.q.ThreadID)
		}
		a.Undo = undoSave
	case thread.ActionUnsave:
		err = t.Favourites.Delete(ctx, t.actor(), t.q.AgentID, a.ID)
		a.Undo = undoUnsave
	}
	deleted := a.Kind == thread.ActionForget || a.Kind == thread.ActionUnsave
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err == nil, deleted && core.IsKind(err, core.KindNotFound):
		if a.State == actionPending {
			a.State = thread.ActionDone
		}
		return a, nil
	}
	t.Log.WarnContext(ctx, "an action failed", "turn", t.run.Task().ID, "kind", a.Kind, "error", err)
	a.State, a.Undo, a.Card = thread.ActionFailed, "", nil
	if core.IsKind(err, core.KindForbidden) || core.IsKind(err, core.KindNotFound) {
		a.State = thread.ActionRefused
	}
	return a, nil
}

// storeMemory adds a memory, or proposes it if the sender may not add memories.
func (t *turn) storeMemory(ctx context.Context, a thread.Action) (thread.Action, error) {
	if !t.q.Sender.May(core.OpAddMemory) {
		a.State = thread.ActionProposed
		return a, t.Memories.Propose(ctx, t.q.UserID, t.q.AgentID, t.q.ThreadID, t.q.MessageID, a.Text)
	}
	m, err := t.Memories.Add(ctx, t.actor(), t.q.AgentID, a.Text)
	a.ID, a.Undo = m.ID, undoRemember
	return a, err
}

// cardOf returns the card of a cited document, as the favourites store it.
func (t *turn) cardOf(ctx context.Context, a thread.Action) (json.RawMessage, error) {
	at := slices.IndexFunc(t.ready.allCitations(), func(c thread.Citation) bool { return c.CardID == a.ID })
	if at < 0 || t.Favourites == nil {
		return nil, core.NotFound("document")
	}
	c := t.ready.allCitations()[at]
	d, err := t.Documents.DocumentOf(ctx, t.q.UserID, t.q.AgentID, c.DocumentID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return nil, err
	}
	if err != nil {
		d = source.Document{}
	}
	raw, err := c.Card(d)
	if err != nil {
		return nil, err
	}
	var card map[string]any
	if err := json.Unmarshal(raw, &card); err != nil {
		return nil, err
	}
	card["cardId"], card["documentId"], card["sourceId"] = c.CardID, c.DocumentID, c.SourceID
	if link, _ := card["url"].(string); !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") {
		delete(card, "url") // favourites refuse other links
	}
	return json.Marshal(card)
}
