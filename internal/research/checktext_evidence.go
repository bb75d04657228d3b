package research

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"carrel/internal/research/check"
	"carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
)

const (
	// claimHits is how many documents are read for a claim.
	claimHits = 6
	// checkSearches is how many searches of a text run at a time.
	checkSearches = 4
	// documentBatch is how many documents are loaded at a time.
	documentBatch = 64
	// keptCandidates is how many candidates for evidence a claim keeps.
	keptCandidates = 6
	// passageCandidates is how many of them may come from one passage.
	passageCandidates = 2
)

// gather finds the candidates for the evidence of all claims: in the documents, if there are any, and otherwise by
// searching the sources.
func (t *textCheck) gather(ctx context.Context, documents []string) error {
	if err := t.prepareReaders(ctx); err != nil {
		return err
	}
	if len(documents) > 0 {
		return t.readDocuments(ctx, documents)
	}
	if len(t.sources) == 0 || len(t.claims) == 0 {
		return nil
	}
	hits, err := t.search(ctx)
	if err != nil {
		return err
	}
	return t.readHits(ctx, hits)
}

// prepareReaders makes a reader for each language of the sources, and weighs the terms of the claims.
func (t *textCheck) prepareReaders(ctx context.Context) error {
	t.readers = make(map[string]*passageReader)
	ids := make(map[string][]string)
	for _, src := range t.sources {
		ids[src.Language] = append(ids[src.Language], src.ID)
	}
	for _, code := range slices.Sorted(maps.Keys(ids)) {
		r := newPassageReader(code)
		for _, c := range t.claims {
			r.addClaim(c)
		}
		s, err := t.Library.Statistics(ctx, ids[code], r.terms)
		if err != nil {
			return err
		}
		r.weigh(s)
		t.readers[code] = r
	}
	return nil
}

// search searches the sources for every claim. The hits are in the order of the claims.
func (t *textCheck) search(ctx context.Context) ([][]search.Hit, error) {
	hits := make([][]search.Hit, len(t.claims))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checkSearches)
	for i, c := range t.claims {
		text := c.searchText()
		if text == "" {
			continue
		}
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			hits[i], err = t.Library.FindPassages(ctx, t.sources, text, claimHits)
			return err
		})
	}
	return hits, group.Wait()
}

// wantedPassage is a passage that searches found, with the claims that it may be evidence for.
type wantedPassage struct {
	number int
	claims []*claim
}

// readHits reads each found document once. Only passages stay in memory.
func (t *textCheck) readHits(ctx context.Context, hits [][]search.Hit) error {
	wanted := make(map[string][]wantedPassage)
	for i, list := range hits {
		for _, h := range list {
			of := wanted[h.ID]
			at := slices.IndexFunc(of, func(w wantedPassage) bool { return w.number == h.Passage })
			if at < 0 {
				at = len(of)
				of = append(of, wantedPassage{number: h.Passage})
			}
			of[at].claims = append(of[at].claims, t.claims[i])
			wanted[h.ID] = of
		}
	}
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), documentBatch) {
		docs, err := t.Library.DocumentsIn(ctx, t.sources, batch)
		if err != nil {
			return err
		}
		for _, d := range docs {
			passages := analysis.Passages(d.Text)
			for _, w := range wanted[d.ID] {
				// A document may have become shorter since it was indexed.
				p := t.readPassage(d, passages[min(w.number, len(passages)-1)])
				for _, c := range w.claims {
					c.consider(p)
				}
			}
		}
	}
	return nil
}

// readDocuments reads all passages of documents. With source ids, documents of other sources are left out.
func (t *textCheck) readDocuments(ctx context.Context, ids []string) error {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		d, err := t.Library.DocumentOf(ctx, t.actor.UserID, t.agentID, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(t.sources, func(src source.Source) bool { return src.ID == d.SourceID }) {
			continue
		}
		for _, part := range analysis.Passages(d.Text) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p := t.readPassage(d, part)
			for _, c := range t.claims {
				c.consider(p)
			}
		}
	}
	return nil
}

// passageReader reads passages in one language. It knows the terms of all claims, and no others.
type passageReader struct {
	code     string
	analyser *analysis.Analyser
	ids      map[string]int // indexes in terms
	terms    []string
	weights  []float64 // inverse document frequencies
	claims   []*claimTerms
}

// claimTerms are the distinct terms of a claim, as indexes in a reader's terms.
type claimTerms struct {
	own     []int
	subject []int
	// values are the terms with a digit, and names those with a capital inside of the sentence.
	values, names map[int]bool
	total         float64
}

func newPassageReader(code string) *passageReader {
	return &passageReader{code: code, analyser: analysis.New(code), ids: make(map[string]int)}
}

// addClaim adds the terms of a claim.
func (r *passageReader) addClaim(c *claim) {
	terms := &claimTerms{values: make(map[int]bool), names: make(map[int]bool)}
	runes := []rune(c.text)
	for token := range r.analyser.Tokens(c.text) {
		if token.Stop {
			continue
		}
		id := r.id(token.Term)
		if !slices.Contains(terms.own, id) {
			terms.own = append(terms.own, id)
		}
		word := string(runes[token.Start:token.End])
		if strings.ContainsAny(word, "0123456789") {
			terms.values[id] = true
		} else if token.Start > 0 && startsUpper(word) {
			terms.names[id] = true
		}
	}
	for token := range r.analyser.Tokens(c.subject) {
		if !token.Stop {
			terms.subject = append(terms.subject, r.id(token.Term))
		}
	}
	if c.terms == nil {
		c.terms = make(map[string]*claimTerms)
	}
	c.terms[r.code] = terms
	r.claims = append(r.claims, terms)
}

func (r *passageReader) id(term string) int {
	id, ok := r.ids[term]
	if !ok {
		id = len(r.terms)
		r.ids[term] = id
		r.terms = append(r.terms, term)
	}
	return id
}

// weigh sets the weights of the terms from their frequencies. The added 1 keeps the words of a small library from
// weighing nothing next to an unknown one.
func (r *passageReader) weigh(s search.Statistics) {
	r.weights = make([]float64, len(r.terms))
	units := float64(s.Passages)
	for i, term := range r.terms {
		holders := min(float64(s.Holders[term]), units)
		r.weights[i] = 1 + math.Log1p((units-holders+0.5)/(holders+0.5))
	}
	for _, c := range r.claims {
		for _, id := range c.own {
			c.total += r.weights[id]
		}
	}
}

// readPassage is a passage with the sentences that hold each term.
type readPassage struct {
	*passageReader
	document  source.Document // without its text
	text      []rune
	start     int // in the document
	page      int
	heading   string
	sentences []quote.Sentence
	holders   map[int][]int
	title     map[int]bool
}

func (t *textCheck) readPassage(d source.Document, part analysis.Passage) *readPassage {
	r := t.readers[t.languageOf(d.SourceID)]
	text := part.Of(d.Text)
	d.Text = ""
	p := &readPassage{
		passageReader: r, document: d, text: []rune(text), start: part.Start, page: part.Page, heading: part.Heading,
		holders: make(map[int][]int), title: make(map[int]bool),
	}
	p.sentences = quote.Sentences(text, r.code)
	at := 0
	for token := range r.analyser.Tokens(text) {
		id, known := r.ids[token.Term]
		if !known || token.Stop {
			continue
		}
		for at < len(p.sentences) && p.sentences[at].End <= token.Start {
			at++
		}
		if at == len(p.sentences) {
			break
		}
		if list := p.holders[id]; len(list) == 0 || list[len(list)-1] != at {
			p.holders[id] = append(list, at)
		}
	}
	for token := range r.analyser.Tokens(d.Title + " " + strings.Join(d.Authors, " ") + " " + part.Heading) {
		if id, known := r.ids[token.Term]; known && !token.Stop {
			p.title[id] = true
		}
	}
	return p
}

func (t *textCheck) languageOf(sourceID string) string {
	for _, src := range t.sources {
		if src.ID == sourceID {
			return src.Language
		}
	}
	return ""
}

// candidate is a part of a passage that may be evidence for a claim: the sentences first to last, of which core holds
// most of the claim.
type candidate struct {
	*readPassage
	first, last, core int
	// inQuote is the share of the claim's weight that the sentences hold, and found the share that they, their paragraph
	// and the title hold. known is like found, without numbers, and apart like known, without names.
	inQuote, found, known, apart float64
	// inCore is the share of the claim's weight without numbers that the core and the title hold, and coreScore the
	// score of the core alone.
	inCore, coreScore float64
	// onSubject means that the passage holds the subject that a pronoun refers to.
	onSubject bool
	score     float64
	// logit is the score of the ranker, and likely means that it makes the candidate evidence although it shares few words
	// with the claim.
	logit  float64
	likely bool
}

// Weights of words outside of the sentence in the score of a candidate.
const (
	inheritedWeight = 0.35
	// joined is how much more of a claim two sentences must hold than one, to be quoted together.
	joined = 0.15
)

// consider adds the best sentences of a passage to the candidates of a claim.
func (c *claim) consider(p *readPassage) {
	terms := c.terms[p.code]
	if terms == nil || terms.total == 0 {
		return
	}
	scores := make([]float64, len(p.sentences))
	for _, id := range terms.own {
		for _, at := range p.holders[id] {
			scores[at] += p.weights[id]
		}
	}
	var order []int
	for at, score := range scores {
		if k := p.sentences[at].Kind; score > 0 && (k == quote.Prose || k == quote.Item) {
			order = append(order, at)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, at := range order[:min(len(order), passageCandidates)] {
		c.found = append(c.found, p.candidate(terms, at))
	}
	slices.SortStableFunc(c.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.document.ID, b.document.ID),
			cmp.Compare(a.start, b.start))
	})
	c.found = c.found[:min(len(c.found), keptCandidates)]
}

// candidate measures a sentence, and joins it with a neighbour if both together hold more of the claim.
func (p *readPassage) candidate(terms *claimTerms, at int) candidate {
	k := p.measure(terms, at, at)
	coreScore := k.score
	for _, first := range []int{at - 1, at} {
		if first < 0 || first+1 >= len(p.sentences) || p.sentences[first].Paragraph != p.sentences[first+1].Paragraph {
			continue
		}
		if pair := p.measure(terms, first, first+1); pair.inQuote >= k.inQuote+joined && k.first == k.last {
			k = pair
		}
	}
	k.core, k.inCore, k.coreScore = at, p.inSentence(terms, at), coreScore
	return k
}

// inSentence returns the share of a claim without numbers that a sentence and the title hold.
func (p *readPassage) inSentence(terms *claimTerms, at int) float64 {
	var held, total float64
	for _, id := range terms.own {
		if terms.values[id] {
			continue
		}
		total += p.weights[id]
		if p.title[id] || slices.Contains(p.holders[id], at) {
			held += p.weights[id]
		}
	}
	return share(held, total)
}

// measure returns the shares of a claim that a part of the passage holds.
func (p *readPassage) measure(terms *claimTerms, first, last int) candidate {
	k := candidate{readPassage: p, first: first, last: last}
	var known, apart, knownTotal, apartTotal float64
	for _, id := range terms.own {
		w := p.weights[id]
		in, near := p.holds(id, first, last)
		near = near || p.title[id]
		if !terms.values[id] {
			knownTotal += w
			if !terms.names[id] {
				apartTotal += w
			}
		}
		if in {
			k.inQuote += w
		}
		if !in && !near {
			continue
		}
		k.found += w
		if !terms.values[id] {
			known += w
			if !terms.names[id] {
				apart += w
			}
		}
	}
	k.inQuote, k.found = share(k.inQuote, terms.total), share(k.found, terms.total)
	k.known, k.apart = share(known, knownTotal), share(apart, apartTotal)
	k.score = k.inQuote + inheritedWeight*(k.found-k.inQuote)
	var held, all float64
	for _, id := range terms.subject {
		all += p.weights[id]
		if in, near := p.holds(id, first, last); in || near || p.title[id] {
			held += p.weights[id]
		}
	}
	const half = 0.5
	k.onSubject = all == 0 || held >= half*all
	return k
}

func share(part, total float64) float64 {
	if total == 0 {
		return 1
	}
	return part / total
}

// holds reports whether sentences hold a term, or else their paragraph.
func (p *readPassage) holds(id, first, last int) (in, near bool) {
	for _, at := range p.holders[id] {
		switch {
		case first <= at && at <= last:
			return true, false
		case p.sentences[at].Paragraph == p.sentences[first].Paragraph:
			near = true
		}
	}
	return false, near
}

// evidence returns the candidate as input of the rules.
func (k candidate) evidence() check.Evidence {
	first, last := k.first, k.last
	for first > 0 && k.sentences[first-1].Paragraph == k.sentences[k.first].Paragraph {
		first--
	}
	for last+1 < len(k.sentences) && k.sentences[last+1].Paragraph == k.sentences[k.first].Paragraph {
		last++
	}
	e := check.Evidence{Quote: k.quote(), Title: k.document.Title, Year: k.document.Year}
	paragraph := string(k.text[k.sentences[first].Body:k.sentences[last].End])
	switch {
	case k.heading != "" && !strings.Contains(paragraph, k.heading):
		e.Context = "heading: " + k.heading + "\n\n" + paragraph
	case paragraph != e.Quote:
		e.Context = paragraph
	}
	return e
}

// alone returns the core of the candidate without its surroundings.
func (k candidate) alone() check.Evidence {
	s := k.sentences[k.core]
	return check.Evidence{Quote: string(k.text[s.Body:s.End]), Title: k.document.Title, Year: k.document.Year}
}

// overlaps reports whether two candidates share a sentence.
func (k candidate) overlaps(other candidate) bool {
	return k.document.ID == other.document.ID && k.start == other.start && k.first <= other.last && other.first <= k.last
}

// quote returns the words of the candidate.
func (k candidate) quote() string {
	return string(k.text[k.sentences[k.first].Body:k.sentences[k.last].End])
}

// cited returns the candidate as evidence in the reply.
func (k candidate) cited(stance Stance) Evidence {
	out := Evidence{Stance: stance}
	d := k.document
	from, to := k.sentences[k.first].Body, k.sentences[k.last].End
	out.CardID, out.DocumentID, out.SourceID, out.Title = d.CardID(), d.ID, d.SourceID, d.Title
	out.Authors, out.Year, out.URL, out.DOI = d.Authors, d.Year, d.URL, d.DOI
	out.Quote, out.Start, out.End = k.quote(), k.start+from, k.start+to
	if k.page > 0 {
		out.Page = k.page + strings.Count(string(k.text[:from]), "\f")
	}
	return out
}
