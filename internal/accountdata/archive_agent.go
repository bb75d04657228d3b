package accountdata

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io"
	"iter"

	"carrel/internal/agent"
	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/source"
)

// agent writes an agent's data. Of an agent shared now or formerly, only the user's own data is written.
func (a *archive) agent(ctx context.Context, g agent.Agent) error {
	dir := "agents/" + g.ID + "/"
	about := object{"id": g.ID, "name": g.Name}.with("access", g.Grant.String()).with("description", g.Description)
	own := g.Grant == core.GrantOwner
	if own {
		about.with("instructions", g.Instructions).with("model", g.Model)
		about.with("policy", g.Policy).with("answerLength", g.AnswerLength).with("language", g.Language).
			with("opening", g.Opening).with("examples", g.Examples)
		about.with("createdAt", g.CreatedAt).with("updatedAt", g.UpdatedAt)
	}
	if err := a.json(dir+"agent.json", about); err != nil {
		return err
	}
	if own {
		if err := a.sources(ctx, dir, g.ID); err != nil {
			return err
		}
	}
	// The user's own data is exported even if the agent is no longer shared. Its documents stay inaccessible, because
	// the database checks the stored grant.
	ctx = agent.WithGrant(ctx, a.actor.UserID, g.ID, max(g.Grant, core.GrantViewer))
	for _, write := range []func(context.Context, string, string) error{
		a.memories, a.savedSearches, a.favourites, a.threads, a.bin,
	} {
		// An agent deleted in the meantime is left out.
		if err := write(ctx, dir, g.ID); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
	}
	return nil
}

// sources writes the configuration of the sources, without secrets, and their documents in the import format.
func (a *archive) sources(ctx context.Context, dir, agentID string) error {
	list, err := a.Sources.List(ctx, a.actor, agentID)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, s := range list {
		out[i] = object{"id": s.ID, "name": s.Name, "kind": s.Kind, "default": s.Default, "documents": s.Documents}.
			with("language", s.Language).with("createdAt", s.CreatedAt).with("updatedAt", s.UpdatedAt).
			with("syncedAt", s.SyncedAt)
		if s.Settings != "" {
			out[i]["settings"] = json.RawMessage(s.Settings)
		}
	}
	if err := a.json(dir+"sources.json", out); err != nil {
		return err
	}
	for _, s := range list {
		if s.Documents == 0 {
			continue
		}
		var originals []documentFile
		write := func(d source.Document) any {
			if d.Original.Hash != "" {
				originals = append(originals, documentFile{d.ID + "-" + d.Original.Name, d.Original})
			}
			return a.document(d)
		}
		if err := lines(a, dir+"documents/"+s.ID+".jsonl", a.Store.ScanDocuments(ctx, s.ID), write); err != nil {
			return err
		}
		for _, o := range originals {
			if err := a.original(ctx, dir+"originals/"+s.ID+"/"+o.name, o.Original); err != nil {
				return err
			}
		}
	}
	return nil
}

// documentFile is the original file of a document. The id of the document is part of the name, because files of
// different folders may have the same name.
type documentFile struct {
	name string
	source.Original
}

// original writes one file without compressing it, because most formats are compressed. A file that was deleted in the
// meantime is left out.
func (a *archive) original(ctx context.Context, name string, o source.Original) error {
	if a.Originals == nil {
		return nil
	}
	content, err := a.Originals.Open(ctx, o.Hash, o.Size)
	if core.IsKind(err, core.KindNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: a.now})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

// document returns a document in the format of the JSON lines import.
func (a *archive) document(d source.Document) any {
	a.wrote()
	out := object{"id": d.ExternalID, "title": d.Title, "authors": listed(d.Authors), "text": d.Text}.
		with("url", d.URL).with("doi", d.DOI).with("venue", d.Venue).with("type", d.Type).with("language", d.Language).
		with("publishedAt", d.PublishedAt).with("openAccessUrl", d.OpenAccessURL)
	if d.Year != 0 {
		out["year"] = d.Year
	}
	if d.CitationCount != nil {
		out["citationCount"] = *d.CitationCount
	}
	return out
}

// listed returns an empty list instead of nil, so that JSON has no null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// savedSearches writes the searches that the user has saved with an agent.
func (a *archive) savedSearches(ctx context.Context, dir, agentID string) error {
	list, err := a.Saved.List(ctx, a.actor, agentID)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, s := range list {
		out[i] = object{"id": s.ID, "name": s.Name, "search": s.Search}.with("createdAt", s.CreatedAt).
			with("updatedAt", s.UpdatedAt)
	}
	return a.json(dir+"saved-searches.json", out)
}

// bin writes the items that the user has deleted with an agent and can restore.
func (a *archive) bin(ctx context.Context, dir, agentID string) error {
	list := pages(func(p core.Page) ([]bin.Item, string, error) {
		return a.Bin.List(ctx, a.actor, agentID, "", p)
	})
	with := func(yield func(object, error) bool) {
		for item, err := range list {
			out := object{"id": item.ID, "kind": item.Kind, "itemId": item.ItemID, "title": item.Title}.
				with("deletedAt", item.DeletedAt).with("expiresAt", item.ExpiresAt)
			if err == nil {
				out["content"], err = a.Bin.Content(ctx, a.actor, agentID, item.ID)
			}
			if core.IsKind(err, core.KindNotFound) {
				continue // restored or deleted in the meantime
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
	return lines(a, dir+"bin.jsonl", iter.Seq2[object, error](with), func(item object) any {
		a.wrote()
		return item
	})
}

func (a *archive) memories(ctx context.Context, dir, agentID string) error {
	both := func(yield func(memory.Memory, error) bool) {
		for _, status := range []memory.Status{memory.StatusActive, memory.StatusProposed} {
			list := pages(func(p core.Page) ([]memory.Memory, string, error) {
				return a.Memories.List(ctx, a.actor, agentID, memory.Filter{Status: status}, p)
			})
			for m, err := range list {
				if !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
	return lines(a, dir+"memories.jsonl", iter.Seq2[memory.Memory, error](both), func(m memory.Memory) any {
		a.wrote()
		return object{"id": m.ID, "text": m.Text, "status": m.Status, "pinned": m.Pinned, "origin": m.Origin}.
			with("threadId", m.ThreadID).with("messageId", m.MessageID).with("createdAt", m.CreatedAt).
			with("updatedAt", m.UpdatedAt)
	})
}

// collections writes the collections of favourites, which refer to them by id.
func (a *archive) collections(ctx context.Context) error {
	list, err := a.Favourites.Collections(ctx, a.actor)
	if err != nil {
		return err
	}
	out := make([]object, len(list))
	for i, c := range list {
		out[i] = object{"id": c.ID, "name": c.Name}.with("createdAt", c.CreatedAt).with("updatedAt", c.UpdatedAt)
	}
	return a.json("collections.json", out)
}

func (a *archive) favourites(ctx context.Context, dir, agentID string) error {
	var saved []favourite.Favourite
	list := pages(func(p core.Page) ([]favourite.Favourite, string, error) {
		return a.Favourites.List(ctx, a.actor, agentID, "", p)
	})
	err := lines(a, dir+"favourites.jsonl", list, func(f favourite.Favourite) any {
		a.wrote()
		saved = append(saved, f)
		return object{"cardId": f.CardID, "card": f.Card, "tags": listed(f.Tags), "collections": listed(f.Collections)}.
			with("note", f.Note).with("threadId", f.ThreadID).with("createdAt", f.CreatedAt).
			with("updatedAt", f.UpdatedAt)
	})
	if err != nil {
		return err
	}
	cards, err := a.Favourites.Cards(ctx, a.actor, saved)
	if err != nil {
		return err
	}
	return a.bibliography(dir+"favourites", cards)
}

// bibliography writes references in formats of citation managers.
func (a *archive) bibliography(name string, cards []favourite.Card) error {
	if len(cards) == 0 {
		return nil
	}
	for _, f := range []struct {
		format favourite.Format
		ending string
	}{{favourite.FormatBibTeX, ".bib"}, {favourite.FormatCSLJSON, ".csl.json"}} {
		err := a.text(name+f.ending, func(w io.Writer) error { return favourite.Export(w, f.format, cards) })
		if err != nil {
			return err
		}
	}
	return nil
}
