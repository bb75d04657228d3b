package thread

import (
	"context"
	"encoding/json"
	"slices"

	"carrel/internal/core"
	"carrel/internal/source"
)

// exportPage is the number of messages read at once.
const exportPage = 200

// Card returns the bibliographic data of a cited document as JSON: from its record or, if d is empty because the
// document was deleted, from the citation.
func (c Citation) Card(d source.Document) ([]byte, error) {
	if d.ID == "" {
		d = source.Document{Title: c.Title, Authors: c.Authors, Year: c.Year, URL: c.URL, DOI: c.DOI}
	}
	return json.Marshal(map[string]any{
		"title": d.Title, "authors": d.Authors, "year": d.Year, "publishedAt": d.PublishedAt, "venue": d.Venue,
		"type": d.Type, "url": d.URL, "doi": d.DOI,
	})
}

// ExportedMessages returns the messages of a thread's current branch in chronological order.
func (s *Service) ExportedMessages(ctx context.Context, actor core.Actor, agentID, threadID string) ([]Message, error) {
	if _, err := s.getFor(ctx, actor, core.OpExportThread, agentID, threadID); err != nil {
		return nil, err
	}
	return readAll(ctx, threadID, s.store.Messages)
}

// AllMessages returns the messages of all branches of a thread in chronological order.
func (s *Service) AllMessages(ctx context.Context, actor core.Actor, agentID, threadID string) ([]Message, error) {
	if _, err := s.getFor(ctx, actor, core.OpExportThread, agentID, threadID); err != nil {
		return nil, err
	}
	return readAll(ctx, threadID, s.store.AllMessages)
}

// readAll reads all messages of a thread in chronological order, from a method of the store that returns pages.
func readAll(
	ctx context.Context, threadID string,
	read func(ctx context.Context, threadID string, before, n int) ([]Message, error),
) ([]Message, error) {
	var all []Message
	for before := 0; ; before = all[len(all)-1].Seq {
		page, err := read(ctx, threadID, before, exportPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < exportPage {
			slices.Reverse(all)
			return all, nil
		}
	}
}
