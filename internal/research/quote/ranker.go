package quote

import (
	"cmp"
	"math"
	"slices"
)

// Candidate is a sentence that may answer a question, with what a ranker reads besides it.
type Candidate struct {
	// Before is the preceding sentence of the passage, or "".
	Title, Text, Before string
}

// Ranker scores sentences with a trained model. It must be safe for concurrent use.
type Ranker interface {
	// Similarities returns how similar the question and each text are in meaning, from -1 to 1.
	Similarities(question string, texts []string) []float64
	// Rank returns a logit for each candidate, the higher the more likely it answers the question, or nil to keep their
	// order by words.
	Rank(question string, candidates []Candidate) []float64
	// Most is the number of candidates that Rank should be given.
	Most() int
}

// The order of ranked sentences: the ranker's logit, that of the best sentence of the passage, the score by words
// relative to the best, and whether the sentence holds the kind of thing that is asked for. The values were tuned on
// one half of XQuAD and the questions over the demo library.
const (
	similarityWeight  = 1.5 // of the similarity against the relative score by words, for the choice of candidates
	passageLogit      = 0.3
	wordsWeight       = 7
	explanationWeight = 24   // the same for explanations, whose first sentence is found by words
	leastShare        = 0.02 // for sentences that share no word with the question
	kindLogit         = 2
	coverageLogit     = 12 // weight of the coverage in the confidence
)

// rankedThresholds are the confidences of ranked answers. As without a ranker, at most 5 % of the questions are
// answered after their passage was removed.
var rankedThresholds = thresholds{answered: 5.6, closest: 1}

// rank returns the indexes of the relevant sentences, best first.
func (e *Extractor) rank(m *material) []int {
	ranked := m.rank()
	q := &m.query
	// The ranker reads the question alone, without the conversation that completes it.
	if e.ranker == nil || q.form != Quotes || len(q.Added) > 0 || q.bare || q.shown != nil {
		return ranked
	}
	head := m.likeliest(e.ranker, ranked)
	if len(head) == 0 {
		return ranked
	}
	logits := e.ranker.Rank(q.Question, m.candidates(head))
	if len(logits) != len(head) {
		return ranked
	}
	m.logits = make(map[int]float64, len(head))
	for i, at := range head {
		m.logits[at] = logits[i]
	}
	return m.reorder(ranked, head)
}

// likeliest returns the sentences that are most likely to answer the question by words and by similarity, best first.
func (m *material) likeliest(r Ranker, ranked []int) []int {
	var all []int
	var texts []string
	for i := range m.sentences {
		if m.quotable(i) {
			all = append(all, i)
			texts = append(texts, m.text(i))
		}
	}
	best := m.bestScore(ranked)
	similar := r.Similarities(m.query.Question, texts)
	value := make(map[int]float64, len(all))
	for i, at := range all {
		value[at] = m.sentences[at].score / best
		if i < len(similar) {
			value[at] += similarityWeight * similar[i]
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(value[b], value[a]) })
	return all[:min(len(all), r.Most())]
}

func (m *material) bestScore(ranked []int) float64 {
	best := 0.0
	for _, at := range ranked {
		best = max(best, m.sentences[at].score)
	}
	if best == 0 {
		return 1
	}
	return best
}

func (m *material) candidates(sentences []int) []Candidate {
	out := make([]Candidate, len(sentences))
	for i, at := range sentences {
		p := m.passages[m.sentences[at].passage]
		out[i] = Candidate{Title: p.Title, Text: m.text(at)}
		if at > p.from {
			out[i].Before = m.text(at - 1)
		}
	}
	return out
}

// reorder returns the sentences of head in the order of their ranked scores, followed by the other relevant ones. The
// quotes are chosen by their scores, so the best score goes to the first sentence, and no other keeps more than its
// place is worth.
func (m *material) reorder(ranked, head []int) []int {
	best := m.bestScore(ranked)
	ofPassage := make(map[int]float64)
	for _, at := range head {
		passage := m.sentences[at].passage
		if logit, known := ofPassage[passage]; !known || m.logits[at] > logit {
			ofPassage[passage] = m.logits[at]
		}
	}
	weight := float64(wordsWeight)
	if m.query.kind.isExplanation() {
		weight = explanationWeight
	}
	value := make(map[int]float64, len(head))
	scores := make([]float64, len(head))
	for i, at := range head {
		c := &m.sentences[at]
		value[at] = m.logits[at] + passageLogit*ofPassage[c.passage] + weight*math.Log(max(leastShare, c.score/best))
		if c.rightKind {
			value[at] += kindLogit
		}
		scores[i] = c.score
	}
	order := slices.Clone(head)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value[b], value[a]) })
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, at := range order {
		c := &m.sentences[at]
		switch {
		case i == 0:
			c.score = scores[0]
		case !slices.Contains(ranked, at):
			c.score = 0 // without a word of the question it is only quoted if it is the best
		default:
			c.score = min(c.score, scores[i])
		}
	}
	for _, at := range ranked {
		if _, given := m.logits[at]; !given {
			order = append(order, at)
		}
	}
	return order
}

// confidence returns the confidence in an answer that begins with a sentence.
func (m *material) confidence(best int, coverage float64) float64 {
	if m.logits == nil {
		return coverage
	}
	return m.logits[best] + coverageLogit*coverage
}

// lacksWords reports whether the question of a ranked answer has several words that no source holds. Without a ranker
// the coverage tells.
func (m *material) lacksWords() bool { return m.logits != nil && len(m.unmatched()) > 1 }

// text returns a sentence without the mark of its item.
func (m *material) text(at int) string {
	c := &m.sentences[at]
	return string(m.passages[c.passage].text[c.Body:c.End])
}
