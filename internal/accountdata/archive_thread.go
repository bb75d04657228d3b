package accountdata

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/thread"
	"carrel/internal/transcript"
)

// threads writes every thread as JSON, with all versions of its messages, and as Markdown, and a bibliography of all
// cited documents.
func (a *archive) threads(ctx context.Context, dir, agentID string) error {
	cited := map[string]thread.Citation{}
	list := pages(func(p core.Page) ([]thread.Thread, string, error) {
		return a.Threads.List(ctx, a.actor, agentID, thread.Filter{}, p)
	})
	for t, err := range list {
		if err != nil {
			return err
		}
		// A thread deleted in the meantime is left out.
		if err := a.thread(ctx, dir+"threads/"+t.ID, t, cited); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
		a.wrote()
	}
	cards := make([]favourite.Card, 0, len(cited))
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		card, err := a.card(ctx, agentID, cited[id])
		if err != nil {
			return err
		}
		cards = append(cards, card)
	}
	return a.bibliography(dir+"cited", cards)
}

// thread writes one thread and adds its citations to cited, by document. Both formats are rendered before either is
// added, because a zip entry cannot be removed.
func (a *archive) thread(ctx context.Context, name string, t thread.Thread, cited map[string]thread.Citation) error {
	messages, err := a.Threads.AllMessages(ctx, a.actor, t.AgentID, t.ID)
	if err != nil {
		return err
	}
	shown := make([]object, len(messages))
	for i, m := range messages {
		shown[i] = message(m)
		for _, c := range m.Answer.Citations {
			cited[c.DocumentID] = c
		}
	}
	var page bytes.Buffer
	written, err := a.Transcripts.Thread(ctx, a.actor, t.AgentID, t.ID)
	if err != nil {
		return err
	}
	if err := written.Write(&page, transcript.Markdown); err != nil {
		return err
	}
	out := object{"id": t.ID, "title": t.Title, "messages": shown}.
		with("createdAt", t.CreatedAt).with("updatedAt", t.UpdatedAt).with("lastMessageAt", t.LastMessageAt)
	if err := a.json(name+".json", out); err != nil {
		return err
	}
	return a.text(name+".md", func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
}

// message returns a message with all its details.
func message(m thread.Message) object {
	out := object{"id": m.ID, "role": m.Role, "text": m.Text, "status": m.Status, "turnId": m.TurnID}.
		with("createdAt", m.CreatedAt)
	if m.Parent != nil {
		// An earlier version, or a message after one, which is not part of the current conversation.
		out["current"], out["previousTurnId"] = false, *m.Parent
	}
	if !m.Scope.Empty() {
		out["scope"] = m.Scope
	}
	if m.Role == thread.RoleAssistant {
		out["answer"] = m.Answer // citations, checks, memories
	}
	if m.Error != nil {
		out["error"] = m.Error
	}
	if f := m.Feedback; f != nil {
		out["feedback"] = object{"thumb": f.Thumb, "note": f.Note}.with("updatedAt", f.UpdatedAt)
	}
	return out
}

// card returns the bibliographic data of a cited document.
func (a *archive) card(ctx context.Context, agentID string, c thread.Citation) (favourite.Card, error) {
	d, err := a.Sources.Document(ctx, a.actor, agentID, c.DocumentID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return favourite.Card{}, err
	}
	card, err := c.Card(d)
	return favourite.Card{ID: c.CardID, JSON: card}, err
}
