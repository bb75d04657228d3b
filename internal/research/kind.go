package research

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/lazyregexp"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
)

// kind is the kind of reply that a message needs. A message can have several kinds.
type kind string

const (
	kindSources        kind = "sources"        // facts from the library
	kindConversation   kind = "conversation"   // a reply from the thread, the memories and the agent's description
	kindTransformation kind = "transformation" // earlier answers in another form
	kindAction         kind = "action"         // a change to memories or favourites
)

var allKinds = []kind{kindSources, kindConversation, kindTransformation, kindAction}

// guess is the classification of a message by its words alone, for models that do not return a usable plan.
type guess struct {
	kinds []kind
	// sure is set if the words leave no doubt. A plan that says something else is then wrong.
	sure bool
	// smallTalk is set if the whole message is a greeting or the like, which needs no plan.
	smallTalk bool
}

func (g guess) has(k kind) bool { return slices.Contains(g.kinds, k) }

// The patterns match messages in English and German, folded to lower case without punctuation at the ends.
var (
	severalAnswers = lazyregexp.New(`(?:^| )(?:both|the two|two answers|them|these|those|your answers|` +
		`beide[ns]?|die (?:beiden|zwei)|` +
		`deine antworten)(?: |$)`)
	questionWord = lazyregexp.New(`(?:^| )(?:who|whom|whose|what|when|where|why|how|which|wer|wen|wem|was|` +
		`wann|wo|warum|wieso|` +
		`weshalb|wie|welche[rsnm]?)(?: |$)`)
	firstPerson = lazyregexp.New(`(?:^| )(?:i|me|my|mine|myself|ich|mich|mir|mein(?:e[rsnm]?)?)(?: |$)`)
)

// foldSentence returns a sentence in the form that the patterns match.
func foldSentence(s string) string {
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) || r == ' ' })
}

// guessKind classifies a message, from which requests for actions have been removed. earlier reports whether the thread
// has an answer that a message can refer to.
func guessKind(text string, earlier bool) guess {
	out := guess{sure: true, smallTalk: true}
	for _, sentence := range sentencesOf(text) {
		k, sure, small := guessSentence(foldSentence(sentence), earlier)
		if !slices.Contains(out.kinds, k) {
			out.kinds = append(out.kinds, k)
		}
		out.sure, out.smallTalk = out.sure && sure, out.smallTalk && small
	}
	if len(out.kinds) == 0 {
		return guess{kinds: []kind{kindConversation}}
	}
	// A greeting before a question does not make the message a conversation.
	if len(out.kinds) > 1 {
		out.kinds = slices.DeleteFunc(out.kinds, func(k kind) bool { return k == kindConversation })
	}
	return out
}

func guessSentence(s string, earlier bool) (k kind, sure, small bool) {
	intent := quote.IntentOf(s)
	switch {
	case s == "", isSmallTalk(intent):
		return kindConversation, true, true
	case intent == quote.AskAbilities, intent == quote.AskAboutUser, intent == quote.AskHistory:
		return kindConversation, true, false
	case earlier && intent == quote.Rewrite:
		return kindTransformation, true, false
	case contentWords(s) > 0 || earlier && questionWord.MatchString(s):
		return kindSources, false, false // "And why?" continues the question before it
	}
	return kindConversation, false, false
}

// isSmallTalk reports whether a message is a greeting or the like.
func isSmallTalk(intent quote.Intent) bool {
	return intent == quote.Greeting || intent == quote.Thanks || intent == quote.Remark
}

// contentWords counts the words of a sentence that are not stop words.
func contentWords(s string) int {
	n := 0
	for token := range analysis.New(analysis.Guess(s)).Tokens(s) {
		if !token.Stop {
			n++
		}
	}
	return n
}

// decideKinds returns the kinds of a message from the plan of the model and the guess by words. The plan decides,
// unless it has none, or the words leave no doubt that it is wrong.
func decideKinds(planned []kind, by guess) []kind {
	agrees := slices.ContainsFunc(by.kinds, func(k kind) bool { return slices.Contains(planned, k) })
	if len(planned) == 0 || by.sure && !agrees {
		return by.kinds
	}
	return planned
}
