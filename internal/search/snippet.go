package search

import (
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
)

// BestPassage is the passage number of a document that no engine has ranked: the Highlighter picks the passage.
const BestPassage = -1

// Snippet is the part of a document that shows why it matches.
type Snippet struct {
	Text string
	// Highlights are the matched words in Text.
	Highlights []query.Span
	// Page is the page of the first highlight, counted from 1; 0 if the document has no pages.
	Page int
	// Start and End are the passage's code point offsets in the document's text, the end exclusive.
	Start, End int
	// Heading is the nearest heading above the passage, or "".
	Heading string
}

// Highlighter cuts the snippets of one search. It is not safe for concurrent use.
type Highlighter struct{ query *query.Highlighter }

// NewHighlighter returns a highlighter for documents in the language of the query, which Result.Parsed or Parse
// returns.
func NewHighlighter(language string, parsed query.Parsed) Highlighter {
	return Highlighter{query.NewHighlighter(analysis.New(language), parsed, query.SnippetWidth)}
}

// Parse parses a query for a Highlighter of documents that no engine has searched.
func Parse(q Query) query.Parsed { return query.Parse(analysis.New(q.Language), q.Text) }

// Snippet cuts the snippet of a passage. A document may have become shorter since it was indexed; a passage
// number beyond the end then means its last passage.
func (h Highlighter) Snippet(title, text string, passage int) Snippet {
	passages := analysis.Passages(text)
	if passage != BestPassage {
		return h.cut(title, text, passages[min(passage, len(passages)-1)])
	}
	best := h.cut(title, text, passages[0])
	for _, p := range passages[1:] {
		if s := h.cut(title, text, p); len(s.Highlights) > len(best.Highlights) {
			best = s
		}
	}
	return best
}

// SnippetByMeaning is Snippet for a hit that was found by its meaning: it highlights the sentence that is nearest to
// the query by the encoder, and none if the encoder is nil.
func (h Highlighter) SnippetByMeaning(e *Encoder, queryText, title, text string, passage int) Snippet {
	passages := analysis.Passages(text)
	p := passages[max(0, min(passage, len(passages)-1))]
	shown, highlights, page := h.query.Sentence(title, text, p, func(sentences []string) int {
		return e.nearest(queryText, sentences)
	})
	return Snippet{Text: shown, Highlights: highlights, Page: page, Start: p.Start, End: p.End, Heading: p.Heading}
}

func (h Highlighter) cut(title, text string, p analysis.Passage) Snippet {
	shown, highlights, page := h.query.Snippet(title, text, p)
	return Snippet{Text: shown, Highlights: highlights, Page: page, Start: p.Start, End: p.End, Heading: p.Heading}
}
