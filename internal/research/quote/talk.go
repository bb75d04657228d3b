package quote

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Talk is the exchange before a question. It is empty for a first question.
type Talk struct {
	Question string
	// Titles are the titles of the documents that the answer cited, best first.
	Titles []string
	// Documents are their ids. A question that refers back is about them.
	Documents []string
	// Quoted are the quotes shown so far. A question for something else does not repeat them.
	Quoted []Quote
}

// How a question is completed.
const (
	fewWords     = 3   // a question with fewer words depends on the conversation
	addedWeight  = 0.3 // weight of an added word
	fromQuestion = 4   // maximum of added words
	fromTitle    = 2   // of the first title, and one of each further title
	moreTitles   = 2
	// laterTitle is the weight of words of further titles, relative to the first.
	laterTitle = 0.3
	// addedShare limits the total weight of added words relative to the question, so that a question that needs no
	// completion ("What is BM25?") is still answered by a passage about it alone.
	addedShare = 0.5
)

// PointsBack reports whether the question depends on the conversation.
func (q Query) PointsBack() bool { return len(q.known) > 0 }

// complete adds the most distinctive words of the conversation to a question that depends on it: one with a pronoun, or
// with very few words.
func (e *Extractor) complete(q *Query, before Talk, statistics Statistics) {
	if before.Question == "" {
		return
	}
	refersBack := e.pointsBack(q.Question)
	if !refersBack && len(q.terms) >= fewWords {
		return
	}
	asked, _ := e.termsOf(before.Question)
	added := mostDistinctive(fresh(asked, q.terms), statistics, fromQuestion)
	for i := range added {
		added[i].weight = 1
	}
	added = e.fromTitles(added, q.terms, before.Titles, statistics)
	q.known = before.Documents
	if len(added) == 0 {
		return
	}
	weight := addedWeight
	if !refersBack {
		weight = min(weight, addedShare*float64(len(q.terms))/float64(len(added)))
	}
	if q.subjectWords() == 0 {
		weight = 1 // "And what else?" asks for the same again
		q.bare = true
	}
	for _, t := range added {
		t.weight *= weight
		q.terms = append(q.terms, t)
		q.Added = append(q.Added, t.word)
	}
	q.terms = q.terms[:min(len(q.terms), maxTerms)]
	q.Text = strings.TrimSpace(q.Question + " " + strings.Join(q.Added, " "))
}

// fromTitles adds the most distinctive words of the cited titles, fewer and with less weight for later ones.
func (e *Extractor) fromTitles(added, own []term, titles []string, statistics Statistics) []term {
	for i, title := range titles[:min(len(titles), 1+moreTitles)] {
		n, weight := fromTitle, 1.0
		if i > 0 {
			n, weight = 1, laterTitle
		}
		terms, _ := e.termsOf(title)
		for _, t := range mostDistinctive(fresh(terms, slices.Concat(own, added)), statistics, n) {
			t.weight = weight
			added = append(added, t)
		}
	}
	return added
}

// pointsBack reports whether a question holds a pronoun for something it does not name. A pronoun after a name refers
// to that name: "When did Einstein write his letter?"
func (e *Extractor) pointsBack(question string) bool {
	words := strings.FieldsFunc(question, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	for i, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		small := strings.ToLower(word)
		switch {
		case e.words.pronouns[small]:
			return true
		case i > 0 && unicode.IsUpper(first) && small != "i":
			return false
		}
	}
	return false
}

// fresh returns the terms that are not in known.
func fresh(terms, known []term) []term {
	return slices.DeleteFunc(terms, func(t term) bool {
		return slices.ContainsFunc(known, func(k term) bool { return k.text == t.text })
	})
}

// mostDistinctive returns the n most distinctive terms, in their order. Without statistics, names rank before other
// words and long words before short ones.
func mostDistinctive(terms []term, statistics Statistics, n int) []term {
	value := func(t term) float64 {
		v := float64(utf8.RuneCountInString(t.text)) / 100
		if t.name {
			v++
		}
		if statistics != nil {
			if statistics.Holders(t.text) == 0 {
				return -1 // no passage holds it
			}
			v += idf(statistics, t.text)
		}
		return v
	}
	byValue := slices.Clone(terms)
	slices.SortStableFunc(byValue, func(a, b term) int { return cmp.Compare(value(b), value(a)) })
	byValue = byValue[:min(n, len(byValue))]
	return slices.DeleteFunc(terms, func(t term) bool {
		return value(t) < 0 || !slices.ContainsFunc(byValue, func(b term) bool { return b.text == t.text })
	})
}
