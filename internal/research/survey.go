package research

import (
	"cmp"
	"slices"
	"strconv"

	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// Limits of a survey, the research turn without a model. It reads more passages and documents than an ordinary answer,
// and quotes more of them.
const (
	surveyPassages   = 60
	surveyDocuments  = 16
	surveyedQuoted   = 8 // documents that are quoted
	quotesOfSurveyed = 3 // quotes of a document
)

// quoteLimits returns how many documents are read for further passages, and how many passages are read, without a
// model.
func (t *turn) quoteLimits() (documents, passages int) {
	if t.q.Research {
		return surveyDocuments, surveyPassages
	}
	return quoteDocuments, quotePassages
}

// survey is the answer of each document to the question, judged on its own.
type survey struct {
	documents []surveyed
}

type surveyed struct {
	id       string
	outcome  quote.Outcome
	coverage float64
	quotes   []quote.Quote
}

// surveyOf replaces the quotes of an answer by those of a survey: the documents that answer the question, then the
// closest ones. The document with the best sentence comes first. Lists and comparisons are left alone.
func (t *turn) surveyOf(answer *quote.Answer, passages []quote.Passage) *survey {
	if !t.q.Research || t.ready.Model != "" || answer.Form != quote.Quotes || answer.Outcome == quote.Nothing {
		return nil
	}
	s := &survey{}
	for i, id := range documentsOf(answer.Quotes, passages) {
		d := t.surveyDocument(id, *answer, passages)
		if d.outcome = min(d.outcome, answer.Outcome); i == 0 {
			d.outcome = answer.Outcome // of the best sentence
		}
		if len(d.quotes) > 0 && d.outcome != quote.Nothing {
			s.documents = append(s.documents, d)
		}
	}
	slices.SortStableFunc(s.documents[min(1, len(s.documents)):], func(a, b surveyed) int {
		return cmp.Or(cmp.Compare(b.outcome, a.outcome), cmp.Compare(b.coverage, a.coverage))
	})
	s.documents = s.documents[:min(len(s.documents), surveyedQuoted)]
	answer.Quotes = nil
	for _, d := range s.documents {
		answer.Quotes = append(answer.Quotes, d.quotes...)
	}
	return s
}

// documentsOf returns the documents of quotes and of passages, in this order.
func documentsOf(quotes []quote.Quote, passages []quote.Passage) []string {
	var ids []string
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, q := range quotes {
		add(q.DocumentID)
	}
	for _, p := range passages {
		add(p.DocumentID)
	}
	return ids
}

// surveyDocument returns how a document answers the question on its own. Its quotes in the answer come first.
func (t *turn) surveyDocument(id string, answer quote.Answer, passages []quote.Passage) surveyed {
	d := surveyed{id: id}
	own := slices.DeleteFunc(slices.Clone(passages), func(p quote.Passage) bool { return p.DocumentID != id })
	for _, q := range answer.Quotes {
		if q.DocumentID == id {
			d.add(q)
		}
	}
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		alone := x.Answer(q, own, t.statistics())
		d.outcome, d.coverage = alone.Outcome, alone.Coverage
		for _, one := range alone.Quotes {
			d.add(one)
		}
	})
	return d
}

// add adds a quote, unless it overlaps another. Quotes are in the order of the document.
func (d *surveyed) add(q quote.Quote) {
	overlaps := func(o quote.Quote) bool { return q.Start < o.End && o.Start < q.End }
	if len(d.quotes) == quotesOfSurveyed || slices.ContainsFunc(d.quotes, overlaps) {
		return
	}
	d.quotes = append(d.quotes, q)
	slices.SortStableFunc(d.quotes, func(a, b quote.Quote) int { return cmp.Compare(a.Start, b.Start) })
}

// writeSurvey writes the quotes of a survey by document. Documents that may not answer the question are labelled so.
func (t *turn) writeSurvey(p *replyWriter, s *survey, answer quote.Answer, citations []thread.Citation) {
	labelled := quote.Nothing
	for _, d := range s.documents {
		own := slices.DeleteFunc(slices.Clone(citations), func(c thread.Citation) bool { return c.DocumentID != d.id })
		if len(own) == 0 {
			continue
		}
		if d.outcome != labelled {
			label := p.ByDocument
			if labelled = d.outcome; labelled == quote.Closest {
				label = p.Closest
			}
			p.paragraph(label)
		}
		p.document(own)
	}
	p.writeLacking(answer)
	p.writeProblems(t.found.Problems)
}

// document writes the quotes of a document with their citations, and below them the document.
func (p *replyWriter) document(citations []thread.Citation) {
	p.paragraph("")
	for i, c := range citations {
		if i > 0 {
			p.add("\n>\n")
		}
		from := p.length
		p.add("> " + oneLine(c.Quote) + " [" + strconv.Itoa(c.N) + "]")
		p.checks = append(p.checks, thread.Check{
			Start: from + 2, End: p.length, State: thread.Quoted, By: thread.ByRules, Citations: []int{c.N},
		})
	}
	last := citations[0]
	if slices.ContainsFunc(citations, func(c thread.Citation) bool { return c.Page != last.Page }) {
		last.Page = 0
	}
	p.add("\n>\n> — " + p.describe(last))
}
