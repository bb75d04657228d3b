package quote

import (
	"slices"
	"strings"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
)

// asking is the question phrases for one kind of answer, as foldWords returns them.
type asking struct {
	kind    kind
	phrases []string
}

// unitsOf are the terms of the units that a question phrase asks for.
type unitsOf struct {
	phrase []string
	terms  map[string]bool
}

// vocabulary is a language.Vocabulary as sets of terms.
type vocabulary struct {
	analyser  *analysis.Analyser
	questions []asking
	kinds     map[string]kind // kind of an answer that each term indicates
	// Words that refer back: at the beginning of a sentence, and in a question.
	openers, pronouns map[string]bool
	fillers           map[string]bool // fillers, as terms
	weak              map[string]bool // terms of language.Vocabulary.Weak
	placeAfter, cues  map[string]bool
	more, except      map[string]bool     // words of language.Vocabulary.Else and Except
	synonyms          map[string][]string // synonyms of each term
	how, what         [][]string
	units             []unitsOf
	works, listing    map[string]bool
	listAll, library  [][]string
	comparisons       [][]string
}

func newVocabulary(a *analysis.Analyser) *vocabulary {
	var w language.Vocabulary
	if known := language.Lookup(a.Language()).Vocabulary; known != nil {
		w = *known
	}
	v := &vocabulary{analyser: a, openers: wordSet(w.Subjects), pronouns: wordSet(w.Pronouns), questions: questionsOf(w)}
	for _, asking := range v.questions {
		for i, phrase := range asking.phrases {
			asking.phrases[i] = foldWords(a, phrase)
		}
	}
	v.fillers = make(map[string]bool)
	for token := range a.Tokens(w.Fillers + " " + w.Pronouns) {
		v.fillers[token.Term] = true
	}
	v.weak = make(map[string]bool)
	for token := range a.Tokens(w.Weak) {
		v.weak[token.Term] = true
	}
	v.placeAfter, v.cues = wordSet(w.PlaceAfter), wordSet(w.Cues)
	v.more, v.except = wordSet(w.Else), wordSet(w.Except)
	v.how, v.what = phrasesOf(w.How), phrasesOf(w.What)
	v.works, v.listing = wordSet(w.Works), wordSet(w.Listing)
	v.listAll, v.library, v.comparisons = phrasesOf(w.ListAll), phrasesOf(w.Library), phrasesOf(w.Compare)
	for entry := range strings.SplitSeq(strings.Join(strings.Fields(w.Units), " "), "|") {
		phrase, words, _ := strings.Cut(entry, "=")
		terms := make(map[string]bool)
		for token := range a.Tokens(words) {
			terms[token.Term] = true
		}
		if len(terms) > 0 {
			v.units = append(v.units, unitsOf{strings.Fields(phrase), terms})
		}
	}
	v.synonyms = synonymsOf(a, w.Synonyms)
	v.kinds = make(map[string]kind)
	for kind, words := range map[kind]string{number: w.Numbers, date: w.Dates, cause: w.Causes} {
		for token := range a.Tokens(words) {
			v.kinds[token.Term] = kind
		}
	}
	return v
}

// questionsOf returns the question phrases of a language with the kind of answer that each asks for.
func questionsOf(w language.Vocabulary) []asking {
	var out []asking
	for _, q := range []struct {
		kind    kind
		phrases string
	}{{number, w.HowMany}, {date, w.When}, {name, w.Who}, {place, w.Where}, {cause, w.Why}} {
		if q.phrases != "" {
			phrases := strings.Split(strings.Join(strings.Fields(q.phrases), " "), "|")
			out = append(out, asking{q.kind, phrases})
		}
	}
	return out
}

// synonymsOf maps each term to the other terms of its groups.
func synonymsOf(a *analysis.Analyser, groups string) map[string][]string {
	out := make(map[string][]string)
	for group := range strings.SplitSeq(groups, "|") {
		var terms []string
		for token := range a.Tokens(group) {
			terms = append(terms, token.Term)
		}
		for i, t := range terms {
			out[t] = slices.Concat(out[t], terms[:i], terms[i+1:])
		}
	}
	return out
}

var unspacedQuestions = questionsOf(language.Unspaced)

// unspacedFrame removes the fillers of questions in scripts without spaces.
var unspacedFrame = func() *strings.Replacer {
	var pairs []string
	for _, filler := range language.UnspacedFillers {
		pairs = append(pairs, filler, " ")
	}
	return strings.NewReplacer(pairs...)
}()
