package research

import (
	"strings"

	"carrel/internal/research/quote"
)

// notAnswered is the reply of a model that finds no answer in the quotes.
const notAnswered = "NOT ANSWERED"

// answerStream streams an answer while it is written, under the same rules as the final one: no links, no images, no
// invented citations. It shows whole sentences, because half a sentence may contain half a link.
type answerStream struct {
	say    func(string)
	quotes map[int][]string
	text   strings.Builder
	// shown is the text that readers have seen. Later text must continue it.
	shown string
	ended bool
}

// write receives the next piece of the answer.
func (l *answerStream) write(piece string) {
	l.text.WriteString(piece)
	if l.ended || !strings.ContainsAny(piece, " \n") {
		return
	}
	text := l.text.String()
	if declinesToAnswer(text) {
		return
	}
	if end := lastSentenceEnd(text); end > 0 {
		l.show(text[:end])
	}
}

// end shows the rest of a complete answer.
func (l *answerStream) end(whole bool) {
	if text := l.text.String(); whole && !l.ended && !declinesToAnswer(text) {
		l.show(text)
	}
	l.ended = true
}

// show shows the part of a text that has not been shown.
func (l *answerStream) show(text string) {
	text = sanitize(text, l.quotes).Text
	rest, ok := strings.CutPrefix(text, l.shown)
	if !ok {
		// Later text has changed what was already shown. The final reply replaces it.
		l.ended = true
		return
	}
	if rest != "" {
		l.say(rest)
		l.shown = text
	}
}

// declinesToAnswer reports whether an answer is notAnswered or a prefix of it.
func declinesToAnswer(text string) bool {
	text = strings.TrimLeft(text, " \n\t*\"'")
	return strings.HasPrefix(text, notAnswered) || strings.HasPrefix(notAnswered, text)
}

// lastSentenceEnd returns the end of the last sentence or line outside of brackets, in bytes, or 0.
func lastSentenceEnd(text string) int {
	const open, closed = "([<`", ")]>`"
	end := 0
	var stack []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch at := strings.IndexByte(closed, c); {
		case at >= 0 && len(stack) > 0 && stack[len(stack)-1] == open[at]:
			stack = stack[:len(stack)-1]
		case strings.IndexByte(open, c) >= 0:
			stack = append(stack, c)
		case c == '\n':
			if i > 0 && text[i-1] == '\n' {
				stack = stack[:0] // a sentence ends at an empty line
			}
			if len(stack) == 0 {
				end = i + 1
			}
		case len(stack) == 0 && strings.HasPrefix(text[i:], "。"):
			end = i + len("。")
		case c == ' ' && len(stack) == 0 && i > 0 && strings.IndexByte(".!?]", text[i-1]) >= 0:
			end = i
		}
	}
	return end
}

// sanitize removes links and unknown citations from an answer, and checks the rest.
func sanitize(text string, quotes map[int][]string) quote.Checks {
	// Removing a citation can turn the text around it into a link.
	const passes = 3
	checks := quote.Check(quote.Plain(text, nil), quotes)
	for range passes {
		plain := quote.Plain(checks.Text, nil)
		if plain == checks.Text {
			break
		}
		checks = quote.Check(plain, quotes)
	}
	return checks
}
