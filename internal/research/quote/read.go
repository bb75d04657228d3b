package quote

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// material is the analysed passages for a query.
type material struct {
	query     Query
	weights   []float64 // rarity of the query's terms in all searched passages
	held      []bool    // whether any searched passage holds the term
	passages  []reading
	sentences []candidate // in order
	// logits are the ranker's scores of the sentences that it was given, by sentence; nil if it was not asked.
	logits map[int]float64
}

// reading is an analysed passage.
type reading struct {
	*Passage
	text    []rune
	tokens  []analysis.Token
	holds   []float64 // occurrences of each term, or related if there is only a related word
	inTitle []bool    // whether the title holds each term
	title   []analysis.Token
	content uint64 // bits of the terms of the question, without weak ones, that the passage or title holds
	length  int    // words that are not stop words
	score   float64
	from    int // range of its sentences
	to      int
}

// candidate is a sentence that may be quoted.
type candidate struct {
	Sentence
	passage    int
	tokens     []analysis.Token
	holds      []float64 // as in reading
	verbatim   []bool    // whether the sentence holds each term in the form of the question
	length     int
	rightKind  bool // holds the kind of thing that is asked for
	kindNear   bool // holds it near a word of the question
	refersBack bool // begins with a word that refers back
	explains   bool // begins with a word that introduces a reason
	own        float64
	titled     float64 // part of own for words of the title
	score      float64
}

// related is the weight of a word that begins like a word of the question but has another stem: invasion for "invade".
// (Without: -.010.)
const related = 0.7

// read analyses the passages.
func (e *Extractor) read(q Query, passages []Passage, statistics Statistics) *material {
	m := &material{query: q, weights: make([]float64, len(q.terms)), held: make([]bool, len(q.terms))}
	if len(q.terms) == 0 && q.form != List {
		return m
	}
	for i, t := range q.terms {
		m.held[i] = statistics.Holders(t.text) > 0
		m.weights[i] = t.weight * idf(statistics, t.text)
		if !m.held[i] && !t.name {
			// The sources probably use another word. A name has no other word. (Full weight: AUC -.011.)
			m.weights[i] *= 0.5
		}
	}
	matcher := e.newMatcher(m)
	m.passages = make([]reading, len(passages))
	for i := range passages {
		e.readPassage(m, matcher, i, &passages[i])
	}
	if !e.capitalizesNouns {
		m.findNames(matcher)
	}
	return m
}

// findNames marks the terms that the passages write with a capital only. Questions are often typed without capitals.
func (m *material) findNames(matcher *matcher) {
	m.query.terms = slices.Clone(m.query.terms)
	for i := range m.query.terms {
		if t := &m.query.terms[i]; !t.weak && matcher.seen[i] > 0 && matcher.capitals[i] == matcher.seen[i] {
			t.name = true
		}
	}
}

func (e *Extractor) readPassage(m *material, matcher *matcher, number int, p *Passage) {
	r := &m.passages[number]
	terms := len(m.query.terms)
	*r = reading{Passage: p, text: []rune(p.Text), holds: make([]float64, terms), inTitle: make([]bool, terms)}
	for token := range e.analyser.Tokens(p.Title) {
		r.title = append(r.title, token)
		if i, exact := matcher.match(token); exact {
			r.inTitle[i] = true
		}
	}
	for i, letters := range matcher.acronyms {
		for at := range r.title {
			r.inTitle[i] = r.inTitle[i] || isLongForm(letters, []rune(p.Title), r.title[at:])
		}
	}
	const usualWord = 5
	r.tokens = make([]analysis.Token, 0, len(r.text)/usualWord)
	for token := range e.analyser.Tokens(p.Text) {
		r.tokens = append(r.tokens, token)
	}
	r.from = len(m.sentences)
	at := 0
	sentences := sentencesOf(r.text, e.rules)
	holds, verbatim := make([]float64, len(sentences)*terms), make([]bool, len(sentences)*terms)
	for i, s := range sentences {
		from, to := i*terms, (i+1)*terms
		c := candidate{Sentence: s, passage: number, holds: holds[from:to], verbatim: verbatim[from:to]}
		first := at
		var words []int // positions of words of the question
		for at < len(r.tokens) && r.tokens[at].Start < s.End {
			if t := c.count(matcher, r.text, r.tokens[at]); t >= 0 && !m.query.terms[t].weak {
				words = append(words, at-first)
			}
			at++
		}
		c.tokens = r.tokens[first:at]
		words = append(words, c.countSpellings(matcher, r.text)...)
		r.length += c.length
		for i, n := range c.holds {
			if n < 1 {
				r.holds[i] = max(r.holds[i], n)
			} else if r.holds[i] < 1 {
				r.holds[i] = n
			} else {
				r.holds[i] += n
			}
		}
		things := e.words.kindsIn(m.query.kind, m.query.units, r.text, c.tokens, matcher.exact)
		c.rightKind = len(things) > 0
		c.kindNear = e.words.kindNear(m.query.kind, c.tokens, things, words)
		c.refersBack = len(c.tokens) > 0 && e.words.openers[lower(r.text, c.tokens[0])]
		c.explains = m.query.kind.isExplanation() && e.words.opensReason(r.text, c.tokens)
		m.sentences = append(m.sentences, c)
	}
	r.to = len(m.sentences)
	for i, t := range m.query.terms {
		if !t.weak && (r.holds[i] > 0 || r.inTitle[i]) {
			r.content |= 1 << i
		}
	}
}

// count counts a token and returns the index of the term of the question that it matches, or -1.
func (c *candidate) count(matcher *matcher, text []rune, token analysis.Token) int {
	if token.Stop {
		return -1
	}
	c.length++
	i, exact := matcher.match(token)
	if exact && token.Start > c.Body {
		matcher.seen[i]++
		if unicode.IsUpper(text[token.Start]) {
			matcher.capitals[i]++
		}
	}
	if exact && !c.verbatim[i] {
		c.verbatim[i] = sameForm(string(text[token.Start:token.End]), matcher.terms[i].word)
	}
	switch {
	case i < 0:
	case !exact:
		c.holds[i] = max(c.holds[i], related)
	case c.holds[i] < 1:
		c.holds[i] = 1
	default:
		c.holds[i]++
	}
	return i
}

// sameForm reports whether two words of one stem differ by at most a last letter: "machines" and "machine", but not
// "transformer" and "transform".
func sameForm(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(b)-len(a) <= 1 && strings.EqualFold(a, b[:len(a)])
}

func lower(text []rune, token analysis.Token) string {
	return strings.ToLower(string(text[token.Start:token.End]))
}

// matcher maps words to the terms of the question that they equal or resemble. It caches results.
type matcher struct {
	terms []term
	known map[string]int // index in terms, or its complement if the word is only related
	// joined maps terms to two adjacent words of the question that they are written from: backpropagation.
	joined map[string][2]int
	// acronyms are the lower-case letters of terms in capitals, by the index of the term. Those in unheld are not in the
	// sources, so that they may be written out there.
	acronyms map[int]string
	unheld   map[int]bool
	// seen counts the occurrences of each term inside of sentences, and capitals those with a capital.
	seen, capitals []int
}

const unknown = 1 << 16

func (e *Extractor) newMatcher(from *material) *matcher {
	q := from.query
	m := &matcher{
		terms: q.terms, known: make(map[string]int, 1024), joined: make(map[string][2]int), acronyms: make(map[int]string),
		unheld: make(map[int]bool), seen: make([]int, len(q.terms)), capitals: make([]int, len(q.terms)),
	}
	for i, t := range q.terms {
		for _, other := range e.words.synonyms[t.text] {
			m.known[other] = ^i
		}
		if letters := strings.TrimSuffix(t.word, "s"); len(letters) >= minAcronym && isAcronym(letters) {
			m.acronyms[i] = strings.ToLower(letters)
			m.unheld[i] = !from.held[i]
		}
	}
	for i, t := range q.terms {
		m.known[t.text] = i
	}
	for i := 1; i < len(q.sequence); i++ {
		first, second := q.sequence[i-1], q.sequence[i]
		if joined := e.onlyTerm(q.terms[first].word + q.terms[second].word); joined != "" {
			m.joined[joined] = [2]int{first, second}
		}
	}
	return m
}

// onlyTerm returns the term of a word, or "" if the word has several, as in scripts without spaces.
func (e *Extractor) onlyTerm(word string) string {
	var terms []string
	for token := range e.analyser.Tokens(word) {
		terms = append(terms, token.Term)
	}
	if len(terms) != 1 {
		return ""
	}
	return terms[0]
}

// match returns the index of the token's term and whether it is equal; -1 if there is none.
func (m *matcher) match(token analysis.Token) (int, bool) {
	if token.Stop {
		return -1, false
	}
	place, known := m.known[token.Term]
	if !known {
		place = unknown
		for i, t := range m.terms {
			if isRelated(t.text, token.Term) {
				place = ^i
				break
			}
		}
		m.known[token.Term] = place
	}
	switch {
	case place == unknown:
		return -1, false
	case place < 0:
		return ^place, false
	}
	return place, true
}

// exact reports whether a term is one of the question's.
func (m *matcher) exact(text string) bool {
	place, known := m.known[text]
	return known && place >= 0 && place != unknown
}

// isRelated reports whether two terms share most of their beginning. Numbers are never related.
func isRelated(a, b string) bool {
	const common = 5
	if a[0] != b[0] || unicode.IsDigit(rune(a[0])) {
		return false
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	same := utf8.RuneCountInString(a[:n])
	longer := same + max(utf8.RuneCountInString(a[n:]), utf8.RuneCountInString(b[n:]))
	return same >= common && 3*same >= 2*longer
}

// named reports whether a sentence or its title holds a rare name of the question. It is then about the question, even
// if it holds little else of it.
func (m *material) named(sentence int, statistics Statistics) bool {
	const few, fewOf = 2, 500
	c := &m.sentences[sentence]
	p := &m.passages[c.passage]
	rare := max(few, statistics.Units()/fewOf)
	for i, t := range m.query.terms {
		if t.name && t.weight == 1 && (c.holds[i] >= 1 || p.inTitle[i]) && statistics.Holders(t.text) <= rare {
			return true
		}
	}
	return false
}

// holdsOneOfTwo reports whether the passage of a sentence holds only one word of a two-word question: "Moore's law" is
// neither about a school of that name nor about any law.
func (m *material) holdsOneOfTwo(sentence int) bool {
	p := &m.passages[m.sentences[sentence].passage]
	words, held := 0, 0
	for i, t := range m.query.terms {
		if t.weight < 1 {
			continue
		}
		words++
		if p.holds[i] > 0 || p.inTitle[i] {
			held++
		}
	}
	return words == 2 && held == 1
}

// unmatched returns the words of the question that no source holds.
func (m *material) unmatched() []string {
	var words []string
	for i, t := range m.query.terms {
		if !m.held[i] && t.weight == 1 {
			words = append(words, t.word)
		}
	}
	return words
}

// missing returns the words of the question that some source holds, but not the passage of the sentence.
func (m *material) missing(sentence int) []string {
	var words []string
	p := &m.passages[m.sentences[sentence].passage]
	for i, t := range m.query.terms {
		if m.held[i] && t.weight == 1 && p.holds[i] == 0 && !p.inTitle[i] {
			words = append(words, t.word)
		}
	}
	return words
}
