package httpapi

import (
	"context"
	"slices"

	"carrel/internal/httpapi/oas"
	"carrel/internal/source"
)

// GetDocument answers GET …/documents/{documentId}.
func (h handlers) GetDocument(ctx context.Context, p oas.GetDocumentParams) (*oas.DocumentReply, error) {
	return documentReply(h.Sources.Document(ctx, actor(ctx), p.AgentId, p.DocumentId))
}

func documentReply(d source.Document, err error) (*oas.DocumentReply, error) {
	if err != nil {
		return nil, err
	}
	s := summaryOf(d)
	out := oas.Document{
		ID: s.ID, SourceId: s.SourceId, ExternalId: s.ExternalId, Title: s.Title, Authors: s.Authors, Year: s.Year,
		PublishedAt: s.PublishedAt, URL: s.URL, Doi: s.Doi, Venue: s.Venue, Type: s.Type, Text: d.Text,
		OpenAccessUrl: link(d.OpenAccessURL), CardId: s.CardId, Original: s.Original, Tags: s.Tags, Edited: s.Edited,
		Completed: s.Completed, Language: s.Language,
		FileId: s.FileId, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if d.CitationCount != nil {
		out.CitationCount = oas.NewOptInt(*d.CitationCount)
	}
	return &oas.DocumentReply{Document: out}, nil
}

// summaryOf returns a document without its text.
func summaryOf(d source.Document) oas.DocumentSummary {
	out := oas.DocumentSummary{
		ID: d.ID, SourceId: d.SourceID, ExternalId: d.ExternalID, Title: d.Title, Authors: emptyNotNull(d.Authors),
		Year: positive(d.Year), PublishedAt: optional(d.PublishedAt), URL: link(d.URL), Doi: optional(d.DOI),
		Venue: optional(d.Venue), Type: optional(d.Type), CardId: d.CardID(), Original: originalOf(d),
		Tags: emptyNotNull(d.Tags), Edited: []oas.DocumentField{}, FileId: optional(d.File),
		Completed: completionOf(d), Language: optional(d.Language),
		CreatedAt: timestamp(d.CreatedAt), UpdatedAt: timestamp(d.UpdatedAt),
	}
	for _, name := range d.Edits.Names() {
		out.Edited = append(out.Edited, oas.DocumentField(name))
	}
	return out
}

// completionOf returns the fields that a catalogue has filled and that no person has set since.
func completionOf(d source.Document) oas.OptCompletion {
	edited := d.Edits.Names()
	out := oas.Completion{From: d.Completed.From}
	for _, name := range d.Completed.Fields {
		if !slices.Contains(edited, name) {
			out.Fields = append(out.Fields, oas.DocumentField(name))
		}
	}
	if len(out.Fields) == 0 {
		return oas.OptCompletion{}
	}
	return oas.NewOptCompletion(out)
}

// ListDocuments answers GET …/sources/{sourceId}/documents.
func (h handlers) ListDocuments(ctx context.Context, p oas.ListDocumentsParams) (*oas.DocumentList, error) {
	list, err := h.Sources.Documents(ctx, actor(ctx), p.AgentId, p.SourceId, source.DocumentFilter{
		Query: p.Q.Value, Year: p.Year.Value, Type: p.Type.Value, FileID: p.File.Value, Language: p.Language.Value,
		Status: source.DocumentStatus(p.Status.Value),
	}, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.DocumentList{
		Documents: make([]oas.DocumentSummary, len(list.Documents)), NextCursor: optional(list.Next),
	}
	if list.Undated != nil {
		out.Undated = oas.NewOptInt64(int64(*list.Undated))
	}
	for i, d := range list.Documents {
		out.Documents[i] = summaryOf(d)
		if guess, ok := list.Guesses[d.ID]; ok {
			out.Documents[i].YearGuess = oas.NewOptYearGuess(oas.YearGuess{
				Year: guess.Year, From: oas.YearGuessFrom(guess.From),
			})
		}
	}
	return out, nil
}

// ChangeDocument answers PATCH …/documents/{documentId}.
func (h handlers) ChangeDocument(
	ctx context.Context, req *oas.DocumentChange, p oas.ChangeDocumentParams,
) (*oas.DocumentReply, error) {
	e := source.Edits{
		Title: pointer(req.Title), Venue: pointer(req.Venue), DOI: pointer(req.Doi), URL: pointer(req.URL),
		Language: pointer(req.Language),
	}
	if req.Year.Set {
		e.Year = &req.Year.Value
	}
	if req.Authors != nil {
		e.Authors = &req.Authors
	}
	if req.Tags != nil {
		e.Tags = &req.Tags
	}
	return documentReply(h.Sources.ChangeDocument(ctx, actor(ctx), p.AgentId, p.DocumentId, e))
}

// DeleteDocument answers DELETE …/documents/{documentId}.
func (h handlers) DeleteDocument(ctx context.Context, p oas.DeleteDocumentParams) (*oas.Deleted, error) {
	return deleted(h.Sources.DeleteDocument(ctx, actor(ctx), p.AgentId, p.DocumentId))
}

// DeleteDocuments answers POST …/sources/{sourceId}/documents/delete.
func (h handlers) DeleteDocuments(
	ctx context.Context, req *oas.DocumentIds, p oas.DeleteDocumentsParams,
) (*oas.DeletedItems, error) {
	return deletedItems(h.Sources.DeleteDocuments(ctx, actor(ctx), p.AgentId, p.SourceId, req.Ids))
}

// RereadDocuments answers POST …/sources/{sourceId}/documents/reread.
func (h handlers) RereadDocuments(
	ctx context.Context, req *oas.DocumentIds, p oas.RereadDocumentsParams,
) (*oas.ImportReply, error) {
	i, err := h.Importer.Reread(ctx, actor(ctx), p.AgentId, p.SourceId, req.Ids)
	if err != nil {
		return nil, err
	}
	return &oas.ImportReply{Import: importOf(i)}, nil
}

// PutDocuments answers POST …/sources/{sourceId}/documents.
func (h handlers) PutDocuments(
	ctx context.Context, req *oas.DocumentBatch, p oas.PutDocumentsParams,
) (*oas.StoredDocuments, error) {
	docs := make([]source.Document, len(req.Documents))
	for i, d := range req.Documents {
		docs[i] = source.Document{
			ExternalID: d.ExternalId, Title: d.Title.Value, Text: d.Text.Value, Authors: d.Authors, Year: d.Year.Value,
			PublishedAt: d.PublishedAt.Value, URL: d.URL.Value, DOI: d.Doi.Value, Venue: d.Venue.Value,
			Type: d.Type.Value, Tags: d.Tags, Language: d.Language.Value,
		}
	}
	stored, err := h.Sources.PutDocuments(ctx, actor(ctx), p.AgentId, p.SourceId, docs)
	if err != nil {
		return nil, err
	}
	out := &oas.StoredDocuments{Documents: make([]oas.StoredDocument, len(stored))}
	for i, d := range stored {
		out.Documents[i] = oas.StoredDocument{
			ID: d.ID, ExternalId: d.ExternalID, Outcome: oas.StoredDocumentOutcome(d.Outcome),
		}
	}
	return out, nil
}
