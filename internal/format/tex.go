package format

import (
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/lazyregexp"
	"carrel/internal/source"
)

const (
	// maxTexDepth limits the nesting of arguments, each of which is read again.
	maxTexDepth = 12
	workTex     = 8
)

var texComment = lazyregexp.New(`(^|[^\\])%[^\n]*(?:\n[ \t]*)?`)

// parseTeX reads a LaTeX file.
func parseTeX(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Work(workTex * len(data))
	b.Hold(4 * len(data))
	content, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	content = texComment.ReplaceAllString(content, "$1")
	head, body, found := strings.Cut(content, `\begin{document}`)
	if !found {
		head, body = "", content
	}
	body, _, _ = strings.Cut(body, `\end{document}`)
	w := &texWriter{b: b}
	w.write(body, 0)
	d := source.Document{Text: w.flow.String()}
	front := head + body[:min(len(body), firstLook)]
	d.Title = oneLine(firstOf(w.short(w.field(front, "title")), w.heading, titleLine(d.Text), stem(name)))
	for _, author := range strings.Split(w.field(front, "author"), `\and`) {
		author, _, _ = strings.Cut(author, `\\`) // the affiliation
		d.Authors = append(d.Authors, splitNames(w.short(texThanks.ReplaceAllString(author, "")))...)
	}
	d.Authors = cleanNames(d.Authors)
	if d.Year = yearOfDate(w.field(front, "date")); d.Year == 0 {
		d.Year = yearIn(d.Text)
	}
	d.DOI = doiIn(d.Text)
	return d, nil
}

var texThanks = lazyregexp.New(`\\(?:thanks|footnote|inst|orcid|email|affil)\s*\{[^{}]*\}|\$\^[^$]*\$`)

// field returns the argument of a command in the preamble.
func (w *texWriter) field(head, command string) string {
	at := strings.Index(head, `\`+command)
	for at >= 0 {
		end := at + len(command) + 1
		if end < len(head) && !letter(head[end]) {
			value, _ := w.braces(head, skipOptional(head, end))
			return value
		}
		next := strings.Index(head[end:], `\`+command)
		if next < 0 {
			break
		}
		at = end + next
	}
	return ""
}

// short converts a short piece of LaTeX to text on one line.
func (w *texWriter) short(s string) string {
	inner := &texWriter{b: w.b, isShort: true}
	inner.write(cut(s, maxTitle*4), 1)
	return oneLine(strings.ReplaceAll(inner.flow.String(), "\n", " "))
}

// skipOptional returns the position after white space and optional arguments.
func skipOptional(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '*':
			i++
			continue
		case '[':
			end := strings.IndexByte(s[i:min(len(s), i+maxTitle)], ']')
			if end < 0 {
				return i
			}
			i += end + 1
			continue
		}
		return i
	}
	return i
}

// maxTexArgument limits the search for the end of an argument, which is charged because it may be in vain.
const maxTexArgument = 256 << 10

// braces returns the argument in braces at a position, and the position after it; "" if there is none.
func (w *texWriter) braces(s string, i int) (argument string, next int) {
	if i >= len(s) || s[i] != '{' {
		return "", i
	}
	depth := 0
	j := i
	defer func() { w.b.Work(2 * (j - i)) }()
	for ; j < min(len(s), i+maxTexArgument); j++ {
		switch s[j] {
		case '\\':
			j++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return s[i+1 : j], j + 1
			}
		}
	}
	return "", i + 1
}

// texWriter collects the text of a LaTeX file.
type texWriter struct {
	b       *budget.Budget
	flow    flow
	heading string
	lists   int
	// isShort is set for titles, in which sections don't occur.
	isShort bool
}

// texHeadings maps sectioning commands to levels.
var texHeadings = map[string]int{
	"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6,
	"title": 1,
}

// texDropped are commands whose argument is no text.
var texDropped = map[string]bool{
	"label": true, "ref": true, "eqref": true, "pageref": true, "autoref": true, "cref": true, "Cref": true,
	"cite": true, "citep": true, "citet": true, "citealp": true, "citeauthor": true, "citeyear": true, "parencite": true,
	"textcite": true, "autocite": true, "nocite": true, "includegraphics": true, "input": true, "include": true,
	"bibliography": true, "bibliographystyle": true, "usepackage": true, "documentclass": true, "vspace": true,
	"hspace": true, "setlength": true, "pagestyle": true, "thispagestyle": true, "author": true, "date": true,
	"affiliation": true, "email": true, "newcommand": true, "renewcommand": true, "def": true, "index": true,
	"pagenumbering": true, "setcounter": true, "addtocounter": true, "addbibresource": true, "color": true,
	"graphicspath": true, "hypersetup": true, "fontsize": true, "selectlanguage": true, "tikzset": true,
}

// write reads a piece of LaTeX. Depth is the nesting of arguments.
func (w *texWriter) write(s string, depth int) {
	if depth > maxTexDepth {
		return
	}
	if depth > 0 {
		w.b.Work(workTex * len(s))
	}
	plain := 0
	emit := func(to int) {
		if to > plain {
			w.plain(s[plain:to])
		}
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (letter(s[i+1]) || s[i+1] == '\\'):
			next, handled := w.command(s, i, depth, emit)
			if i = next; handled {
				plain = i
			}
		case c == '\\':
			i += 2
		case c == '\n' && i+1 < len(s) && strings.HasPrefix(strings.TrimLeft(s[i+1:min(len(s), i+40)], " \t"), "\n"):
			emit(i)
			w.flow.want(gapParagraph)
			i++
			plain = i
		case c == '&' && w.flow.table != nil:
			emit(i)
			w.flow.openCell()
			i++
			plain = i
		default:
			i++
		}
	}
	if plain < len(s) {
		emit(len(s))
	}
}

// plain writes text without structure.
func (w *texWriter) plain(s string) {
	text := delatex(s)
	if text == "" {
		if strings.TrimSpace(s) == "" && s != "" {
			w.flow.want(gapSpace)
		}
		return
	}
	if strings.ContainsRune(" \t\n~", rune(s[0])) {
		text = " " + text
	}
	if strings.ContainsRune(" \t\n~", rune(s[len(s)-1])) {
		text += " "
	}
	w.flow.words(text)
}
