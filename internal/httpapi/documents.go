package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
)

// GetDocument answers GET …/documents/{documentId}.
func (h handlers) GetDocument(ctx context.Context, p oas.GetDocumentParams) (*oas.DocumentReply, error) {
	d, err := h.Sources.Document(ctx, actor(ctx), p.AgentId, p.DocumentId)
	if err != nil {
		return nil, err
	}
	out := oas.Document{
		ID: d.ID, SourceId: d.SourceID, ExternalId: d.ExternalID, Title: d.Title, Authors: emptyNotNull(d.Authors),
		Year: positive(d.Year), PublishedAt: optional(d.PublishedAt), URL: link(d.URL), Doi: optional(d.DOI),
		Venue: optional(d.Venue), Type: optional(d.Type), Text: d.Text, OpenAccessUrl: link(d.OpenAccessURL),
		CardId: d.CardID(),
	}
	if d.CitationCount != nil {
		out.CitationCount = oas.NewOptInt(*d.CitationCount)
	}
	return &oas.DocumentReply{Document: out}, nil
}
