package check

import (
	"strings"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// State is the result of judging a sentence.
type State string

// The states of a sentence. Memory is set by the caller, for sentences from a note about the user.
const (
	Quoted       State = "quoted"       // verbatim from the quote
	Supported    State = "supported"    // follows from the quote
	Cited        State = "cited"        // has evidence that the rules cannot judge
	Contradicted State = "contradicted" // the quote says otherwise
	Unsupported  State = "unsupported"  // the quote does not say it
	Uncited      State = "uncited"      // states a fact without evidence
	Talk         State = "talk"         // states no fact: a greeting, question or instruction
	Memory       State = "memory"
)

// Reason is why a sentence has its state. The codes are stable.
type Reason string

// The reasons.
const (
	NoReason         Reason = ""
	NumberDiffers    Reason = "number_differs"
	NumberAbsent     Reason = "number_absent"
	UnitDiffers      Reason = "unit_differs"
	DateDiffers      Reason = "date_differs"
	NameDiffers      Reason = "name_differs"
	NameAbsent       Reason = "name_absent"
	NegationDiffers  Reason = "negation"
	AntonymFound     Reason = "antonym"
	QuantifierChange Reason = "quantifier"
	HedgeDropped     Reason = "hedge"
	ComparisonTurned Reason = "comparison"
	OrdinalDiffers   Reason = "ordinal"
	RolesSwapped     Reason = "roles_swapped"
	CauseClaimed     Reason = "causality"
	NotCovered       Reason = "not_covered"
	WordsAbsent      Reason = "words_absent"
)

// Evidence is a quote with its surroundings.
type Evidence struct {
	Quote string
	// Context is the paragraph of the quote with its heading. It may be empty.
	Context string
	Title   string
	Year    int // of publication, or 0
}

// Finding is the result of judging a sentence.
type Finding struct {
	State  State
	Reason Reason
	// Detail explains the reason to people: "The source says 1971, the sentence 1978."
	Detail string
	// Evidence is the index of the evidence that decided, or -1.
	Evidence int
	// Start and End are the code points of its quote that decided, the end exclusive. Both are 0 if no part of the
	// quote decided.
	Start, End int
}

// Weights tells how much a term says about a text, such as its inverse document frequency. Terms are in the form of
// package analysis.
type Weights interface {
	Weight(term string) float64
}

// lengthWeights weighs a term by its length, which needs no index: short words are frequent ones.
type lengthWeights struct{}

func (lengthWeights) Weight(term string) float64 { return 1 + 0.15*float64(min(len(term), 12)) }

// Limits of the compared texts, in code points. The rest of a longer text is ignored.
const (
	maxSentence = 2000
	maxQuote    = 6000
)

// Judge judges a sentence by its evidence. The language is a code of package language, or empty if it is unknown. W
// may be nil. The time is linear in the length of the texts, of which the first 2,000 code points of the sentence and
// 6,000 of each quote and context are read. Judge is safe for concurrent use.
func Judge(sentence, language string, evidence []Evidence, w Weights) Finding {
	sentence = cut(withoutCitations(sentence), maxSentence)
	switch {
	case !Claims(sentence, language):
		return Finding{State: Talk, Evidence: -1}
	case len(evidence) == 0:
		return Finding{State: Uncited, Evidence: -1}
	}
	if w == nil {
		w = lengthWeights{}
	}
	j := newJudge(sentence, language, evidence, w)
	defer j.release()
	best := Finding{State: Unsupported, Reason: NotCovered, Evidence: -1, Detail: detailNotCovered}
	for i := range evidence {
		f := j.judge(i)
		if rank(f.State) > rank(best.State) || best.Evidence < 0 {
			best = f
		}
		if best.State == Quoted {
			return best
		}
	}
	if len(evidence) > 1 && rank(best.State) < rank(Supported) {
		best = j.together(best)
	}
	return best
}

// rank orders the findings of several quotes. Support outweighs contradiction.
func rank(s State) int {
	switch s {
	case Quoted:
		return 4
	case Supported:
		return 3
	case Contradicted:
		return 2
	case Cited:
		return 1
	}
	return 0
}

// withoutCitations removes citations such as [1] and [2, 3].
func withoutCitations(text string) string {
	if !strings.ContainsAny(text, "[【") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexAny(text, "[【")
		if at < 0 {
			break
		}
		size := citationSize(text[at:])
		if size == 0 {
			_, size = utf8.DecodeRuneInString(text[at:])
			b.WriteString(text[:at+size])
		} else {
			b.WriteString(strings.TrimRight(text[:at], " "))
		}
		text = text[at+size:]
	}
	b.WriteString(text)
	return b.String()
}

// citationSize returns the bytes of the citation at the start of a text, or 0.
func citationSize(text string) int {
	const longest = 40
	closing, open := "]", 1
	if strings.HasPrefix(text, "【") {
		closing, open = "】", len("【")
	}
	end := strings.Index(text[:min(len(text), longest)], closing)
	if end <= open {
		return 0
	}
	inner := text[open:end]
	if strings.Trim(inner, "0123456789,;- –") != "" || !strings.ContainsAny(inner, "0123456789") {
		return 0
	}
	return end + len(closing)
}

// cut returns the first n code points of a text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// languageOf returns the given language, or the guessed language of the texts.
func languageOf(language string, texts ...string) string {
	if language != "" {
		return language
	}
	return analysis.Guess(strings.Join(texts, " "))
}
