package quote

import (
	"strings"
	"sync"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
)

// Intent is what a message is about.
type Intent uint8

// The intents.
const (
	AskSources   Intent = iota // a question to the sources; every message that is nothing else
	Greeting                   // "Hello!"
	Thanks                     // "Thanks, that helps."
	Remark                     // "OK", "Goodbye"; needs no answer
	AskAbilities               // "What can you do?"
	AskAboutUser               // "What do you know about me?"
	AskHistory                 // "What did I ask first?"
	Rewrite                    // "Shorten that", "Translate your last answer into German"
)

// longestTalk is the number of words up to which a message can be anything but a question to the sources.
const longestTalk = 16

// IntentOf classifies a message by its words, in the languages that have a language.Conversation. A message that holds
// a greeting or thanks and a question is a question to the sources.
func IntentOf(message string) Intent {
	intent, _ := classify(message)
	return intent
}

// classify returns the intent of a message and the language in which it was recognized, which is nil for AskSources.
func classify(message string) (Intent, *language.Language) {
	words := plainWords(message)
	if len(words) == 0 || len(words) > longestTalk {
		return AskSources, nil
	}
	for _, c := range conversations() {
		if intent := c.intent(words); intent != AskSources {
			return intent, c.language
		}
	}
	return AskSources, nil
}

// conversation is a language.Conversation as lists of phrases, each a list of words.
type conversation struct {
	language                                                              *language.Language
	greetings, thanks, remarks, courtesies, abilities, aboutUser, history [][]string
	polite, rewrites, pronouns, replies, joins, forms                     [][]string
}

var conversations = sync.OnceValue(func() []conversation {
	var out []conversation
	// The default language comes first: "Hi" is a greeting in several.
	for _, l := range append([]*language.Language{language.Lookup(language.Default)}, language.All()...) {
		c := l.Conversation
		if c == nil || len(out) > 0 && l.Code == language.Default {
			continue
		}
		out = append(out, conversation{
			language:  l,
			greetings: phrasesOf(c.Greetings), thanks: phrasesOf(c.Thanks), remarks: phrasesOf(c.Remarks),
			courtesies: phrasesOf(c.Courtesies), abilities: phrasesOf(c.Abilities), aboutUser: phrasesOf(c.AboutUser),
			history: phrasesOf(c.History),
			polite:  phrasesOf(c.Polite), rewrites: phrasesOf(c.Rewrites), pronouns: phrasesOf(c.Pronouns),
			replies: phrasesOf(c.Replies), joins: phrasesOf(c.Joins), forms: phrasesOf(c.Forms),
		})
	}
	return out
})

// phrasesOf splits a list of phrases that are separated by bars.
func phrasesOf(list string) [][]string {
	var out [][]string
	for phrase := range strings.SplitSeq(list, "|") {
		if words := strings.Fields(phrase); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// plainWords returns the words of a text in lower case, without punctuation. Apostrophes are dropped: "whats".
func plainWords(text string) []string {
	text = strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
}

func (c *conversation) intent(words []string) Intent {
	switch {
	case c.courteous(words, c.greetings):
		return Greeting
	case c.courteous(words, c.thanks):
		return Thanks
	case prefix(words, c.remarks) == len(words):
		return Remark
	}
	for len(words) > 1 && prefix(words, c.polite) > 0 {
		words = words[prefix(words, c.polite):]
	}
	switch {
	case c.endsWith(words, c.aboutUser):
		return AskAboutUser
	case contains(words, c.history):
		return AskHistory
	case prefix(words, c.abilities) == len(words):
		return AskAbilities
	case c.rewrite(words):
		return Rewrite
	}
	return AskSources
}

// courteous reports whether a message holds one of the phrases, and nothing else but courtesies.
func (c *conversation) courteous(words []string, phrases [][]string) bool {
	found := false
	for len(words) > 0 {
		n := prefix(words, phrases)
		if n > 0 {
			found = true
		} else if n = prefix(words, c.courtesies); n == 0 {
			return false
		}
		words = words[n:]
	}
	return found
}

// rewrite reports whether a message asks to rewrite an earlier answer.
func (c *conversation) rewrite(words []string) bool {
	polite := func(rest []string) []string {
		for len(rest) > 0 && prefix(rest, c.polite) > 0 {
			rest = rest[prefix(rest, c.polite):]
		}
		return rest
	}
	if n := prefix(words, c.forms); n > 0 && len(polite(words[n:])) == 0 {
		return true
	}
	verb := prefix(words, c.rewrites)
	if verb == 0 {
		return false
	}
	rest := words[verb:]
	if contains(rest, c.replies) {
		return true
	}
	if n := prefix(rest, c.forms); n > 0 { // "make a table of the two"
		rest = rest[n:]
		if len(rest) > 0 && !contains(rest, c.pronouns) {
			return false
		}
		return len(rest) > 0 || n > 0
	}
	for i := range rest {
		n := prefix(rest[i:], c.pronouns)
		if n == 0 {
			continue
		}
		after := rest[i+n:]
		if len(polite(after)) == 0 {
			return !isExplain(words[0]) // "explain it" asks the sources about it
		}
		if prefix(after, c.joins) > 0 || prefix(polite(after), c.forms) > 0 {
			return true
		}
	}
	return false
}

// isExplain reports whether a verb asks for an explanation rather than for another form of the answer.
func isExplain(verb string) bool {
	return verb == "explain" || verb == "expand" || strings.HasPrefix(verb, "erklär") ||
		strings.HasPrefix(verb, "expli")
}

// prefix returns the number of words of the longest phrase that the words begin with, or 0.
func prefix(words []string, phrases [][]string) int {
	longest := 0
	for _, phrase := range phrases {
		if len(phrase) <= longest || len(phrase) > len(words) {
			continue
		}
		same := true
		for i, word := range phrase {
			same = same && words[i] == word
		}
		if same {
			longest = len(phrase)
		}
	}
	return longest
}

// endsWith reports whether the words end with one of the phrases, and after it with nothing but courtesies.
func (c *conversation) endsWith(words []string, phrases [][]string) bool {
	for i := range words {
		n := prefix(words[i:], phrases)
		if n == 0 {
			continue
		}
		rest := words[i+n:]
		for len(rest) > 0 && max(prefix(rest, c.courtesies), prefix(rest, c.polite)) > 0 {
			rest = rest[max(prefix(rest, c.courtesies), prefix(rest, c.polite)):]
		}
		if len(rest) == 0 {
			return true
		}
	}
	return false
}

// contains reports whether the words contain one of the phrases.
func contains(words []string, phrases [][]string) bool {
	for i := range words {
		if prefix(words[i:], phrases) > 0 {
			return true
		}
	}
	return false
}

// Occasion is what the reply to a message without a question needs.
type Occasion struct {
	// Message decides the language of the reply.
	Message string
	// Examples are questions that the sources can answer; see Extractor.Examples.
	Examples []string
	// Memories are the notes about the user.
	Memories []string
	// Questions are the earlier messages of the user in the thread, oldest first.
	Questions []string
}

// Reply returns the reply without a model to a message that is no question to the sources, as Markdown. It returns ""
// for AskSources.
func Reply(intent Intent, o Occasion) string {
	c := conversationFor(o.Message)
	switch intent {
	case Greeting:
		return withList(c.Hello, c.YouCouldAsk, o.Examples)
	case Thanks:
		return c.Welcome
	case Remark:
		return c.Acknowledged
	case AskAbilities:
		return withList(c.Able, c.YouCouldAsk, o.Examples)
	case AskAboutUser:
		if len(o.Memories) == 0 {
			return c.NothingRemembered
		}
		return withList("", c.Remembered, o.Memories)
	case AskHistory:
		if len(o.Questions) == 0 {
			return c.NothingAsked
		}
		return withList("", c.Asked, o.Questions)
	case Rewrite:
		return c.NoRewriting
	}
	return ""
}

// conversationFor returns the texts in the language of a message, or in the default language.
func conversationFor(message string) *language.Conversation {
	_, l := classify(message)
	if l == nil {
		l = language.Lookup(analysis.Guess(message))
	}
	if l == nil || l.Conversation == nil {
		l = language.Lookup(language.Default)
	}
	return l.Conversation
}

// withList returns a text and a list with an introduction. An empty list is left out.
func withList(text, introduction string, items []string) string {
	if len(items) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	if text != "" {
		b.WriteString("\n\n")
	}
	b.WriteString(introduction + "\n")
	for _, item := range items {
		b.WriteString("\n- " + strings.Join(strings.Fields(item), " "))
	}
	return b.String()
}
