package source

import (
	"context"
	"slices"

	"carrel/internal/core"
)

// DocumentStatus selects documents by their state.
type DocumentStatus string

// The states that a list can be limited to.
const (
	StatusEdited DocumentStatus = "edited"  // a person has set a field
	StatusNoYear DocumentStatus = "no_year" // the year is unknown
	StatusNoText DocumentStatus = "no_text" // the document has no text
)

// DocumentFilter selects documents of a source. Empty fields select all.
type DocumentFilter struct {
	// Query is part of the title, an author, the DOI or the external id, in any case.
	Query string
	// Year is exact; 0 selects all.
	Year         int
	Type, FileID string
	// Language is the code of a language.
	Language string
	Status   DocumentStatus
}

// DocumentPage is one page of a list of documents, which have no texts.
type DocumentPage struct {
	Documents []Document
	// Guesses are the guessed years of documents without a year, by the id of the document.
	Guesses map[string]YearGuess
	// Next is the cursor of the next page, or empty.
	Next string
	// Undated is the number of documents of the source without a year, whatever the filter. It is nil on all pages but
	// the first.
	Undated *int
}

// documentsCursor is the list name in page cursors.
const documentsCursor = "documents"

var filterRule = core.TextRule{Max: 200}

func (f *DocumentFilter) check() error {
	var detail string
	if f.Query, detail = filterRule.Clean(f.Query); detail != "" {
		return core.InvalidField("q", detail)
	}
	if !slices.Contains([]DocumentStatus{"", StatusEdited, StatusNoYear, StatusNoText}, f.Status) {
		return core.InvalidField("status", "Must be edited, no_year or no_text.")
	}
	return nil
}

// Documents lists the documents of a source without their texts, newest first.
func (s *Service) Documents(
	ctx context.Context, actor core.Actor, agentID, sourceID string, f DocumentFilter, p core.Page,
) (page DocumentPage, err error) {
	if _, err := s.For(ctx, actor, core.OpListDocuments, agentID, sourceID); err != nil {
		return page, err
	}
	if err := f.check(); err != nil {
		return page, err
	}
	if detail := s.checkLanguage(f.Language); f.Language != "" && detail != "" {
		return page, core.InvalidField("language", detail)
	}
	n, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return page, err
	}
	before, err := core.DecodeIDCursor(documentsCursor, p.Cursor)
	if err != nil {
		return page, err
	}
	docs, err := s.store.ListDocuments(ctx, sourceID, f, before, n+1)
	if err != nil {
		return page, err
	}
	if len(docs) > n {
		docs = docs[:n]
		page.Next = core.EncodeCursor(documentsCursor, docs[n-1].ID)
	}
	if before == "" {
		undated, err := s.store.CountUndated(ctx, sourceID)
		if err != nil {
			return page, err
		}
		page.Undated = &undated
	}
	page.Documents, page.Guesses = docs, map[string]YearGuess{}
	thisYear := s.clock.Now().Year()
	for i := range docs {
		if guess := guessYear(docs[i], thisYear); guess.Year != 0 {
			page.Guesses[docs[i].ID] = guess
		}
		docs[i].Text = ""
	}
	return page, nil
}
