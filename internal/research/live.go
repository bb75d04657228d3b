package research

import (
	"strings"

	"carrel/internal/research/quote"
)

// notAnswered is what a model says that finds no answer in its quotes.
const notAnswered = "NOT ANSWERED"

// live shows an answer while it is being written, with the same rules as for the final one: no link, no image, no
// mark that was not given out. It shows whole sentences, since half of one may be half of a link.
type live struct {
	say    func(string)
	quotes map[int][]string
	text   strings.Builder
	// shown is what readers have seen; what comes must go on from there.
	shown string
	ended bool
}

// hear takes the next piece of the answer.
func (l *live) hear(piece string) {
	l.text.WriteString(piece)
	if l.ended || !strings.ContainsAny(piece, " \n") {
		return
	}
	text := l.text.String()
	if declines(text) {
		return
	}
	if end := wholeUpTo(text); end > 0 {
		l.show(text[:end])
	}
}

// end shows the rest of an answer that is whole.
func (l *live) end(whole bool) {
	if text := l.text.String(); whole && !l.ended && !declines(text) {
		l.show(text)
	}
	l.ended = true
}

// show shows a text as far as it has not been shown.
func (l *live) show(text string) {
	text = tidy(text, l.quotes).Text
	rest, ok := strings.CutPrefix(text, l.shown)
	if !ok {
		// What came changed what was before it. The reply will have it right.
		l.ended = true
		return
	}
	if rest != "" {
		l.say(rest)
		l.shown = text
	}
}

// declines reports whether an answer is, or may become, that there is none.
func declines(text string) bool {
	text = strings.TrimLeft(text, " \n\t*\"'")
	return strings.HasPrefix(text, notAnswered) || strings.HasPrefix(notAnswered, text)
}

// wholeUpTo returns the end of the last sentence or line that leaves no bracket open, in bytes, or 0.
func wholeUpTo(text string) int {
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
				stack = stack[:0] // no sentence goes on over an empty line
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

// tidy takes out of an answer what may not be in it, and checks the rest.
func tidy(text string, quotes map[int][]string) quote.Checks {
	// Taking out a mark can make a link of what was around it.
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
