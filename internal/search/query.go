package search

import (
	"net/url"
	"regexp"
	"strings"
)

// query is a search text made ready: its terms, and what it may name exactly.
type query struct {
	terms   map[string]int // term to its place in weights
	weights []float64      // how often the query holds each term
	// stops says that the query is of stop words alone ("the who"), which then count like any others.
	stops bool
	words []string // the folded words, to hold against titles
	doi   string   // set when the query is a DOI
}

func parseQuery(a *Analyser, text string) query {
	q := query{terms: make(map[string]int)}
	q.doi, _ = parseDOI(text)
	for w := range a.splitter.words(text) {
		q.words = append(q.words, string(w.folded))
	}
	for token, stop := range a.tokens(text) {
		if !stop {
			q.count(token.Term)
		}
	}
	if len(q.weights) > 0 {
		return q
	}
	q.stops = true
	for token := range a.tokens(text) {
		q.count(token.Term)
	}
	return q
}

func (q *query) count(term string) {
	i, ok := q.terms[term]
	if !ok {
		i = len(q.weights)
		q.terms[term] = i
		q.weights = append(q.weights, 0)
	}
	q.weights[i]++
}

// term returns the place of a token among the query's terms, or false when the query does not ask for it. A stop
// word answers only a query of stop words: "can" is no answer to "cans", though the stems are equal.
func (q *query) term(token Token, stop bool) (int, bool) {
	if stop && !q.stops {
		return 0, false
	}
	i, ok := q.terms[token.Term]
	return i, ok
}

// isTitle reports whether the query is the whole of this title, but for case, accents and punctuation.
func (q *query) isTitle(a *Analyser, title string) bool {
	n := 0
	for w := range a.splitter.words(title) {
		if n == len(q.words) || string(w.folded) != q.words[n] {
			return false
		}
		n++
	}
	return n > 0 && n == len(q.words)
}

// isDOI reports whether the query is this DOI, in any of its spellings.
func (q *query) isDOI(doi string) bool {
	if q.doi == "" || doi == "" {
		return false
	}
	parsed, ok := parseDOI(doi)
	return ok && parsed == q.doi
}

// doiForm is the syntax of DOIs in practice: a registrant of four to nine digits, perhaps with subdivisions, and
// a suffix that may be nearly anything (DOI Handbook, 2.2).
var doiForm = regexp.MustCompile(`^10\.[0-9]{4,9}(\.[0-9]+)*/\S+$`)

var doiResolvers = []string{"doi.org/", "dx.doi.org/", "www.doi.org/"}

// parseDOI returns the bare, lower-case DOI (they are compared without case) of a text that is one, written plain,
// with doi: before it, or as the address of a resolver.
func parseDOI(text string) (string, bool) {
	doi := strings.ToLower(strings.TrimSpace(text))
	if rest, ok := strings.CutPrefix(doi, "doi:"); ok {
		doi = strings.TrimSpace(rest)
	}
	if rest, ok := cutResolver(doi); ok {
		doi = rest
		if plain, err := url.PathUnescape(rest); err == nil {
			doi = strings.ToLower(plain)
		}
	}
	return doi, doiForm.MatchString(doi)
}

// cutResolver returns what stands after the address of a DOI resolver.
func cutResolver(address string) (string, bool) {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	for _, host := range doiResolvers {
		if rest, ok := strings.CutPrefix(address, host); ok {
			return rest, true
		}
	}
	return "", false
}
