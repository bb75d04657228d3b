package format

import (
	"strings"
)

// command handles a command at a position, after writing the text before it with emit. Commands that delatex knows
// are left to it: handled is then false.
func (w *texWriter) command(s string, i, depth int, emit func(to int)) (next int, handled bool) {
	if s[i+1] == '\\' {
		emit(i)
		if w.flow.table != nil {
			w.flow.openRow()
			w.flow.openCell()
		} else {
			w.flow.want(gapLine)
		}
		return skipOptional(s, i+2), true
	}
	end := i + 1
	for end < len(s) && letter(s[end]) {
		end++
	}
	name := s[i+1 : end]
	after := skipOptional(s, end)
	switch {
	case name == "begin" || name == "end":
		emit(i)
		environment, next := w.braces(s, after)
		if name == "end" {
			w.endEnvironment(strings.TrimSuffix(environment, "*"))
			return next, true
		}
		return w.beginEnvironment(s, strings.TrimSuffix(environment, "*"), next), true
	case texHeadings[name] > 0 && !w.isShort:
		emit(i)
		title, next := w.braces(s, after)
		text := w.short(title)
		if name != "title" {
			w.heading = firstOf(w.heading, text)
		}
		w.flow.openHeading(texHeadings[name])
		w.flow.words(text)
		w.flow.closeHeading()
		return max(next, end), true
	case texDropped[name]:
		emit(i)
		_, next := w.braces(s, after)
		for next < len(s) && s[next] == '{' { // further arguments
			before := next
			if _, next = w.braces(s, next); next == before {
				break
			}
		}
		return max(next, end), true
	}
	return w.inlineCommand(s, name, i, end, depth, emit)
}

// inlineCommand handles commands within a paragraph.
func (w *texWriter) inlineCommand(
	s, name string, i, end, depth int, emit func(to int),
) (next int, handled bool) {
	after := skipOptional(s, end)
	switch name {
	case "item":
		emit(i)
		if w.lists == 0 {
			w.flow.want(gapLine)
		} else {
			w.flow.openItem()
		}
		return max(after, end), true
	case "par", "newpage", "clearpage", "maketitle", "bigskip", "medskip", "smallskip":
		emit(i)
		w.flow.want(gapParagraph)
		return end, true
	case "caption", "footnote", "href":
		emit(i)
		if name == "href" {
			_, after = w.braces(s, after) // the address
		}
		argument, next := w.braces(s, skipOptional(s, after))
		switch name {
		case "caption":
			w.flow.want(gapParagraph)
			w.write(argument, depth+1)
			w.flow.want(gapParagraph)
		case "footnote":
			w.flow.words(" (")
			w.write(argument, depth+1)
			w.flow.words(")")
		default:
			w.write(argument, depth+1)
		}
		return max(next, end), true
	}
	return end, false
}

// beginEnvironment handles the start of an environment and returns the position after it.
func (w *texWriter) beginEnvironment(s, name string, next int) int {
	switch name {
	case "itemize", "enumerate", "description":
		start := 0
		if name == "enumerate" {
			start = 1
		}
		w.lists++
		w.flow.openList(start)
		return skipOptional(s, next)
	case "abstract":
		w.flow.openHeading(2)
		w.flow.words("Abstract")
		w.flow.closeHeading()
	case "tabular", "tabularx", "longtable", "array":
		next = skipOptional(s, next)
		if name == "tabularx" {
			_, next = w.braces(s, next)
		}
		_, next = w.braces(s, next) // the columns
		w.flow.openTable()
		w.flow.openCell()
	case "verbatim", "lstlisting", "minted", "Verbatim":
		if body, found := w.until(s[next:], name); found {
			w.flow.want(gapParagraph)
			w.flow.verbatim(body)
			w.flow.want(gapParagraph)
			return next + len(body)
		}
	case "tikzpicture", "pgfpicture", "thebibliography", "filecontents":
		if body, found := w.until(s[next:], name); found && name != "thebibliography" {
			return next + len(body)
		}
		w.flow.want(gapParagraph)
		_, next = w.braces(s, next)
	default:
		w.flow.want(gapParagraph)
		next = skipOptional(s, next)
	}
	return next
}

// until returns the text before the end of an environment.
func (w *texWriter) until(s, environment string) (string, bool) {
	s = s[:min(len(s), 4*maxTexArgument)]
	body, _, found := strings.Cut(s, `\end{`+environment)
	w.b.Work(len(body) / 4)
	return body, found
}

func (w *texWriter) endEnvironment(name string) {
	switch name {
	case "itemize", "enumerate", "description":
		w.lists = max(0, w.lists-1)
		w.flow.closeList()
	case "tabular", "tabularx", "longtable", "array":
		if w.flow.table != nil {
			w.flow.closeTable()
		}
	default:
		w.flow.want(gapParagraph)
	}
}
