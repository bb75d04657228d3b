package research

import (
	"context"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// cite converts quotes to citations with their numbers. Each quote is compared once more with the stored
// document, and left out if the document does not hold it verbatim at its offsets.
func (t *turn) cite(ctx context.Context, quotes []numbered) ([]thread.Citation, error) {
	if err := t.keep(ctx, quotes); err != nil {
		return nil, err
	}
	documents := map[string]source.Document{} // not the cached ones, which may have changed since
	var out []thread.Citation
	for _, q := range quotes {
		d, ok := documents[q.DocumentID]
		if !ok {
			var err error
			d, err = t.Documents.DocumentOf(ctx, t.q.UserID, t.q.AgentID, q.DocumentID)
			if err != nil && !core.IsKind(err, core.KindNotFound) {
				return nil, err
			}
			documents[q.DocumentID] = d
		}
		if !isVerbatim(d.Text, q.Quote) {
			continue
		}
		out = append(out, thread.Citation{
			N: q.n, CardID: d.CardID(), DocumentID: d.ID, SourceID: d.SourceID, Title: d.Title, Authors: d.Authors,
			Year: d.Year, URL: d.URL, DOI: d.DOI, Type: d.Type, Quote: q.Text, Start: q.Start, End: q.End,
			Page: pageAt(d.Text, q.Start),
		})
	}
	return out, nil
}

// keep makes the documents of quotes permanent. It must run before they are compared, because a kept document does not
// change any more.
func (t *turn) keep(ctx context.Context, quotes []numbered) error {
	ids := make([]string, len(quotes))
	for i, q := range quotes {
		ids[i] = q.DocumentID
	}
	if len(ids) == 0 {
		return nil
	}
	return t.Documents.Keep(ctx, t.q.UserID, t.q.AgentID, ids)
}

// isVerbatim reports whether the text holds the quote at its offsets.
func isVerbatim(text string, q quote.Quote) bool {
	return q.Text != "" && q.Start >= 0 && q.End > q.Start &&
		utf8.RuneCountInString(q.Text) == q.End-q.Start && slice(text, q.Start, q.End) == q.Text
}

// slice returns a part of a text by code point offsets.
func slice(text string, start, end int) string {
	return analysis.Passage{Start: start, End: end}.Of(text)
}

// pageAt returns the page of a code point, or 0 if the text has no form feeds.
func pageAt(text string, at int) int {
	if !strings.Contains(text, "\f") {
		return 0
	}
	return 1 + strings.Count(slice(text, 0, at), "\f")
}
