package check

import (
	"strings"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

const detailNotCovered = "The source does not say this."

// Shares of the weight of a sentence.
const (
	// covered is the least share in the evidence; below it the evidence is about something else.
	covered = 0.15
	// aboutSame is the least share in the quote, apart from the disputed word, for a difference to be a contradiction.
	aboutSame = 0.55
	// nearlySame is the same for differences that are less certain.
	nearlySame = 0.7
)

// judge holds a sentence that is judged by its evidence.
type judge struct {
	code     string
	reader   *reader
	lex      *lexicon
	sentence string
	claim    []token
	evidence []Evidence
	weights  Weights
	total    float64
	spoken   string // guessed language of the sentence
}

func newJudge(sentence, code string, evidence []Evidence, w Weights) *judge {
	spoken := analysis.Guess(sentence)
	if code == "" {
		code = languageOf("", sentence, evidence[0].Quote)
	}
	j := &judge{code: code, reader: newReader(code), sentence: sentence, evidence: evidence, weights: w, spoken: spoken}
	j.lex = j.reader.lexicon
	j.claim = j.reader.read(sentence)
	for i := range j.claim {
		j.total += j.weight(&j.claim[i])
	}
	return j
}

func (j *judge) release() { j.reader.release() }

// weight returns the weight of a token of the sentence. Function words weigh nothing.
func (j *judge) weight(t *token) float64 {
	if !j.counts(t) {
		return 0
	}
	w := j.weights.Weight(t.term)
	if t.kind != word || t.name {
		w *= 1.3
	}
	return w
}

// counts reports whether a token carries a part of the claim.
func (j *judge) counts(t *token) bool {
	if !j.lex.known {
		return t.kind != word || !t.common
	}
	return t.content()
}

// judge judges the sentence by one piece of evidence.
func (j *judge) judge(i int) Finding {
	e := j.evidence[i]
	e.Quote = cut(e.Quote, maxQuote)
	e.Context = cut(e.Context, maxQuote)
	if f, ok := j.quoted(e); ok {
		f.Evidence = i
		return f
	}
	if there := j.other(e); there != "" {
		f := j.acrossLanguages(e, there)
		f.Evidence = i
		return f
	}
	s := j.surroundings(e)
	f := j.compare(s, e.Quote, j.reader.read(e.Quote))
	if (f.State == Cited || f.Reason == NotCovered) && len(s.context) > 0 {
		// The paragraph can say what the quote alone does not.
		if whole := j.compare(s, e.Context, s.context); whole.State == Supported {
			f = Finding{State: Supported, Detail: "The paragraph around the quote says this."}
		}
	}
	f.Evidence = i
	return f
}

// together judges the sentence by all quotes at once, because a sentence with two citations may combine them.
func (j *judge) together(best Finding) Finding {
	var all strings.Builder
	known := Evidence{}
	for i, e := range j.evidence {
		if all.Len() > maxQuote {
			break
		}
		if i > 0 {
			all.WriteString("\n\n")
		}
		all.WriteString(e.Quote)
		known.Title += e.Title + "\n"
		known.Context += e.Context + "\n\n"
	}
	text := cut(all.String(), maxQuote)
	f := j.compare(j.surroundings(known), text, j.reader.read(text))
	switch {
	case f.State == Supported:
		return Finding{State: Supported, Evidence: best.Evidence, Detail: "The quotes together say this."}
	case best.State == Contradicted && f.State != Contradicted:
		// Another quote holds what the first one lacks.
		return Finding{State: Cited, Evidence: best.Evidence}
	case best.State == Unsupported && f.State == Cited:
		return Finding{State: Cited, Evidence: best.Evidence}
	}
	return best
}

// other returns the language of the quote if it differs from the language of the sentence, or "".
func (j *judge) other(e Evidence) string {
	there := analysis.Guess(e.Quote + " " + e.Context)
	if j.spoken == there || j.spoken == "" {
		return ""
	}
	return there
}

// acrossLanguages finds years and numbers in digits of the sentence that the evidence lacks. Words cannot be compared.
func (j *judge) acrossLanguages(e Evidence, there string) Finding {
	const small = 20 // numbers up to it are often written as words
	r := newReader(there)
	defer r.release()
	known := r.read(e.Quote + "\n\n" + e.Context + "\n\n" + e.Title)
	for i := range j.claim {
		t := &j.claim[i]
		if t.kind != number && t.kind != date || t.value.inWords || t.kind == number && t.value.value <= small {
			continue
		}
		found := t.value.bare && int(t.value.value) == e.Year
		for k := range known {
			found = found || isValue(&known[k]) && relate(t, &known[k]) != different
		}
		if !found {
			return Finding{
				State: Unsupported, Reason: NumberAbsent,
				Detail: "The source does not say " + slice(j.sentence, t.start, t.end) + ".",
			}
		}
	}
	return Finding{State: Cited}
}

func isValue(t *token) bool { return t.kind == number || t.kind == date }

// compare aligns the sentence with a text and applies the rules.
func (j *judge) compare(s *surroundings, source string, tokens []token) Finding {
	if len(tokens) == 0 {
		return Finding{State: Unsupported, Reason: NotCovered, Detail: detailNotCovered}
	}
	c := comparison{judge: j, aligned: align(j.claim, newText(tokens, j.lex), j.lex), surroundings: s, source: source}
	c.resolve()
	c.measure()
	if c.share(c.found) < covered {
		return Finding{State: Unsupported, Reason: NotCovered, Detail: detailNotCovered}
	}
	if !j.lex.known {
		return c.withoutLexicon()
	}
	for _, rule := range []func(*comparison) (Finding, bool){
		(*comparison).numbers, (*comparison).identifiers, (*comparison).nameRule, (*comparison).ordinalRule,
		(*comparison).quantifiers, (*comparison).negationAndAntonyms, (*comparison).modals, (*comparison).causality,
		(*comparison).roleRule, (*comparison).certainty,
	} {
		if f, ok := rule(&c); ok {
			return f
		}
	}
	if c.supported() {
		start, end := c.region()
		return Finding{State: Supported, Start: start, End: end}
	}
	return Finding{State: Cited}
}

// comparison is a sentence aligned with one text.
type comparison struct {
	*judge
	*aligned
	*surroundings
	source  string
	inQuote float64 // weight found in the quote
	found   float64 // weight found in quote, context and title
	blocked bool    // a difference that is no contradiction
	changed []voices
	voiced  bool // changed is known
}

// surroundings are the title, the paragraph and the year of a quote.
type surroundings struct {
	around  map[string]bool // terms of title and context
	title   map[string]bool // terms of the title
	context []token
	before  []token // the part of the context before the quote
	year    int
}

func (j *judge) surroundings(e Evidence) *surroundings {
	s := &surroundings{around: make(map[string]bool), title: make(map[string]bool), year: e.Year}
	for t := range j.reader.analyser.Tokens(e.Title) {
		s.title[t.Term] = true
		s.around[t.Term] = true
	}
	if e.Context == "" {
		return s
	}
	s.context = j.reader.read(e.Context)
	if at := strings.Index(e.Context, e.Quote); at > 0 {
		end := utf8.RuneCountInString(e.Context[:at])
		for len(s.before) < len(s.context) && s.context[len(s.before)].start < end {
			s.before = s.context[:len(s.before)+1]
		}
	}
	for i := range s.context {
		t := &s.context[i]
		s.around[t.term] = true
		if t.kind != word {
			s.around[t.fold] = true
		}
		if t.value.year > 0 {
			s.around[yearKey(t.value.year)] = true
		}
	}
	return s
}

// measure sums the weights of the words that have a counterpart.
func (c *comparison) measure() {
	for i := range c.c {
		w := c.weight(&c.c[i])
		if w == 0 {
			continue
		}
		switch {
		case c.at[i] != nowhere:
			c.inQuote += w
			c.found += w
		case c.around[c.c[i].term] || c.around[c.c[i].fold] || c.compound(&c.c[i]):
			c.found += w
		}
	}
}

// compound reports whether a German word shares a part with a word of the quote: Meinung, Meinungsfreiheit.
func (c *comparison) compound(t *token) bool {
	const least = 6 // letters
	if !c.german() || len(t.fold) < least {
		return false
	}
	for i := range c.q {
		k := c.q[i].fold
		if len(k) >= least && (strings.Contains(t.fold, k[:least]) || strings.Contains(k, t.fold[:least])) {
			return true
		}
	}
	return false
}

// share returns a part of the sentence's weight.
func (c *comparison) share(weight float64) float64 {
	if c.total == 0 {
		return 0
	}
	return weight / c.total
}

// about reports whether the quote holds a share of the sentence, apart from the disputed tokens.
func (c *comparison) about(share float64, disputed ...int) bool {
	total, found := c.total, c.inQuote
	for _, i := range disputed {
		w := c.weight(&c.c[i])
		total -= w
		if c.at[i] != nowhere {
			found -= w
		}
	}
	return total > 0 && found/total >= share
}

// region returns the part of the quote between the first and the last counterpart.
func (c *comparison) region() (start, end int) {
	first, last := len(c.q), -1
	for _, p := range c.at {
		if p >= 0 {
			first, last = min(first, p), max(last, p)
		}
	}
	if last < 0 {
		return 0, 0
	}
	return c.q[first].start, c.q[last].end
}

// differs returns a finding about one token of the quote.
func (c *comparison) differs(s State, r Reason, p int, detail string) (Finding, bool) {
	f := Finding{State: s, Reason: r, Detail: detail}
	if p >= 0 && p < len(c.q) {
		f.Start, f.End = c.q[p].start, c.q[p].end
	}
	return f, true
}

// written returns the original text of a token of the quote.
func (c *comparison) written(p int) string { return slice(c.source, c.q[p].start, c.q[p].end) }

// said returns the original text of a token of the sentence.
func (c *comparison) said(i int) string { return slice(c.sentence, c.c[i].start, c.c[i].end) }

// slice returns the code points of a text from start to end.
func slice(text string, start, end int) string {
	from, to, n := len(text), len(text), 0
	for i := range text {
		if n == start {
			from = i
		}
		if n == end {
			to = i
			break
		}
		n++
	}
	return text[min(from, to):to]
}

// contrast is the detail of a difference.
func (c *comparison) contrast(p, i int) string {
	return "The source says " + c.written(p) + ", the sentence " + c.said(i) + "."
}

// quoted reports whether the sentence is a sentence of the quote, or consists of quotations from it. A quotation that
// the quote lacks makes the sentence unsupported.
func (j *judge) quoted(e Evidence) (Finding, bool) {
	if start, end, ok := wholeSentences(e.Quote, j.sentence, j.code); ok {
		return Finding{State: Quoted, Start: start, End: end}, true
	}
	return j.quotations(e)
}

// trimEnds removes what surrounds the words of a sentence.
func trimEnds(text string) string {
	return strings.Trim(text, " \t\r\n.!?…\"“”„«»'‘’*_-–—")
}
