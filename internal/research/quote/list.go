package quote

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/lazyregexp"
)

// asksForList reports whether a question asks for documents: "Which papers are about …?"
func (v *vocabulary) asksForList(words []string) bool {
	if prefix(words, v.listAll) > 0 {
		return true
	}
	for i, word := range words {
		if !v.works[word] || i+1 == len(words) || !v.listing[words[i+1]] {
			continue
		}
		// "papers by …", "which papers are", "are there any papers on", "which of these works mention"
		if before := words[:i]; len(before) == 0 || len(before) <= maxBeforeWorks && !slices.Contains(before, "the") {
			return true
		}
	}
	return len(words) > 0 && (words[0] == "which" || words[0] == "welche") && contains(words, v.library)
}

// maxBeforeWorks is the number of words before the noun for documents: "are there any papers".
const maxBeforeWorks = 4

// makeList turns a query into one for a list of documents: words of asking are left out, and years become limits.
func (e *Extractor) makeList(q *Query, words []string) {
	q.form, q.kind = List, anything
	q.from, q.to = yearsIn(strings.Join(words, " "))
	drop := make(map[string]bool)
	for i, word := range words {
		asking := e.words.works[word] || e.words.listing[word] || prefix(words[i:], e.words.library) > 0 ||
			slices.Contains(wordsOfListing, word) || (q.from != 0 || q.to != 0) && isYearWord(word)
		if asking {
			for token := range e.analyser.Tokens(word) {
				drop[token.Term] = true
			}
		}
	}
	for token := range e.analyser.Tokens("library collection everything list") {
		drop[token.Term] = true
	}
	places := make(map[int]int)
	var kept []term
	for i, t := range q.terms {
		if !drop[t.text] {
			places[i] = len(kept)
			kept = append(kept, t)
		}
	}
	var sequence []int
	for _, i := range q.sequence {
		if at, ok := places[i]; ok {
			sequence = append(sequence, at)
		}
	}
	q.terms, q.sequence = kept, sequence
	for _, t := range kept {
		for _, other := range e.words.synonyms[t.text] {
			q.Text += " " + e.analyser.Surface(other)
		}
	}
}

// wordsOfListing ask for a list and do not describe its subject.
var wordsOfListing = []string{"list", "show", "name", "find", "everything", "all", "any", "got"}

var (
	yearRange  = lazyregexp.New(`\b(?:between|from|zwischen|von) (\d{4}) (?:and|to|until|und|bis) (\d{4})\b`)
	yearBefore = lazyregexp.New(`\b(?:before|until|vor|bis) (\d{4})\b`)
	yearAfter  = lazyregexp.New(`\b(?:after|nach) (\d{4})\b`)
	yearSince  = lazyregexp.New(`\b(?:since|seit) (\d{4})\b`)
	yearDecade = lazyregexp.New(`\b(\d{3}0)(?:s|er)\b`)
	yearAlone  = lazyregexp.New(`\b(?:in|from|of|aus|von) (\d{4})\b`)
	yearWord   = lazyregexp.New(`^\d{4}(?:s|er)?$`)
)

func isYearWord(word string) bool {
	return yearWord.MatchString(word) || slices.Contains([]string{"before", "after", "since", "until", "between"}, word)
}

// yearsIn returns the limits of the years that a question for documents names; 0 means no limit.
func yearsIn(question string) (from, to int) {
	year := func(text string) int { n, _ := strconv.Atoi(text); return n }
	if m := yearRange.FindStringSubmatch(question); m != nil {
		return year(m[1]), year(m[2])
	}
	if m := yearDecade.FindStringSubmatch(question); m != nil {
		return year(m[1]), year(m[1]) + 9
	}
	if m := yearBefore.FindStringSubmatch(question); m != nil {
		to = year(m[1]) - 1
	}
	if m := yearAfter.FindStringSubmatch(question); m != nil {
		from = year(m[1]) + 1
	}
	if m := yearSince.FindStringSubmatch(question); m != nil {
		from = year(m[1])
	}
	if m := yearAlone.FindStringSubmatch(question); m != nil && from == 0 && to == 0 {
		from, to = year(m[1]), year(m[1])
	}
	return from, to
}

// Limits of a list of documents.
const (
	maxListed = 10
	// A document is listed if it holds this share of the subject, and of the share that the best document holds.
	listedShare      = 0.4
	listedOfBest     = 0.65
	listAnswered     = 0.5 // share that the best document must hold
	titleWeighsTwice = 2
)

// list answers with documents, the best first, each with its best sentence. Documents of certain years without another
// subject are in order of year.
func (m *material) list(ranked []int) (quotes []Quote, outcome Outcome, share float64) {
	type entry struct {
		sentence     int
		share, score float64
	}
	byDocument := make(map[string]entry)
	best := 0.0
	add := func(at int) {
		p := &m.passages[m.sentences[at].passage]
		if _, known := byDocument[p.DocumentID]; known || !m.inYears(p) {
			return
		}
		share := m.heldShare(p)
		best = max(best, share)
		byDocument[p.DocumentID] = entry{at, share, share + m.titleCoverage(p)/titleWeighsTwice}
	}
	for _, at := range ranked {
		add(at)
	}
	for i := range m.passages { // the title alone may hold the subject
		if p := &m.passages[i]; p.from < p.to {
			add(p.from)
		}
	}
	var entries []entry
	for _, one := range byDocument {
		if one.share >= listedShare && one.share >= listedOfBest*best {
			entries = append(entries, one)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			cmp.Compare(m.sentences[b.sentence].score, m.sentences[a.sentence].score), cmp.Compare(a.sentence, b.sentence))
	})
	var out []Quote
	for _, one := range entries[:min(len(entries), maxListed)] {
		out = append(out, m.quote(stretch{one.sentence, one.sentence}))
	}
	switch {
	case len(out) == 0:
		return nil, Nothing, best
	case best < listAnswered:
		return out, Closest, best
	}
	return out, Answered, best
}

func (m *material) listAll() []Quote {
	var out []Quote
	for i := range m.passages {
		p := &m.passages[i]
		known := slices.ContainsFunc(out, func(q Quote) bool { return q.DocumentID == p.DocumentID })
		if known || !m.inYears(p) || p.from == p.to {
			continue
		}
		out = append(out, m.quote(stretch{p.from, p.from}))
	}
	slices.SortStableFunc(out, func(a, b Quote) int { return cmp.Compare(a.Year, b.Year) })
	return out[:min(len(out), maxListed)]
}

func (m *material) inYears(p *reading) bool {
	return (m.query.from == 0 || p.Year >= m.query.from) && (m.query.to == 0 || p.Year != 0 && p.Year <= m.query.to)
}

// heldShare returns how much of the question a passage and its title hold, from 0 to 1.
func (m *material) heldShare(p *reading) float64 {
	var held, total float64
	for t, weight := range m.weights {
		total += weight
		in := min(1, p.holds[t])
		if p.inTitle[t] {
			in = 1
		}
		held += weight * in
	}
	if total == 0 {
		return 0
	}
	return held / total
}
