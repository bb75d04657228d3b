package quote

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Talk is what was said before a question. Without a question it is the first.
type Talk struct {
	Question string
	// Titles are those of the documents that the answer cited, the best first.
	Titles []string
	// Documents are the ids of these documents. What a question that points back is about stands in them.
	Documents []string
}

// How a question is completed.
const (
	fewWords     = 3   // a question with fewer words of its own says too little by itself
	addedWeight  = 0.3 // what an added word counts against one of the question's own
	fromQuestion = 4   // added words at most
	fromTitle    = 2   // of the first title, and one of each further
	moreTitles   = 2
	// laterTitle is what a word of a further title counts against one of the first: they were the next best.
	laterTitle = 0.3
	// addedShare bounds what all added words count together against the question's own: one that needs no
	// completing ("What is BM25?") is then still answered by a passage about it alone.
	addedShare = 0.5
)

// PointsBack reports whether the question needs the talk before it to be understood.
func (q Query) PointsBack() bool { return len(q.known) > 0 }

// complete adds the most telling words of the talk to a question that cannot be understood without it: one with a
// pronoun, or hardly any words.
func (e *Extractor) complete(q *Query, before Talk, statistics Statistics) {
	if before.Question == "" {
		return
	}
	pointing := e.pointsBack(q.Question)
	if !pointing && len(q.terms) >= fewWords {
		return
	}
	asked, _ := e.termsOf(before.Question)
	added := mostTelling(fresh(asked, q.terms), statistics, fromQuestion)
	for i := range added {
		added[i].weight = 1
	}
	added = e.fromTitles(added, q.terms, before.Titles, statistics)
	q.known = before.Documents
	if len(added) == 0 {
		return
	}
	weight := addedWeight
	if !pointing {
		weight = min(weight, addedShare*float64(len(q.terms))/float64(len(added)))
	}
	if q.weighty() == 0 {
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

// fromTitles adds the most telling words of the titles that were cited, fewer and lighter ones of the later.
func (e *Extractor) fromTitles(added, own []term, titles []string, statistics Statistics) []term {
	for i, title := range titles[:min(len(titles), 1+moreTitles)] {
		n, weight := fromTitle, 1.0
		if i > 0 {
			n, weight = 1, laterTitle
		}
		terms, _ := e.termsOf(title)
		for _, t := range mostTelling(fresh(terms, slices.Concat(own, added)), statistics, n) {
			t.weight = weight
			added = append(added, t)
		}
	}
	return added
}

// pointsBack reports whether a question holds a pronoun for something that it does not name itself. A pronoun after a
// name is that name's: "When did Einstein write his letter?"
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

// fresh returns the terms that are not among the known.
func fresh(terms, known []term) []term {
	return slices.DeleteFunc(terms, func(t term) bool {
		return slices.ContainsFunc(known, func(k term) bool { return k.text == t.text })
	})
}

// mostTelling returns the n terms that tell the most, in their order. Without statistics, names tell more than other
// words and long words more than short ones.
func mostTelling(terms []term, statistics Statistics, n int) []term {
	value := func(t term) float64 {
		v := float64(utf8.RuneCountInString(t.text)) / 100
		if t.name {
			v++
		}
		if statistics != nil {
			if statistics.Holders(t.text) == 0 {
				return -1 // it would find nothing
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
