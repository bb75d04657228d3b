package quote

import (
	"cmp"
	"math"
	"slices"

	"carrel/internal/search/analysis"
)

// The score of a sentence: its own words, words inherited from the sentences before it, the passage around it, and
// whether it holds the kind of thing that is asked for. The values were tuned on one half of XQuAD, where the right
// sentence is ranked first for .806 of the questions and in the first three for .933; the loss of the first number
// without a part, and of the second where given, is noted. A difference of .01 may be chance.
const (
	sentenceK1       = 0.5 // further occurrences count little (the usual 1.2: -.016)
	sentenceB        = 0.5 // long sentences hold more words by chance
	passageK1        = 1.2
	passageB         = 0.75
	passageWeight    = 0.6  // (0: -.008, and -.025 in the first three)
	titleCount       = 1    // occurrences of a title word in the passage (0: 0, -.004)
	carried          = 0.35 // weight of words of the preceding sentence (0: -.015)
	carriedByPronoun = 0.5  // the same for a sentence that begins with a pronoun (like others: -.002)
	carriedFar       = 0.1  // weight of words two sentences back (0: -.013)
	carriedByTitle   = 0.4  // weight of words of the title (0: -.005)
	carriedToReason  = 0.8  // weight of words of the preceding sentence in a sentence that introduces a reason
	kindBonus        = 0.8  // (0: 0, -.002)
	bareBonus        = 10   // the same if the kind is all that the question itself holds
	subjectBonus     = 2    // the same if the title holds the subject
	introducedBonus  = 5    // for the sentence that introduces a subject whose definition is asked for
	overviewBonus    = 2    // for the first sentence of a document whose title is the subject
	lacksName        = 0.6  // factor for passages without a name of the question that others hold (1: -.002)
	matterWeight     = 0.5  // of code and tables
	titleBonus       = 0.6  // for a title that holds the whole question, relative to the best passage
	verbatimBonus    = 0.1  // for a word in the form of the question (0: -.003)
	pairBonus        = 0.1  // for adjacent words of the question that are adjacent (0: -.003)
	knownBonus       = 0.5  // for documents that answered the question that this one refers to
	titleHolds       = 0.8  // weight of a title word in the coverage of the passage
)

// rank scores the sentences and returns the indexes of the relevant ones, best first.
func (m *material) rank() []int {
	m.scorePassages()
	local := m.localWeights()
	average := m.averageLength()
	var order []int
	for i := range m.sentences {
		c := &m.sentences[i]
		if !m.quotable(i) {
			continue
		}
		m.scoreSentence(i, local, average)
		// A sentence that only inherits words is not relevant by itself. The beginning of a document whose title is the
		// subject is, whatever its words.
		if slices.ContainsFunc(c.holds, func(n float64) bool { return n > 0 }) || m.opens(i) || m.answersBareQuestion(i) ||
			m.ofSubject(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.sentences[b].score, m.sentences[a].score) })
	return order
}

// quotable reports whether a sentence may be quoted.
func (m *material) quotable(at int) bool {
	c := &m.sentences[at]
	return c.Kind != Heading && c.length > 0 && !m.wasShown(at)
}

// subject is how much of the question the title of a document must hold for the document to be about it, and
// halfSubject how much for a document that is likely to be.
const (
	subject     = 0.7
	halfSubject = 0.5
)

// opens reports whether a sentence is the first of a document whose title is the subject of the question.
func (m *material) opens(at int) bool {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	if c.Kind != Prose || p.Start > 0 || m.titleCoverage(p) < subject {
		return false
	}
	for i := p.from; i < at; i++ {
		if m.sentences[i].Kind == Prose {
			return false
		}
	}
	return true
}

// ofSubject reports whether a sentence holds the kind of thing that is asked for, in a document whose title holds much
// of the question. It need not share a word with the question: "How fast is Ethernet?"
func (m *material) ofSubject(at int) bool {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	return c.rightKind && m.query.kind.isThing() && m.titleCoverage(p) >= halfSubject && !m.surpassed(p)
}

// surpassed reports whether another passage holds all words of the question that this one holds, and more.
func (m *material) surpassed(p *reading) bool {
	return slices.ContainsFunc(m.passages, func(other reading) bool {
		return other.content&p.content == p.content && other.content != p.content
	})
}

// introduces reports whether a sentence is the first of a document and holds the subject of the question.
func (m *material) introduces(at int) bool {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	if c.Kind != Prose || p.Start > 0 || at > p.from {
		return false
	}
	var held, total float64
	for t, weight := range m.weights {
		total += weight
		if c.holds[t] >= 1 {
			held += weight
		}
	}
	if held < subject*total {
		return false
	}
	// "Turing machine" is not the subject of a document about Turing and machines.
	pairs, asked := m.pairs(m.weights, p.tokens)
	return pairs >= asked/2
}

// avoidance returns a factor for sentences about the other side of a comparison, and for their passages.
func (m *material) avoidance(at int) float64 {
	const sentence, passage = 0.5, 0.8
	if len(m.query.avoid) == 0 {
		return 1
	}
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	switch {
	case m.isAvoided(p.text, c.tokens):
		return sentence
	case m.aboutOther(p):
		return passage
	}
	return 1
}

// answersBareQuestion reports whether a sentence holds the kind of thing that a bare question asks for, in a document
// that answered the question before: after "What is the memex?", "When?" asks for a date in that document.
func (m *material) answersBareQuestion(at int) bool {
	c := &m.sentences[at]
	return m.query.bare && c.rightKind && m.known(&m.passages[c.passage]) > 0
}

// wasShown reports whether a sentence was quoted before and must not be repeated.
func (m *material) wasShown(at int) bool {
	if len(m.query.shown) == 0 {
		return false
	}
	return slices.ContainsFunc(m.query.shown, m.quote(stretch{at, at}).overlaps)
}

// holdsKind reports whether a sentence, or the sentence that is quoted with it, holds the kind of thing that is asked
// for near a word of the question. In a document whose title holds the subject, it may be anywhere in the sentence.
func (m *material) holdsKind(at int) bool {
	if !m.query.kind.isThing() {
		return true
	}
	c := &m.sentences[at]
	if c.kindNear || c.rightKind && (c.refersBack || m.titleCoverage(&m.passages[c.passage]) >= subject) {
		return true
	}
	if !c.refersBack || !m.together(at-1, at) {
		return false
	}
	if m.query.kind != name {
		return m.sentences[at-1].kindNear
	}
	// The person of "He proves …" may have been named some sentences before.
	for i := at - 1; i >= max(0, at-namedBefore) && m.together(i, i+1); i-- {
		if m.sentences[i].rightKind {
			return true
		}
	}
	return false
}

// namedBefore is how many sentences before a pronoun its name is looked for.
const namedBefore = 3

// bm25 returns the term frequency factor of BM25. Length is relative to the average.
func bm25(count, length, k1, b float64) float64 {
	if count == 0 {
		return 0
	}
	return count * (k1 + 1) / (count + k1*(1-b+b*length))
}

// scorePassages scores passages by their words. The score of the search, if known, makes up a third, because it may use
// more than words, but its scale is unknown.
func (m *material) scorePassages() {
	average, best, found := 0.0, 0.0, 0.0
	for i := range m.passages {
		average += float64(m.passages[i].length)
		found = max(found, m.passages[i].Score)
	}
	average /= float64(max(1, len(m.passages)))
	for i := range m.passages {
		p := &m.passages[i]
		for t, weight := range m.weights {
			count := p.holds[t]
			if p.inTitle[t] {
				count += titleCount
			}
			p.score += weight * bm25(count, float64(p.length)/max(1, average), passageK1, passageB)
		}
		best = max(best, p.score)
	}
	for i := range m.passages {
		p := &m.passages[i]
		if found > 0 {
			p.score = (2*p.score + best*max(0, p.Score)/found) / 3
		}
		p.score += titleBonus * best * m.titleCoverage(p)
		p.score += knownBonus * best * m.known(p)
	}
}

// known returns the likelihood that a question that refers back is about the passage's document: 1 for the first
// document cited before, less for the next, 0 for others.
func (m *material) known(p *reading) float64 {
	at := slices.Index(m.query.known, p.DocumentID)
	if at < 0 {
		return 0
	}
	return 1 / float64(1+3*at)
}

// titleCoverage returns how much of the question the title of the passage's document holds, from 0 to 1.
func (m *material) titleCoverage(p *reading) float64 {
	var held, total float64
	for t, weight := range m.weights {
		total += weight
		if p.inTitle[t] {
			held += weight
		}
	}
	if total == 0 {
		return 0
	}
	return held / total
}

// localWeights returns the rarity of each term among the candidate sentences, because a word that all of them hold does
// not distinguish them (rarity in all searched passages instead: -.013).
func (m *material) localWeights() []float64 {
	weights := make([]float64, len(m.weights))
	for t := range weights {
		holders := 0.0
		for i := range m.sentences {
			if m.sentences[i].holds[t] >= 1 {
				holders++
			}
		}
		rarity := math.Log1p((float64(len(m.sentences)) - holders + 0.5) / (holders + 0.5))
		weights[t] = m.query.terms[t].weight * rarity
		if !m.held[t] && !m.query.terms[t].name {
			weights[t] /= 2
		}
	}
	return weights
}

func (m *material) averageLength() float64 {
	total, n := 0, 0
	for i := range m.sentences {
		if m.sentences[i].length > 0 {
			total += m.sentences[i].length
			n++
		}
	}
	return float64(total) / float64(max(1, n))
}

func (m *material) scoreSentence(at int, weights []float64, average float64) {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	before := carried
	if c.refersBack {
		before = carriedByPronoun
	}
	length := float64(c.length) / average
	for t, weight := range weights {
		count := c.holds[t]
		if at > p.from {
			count = max(count, before*min(1, m.sentences[at-1].holds[t]))
		}
		if at > p.from+1 {
			count = max(count, carriedFar*min(1, m.sentences[at-2].holds[t]))
		}
		if c.explains && m.query.kind == cause && at > p.from {
			count = max(count, carriedToReason*min(1, m.sentences[at-1].holds[t]))
		}
		own := weight * bm25(count, length, sentenceK1, sentenceB)
		if p.inTitle[t] {
			titled := weight * bm25(max(count, carriedByTitle), length, sentenceK1, sentenceB)
			c.titled += titled - own
			own = titled
		}
		c.own += own
		if c.verbatim[t] {
			c.own += verbatimBonus * weight
		}
	}
	pairs, _ := m.pairs(weights, c.tokens)
	c.own += pairBonus * pairs
	c.score = c.own + passageWeight*p.score
	c.score = c.score*m.lacking(p) + m.kindScore(at)
	c.score *= m.avoidance(at)
	if c.Kind == Matter {
		c.own *= matterWeight
		c.score *= matterWeight
	}
}

// kindScore returns the bonus of a sentence for holding the kind of thing that is asked for.
func (m *material) kindScore(at int) float64 {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	switch {
	case m.answersBareQuestion(at):
		return bareBonus * m.known(p)
	case m.query.kind == definition && (m.opens(at) || m.introduces(at)):
		return introducedBonus
	case m.ofSubject(at):
		return kindBonus + subjectBonus
	case m.query.kind == anything && m.opens(at):
		return overviewBonus
	case c.rightKind:
		return kindBonus
	}
	return 0
}

// lacking returns a factor for passages that lack a name of the question that others hold.
func (m *material) lacking(p *reading) float64 {
	for t, term := range m.query.terms {
		if term.name && term.weight == 1 && m.held[t] && p.holds[t] < 1 && !p.inTitle[t] {
			return lacksName
		}
	}
	return 1
}

// coverage returns how much of the question a sentence and its passage hold, from 0 to 1: the weight of its words in
// the passage, in the sentence, and as adjacent pairs.
func (m *material) coverage(at int) float64 {
	const passageShare, sentenceShare, pairShare, kindLack = 0.58, 0.35, 0.23, 0.12
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	var total, passage, sentence float64
	for t, weight := range m.weights {
		weight = math.Pow(weight, 1.5)
		total += weight
		in := min(1, p.holds[t])
		if p.inTitle[t] {
			in = max(in, titleHolds)
		}
		passage += weight * in
		sentence += weight * min(1, c.holds[t])
	}
	if total == 0 {
		return 0
	}
	pairs, asked := m.pairs(m.weights, p.tokens)
	if inTitle, _ := m.pairs(m.weights, p.title); inTitle > pairs {
		pairs = inTitle
	}
	if asked == 0 {
		pairs, asked = passage, total
	}
	value := passageShare*passage/total + sentenceShare*sentence/total + pairShare*pairs/asked
	if m.query.kind != anything && !c.rightKind {
		value -= kindLack
	}
	return max(0, min(1, value))
}

// pairs returns the weight of adjacent words of the question that are adjacent in a text, with at most one word between
// them, and the weight of all such pairs of the question.
func (m *material) pairs(weights []float64, tokens []analysis.Token) (found, asked float64) {
	for i := 1; i < len(m.query.sequence); i++ {
		first, second := m.query.sequence[i-1], m.query.sequence[i]
		weight := min(weights[first], weights[second])
		asked += weight
		last := -3
		for at, token := range tokens {
			if token.Stop {
				continue
			}
			if token.Term == m.query.terms[second].text && at-last <= 2 {
				found += weight
				break
			}
			if token.Term == m.query.terms[first].text {
				last = at
			}
		}
	}
	return found, asked
}
