// Package markdown escapes untrusted text for Markdown, so that it cannot form headings, links, images or other markup.
// The only links are those written by Link.
package markdown

import (
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

// escapes escapes every character with a meaning inside a line, in CommonMark and in common extensions (strike-through,
// mathematics). The last entries prevent automatic links.
var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `&`, `\&`, `~`, `\~`, `$`, `\$`,
	`@`, `\@`, `://`, `\://`, `www.`, `www\.`, `WWW.`, `WWW\.`,
)

// Text escapes a single line for use anywhere except at the start of a line.
func Text(line string) string { return escapes.Replace(line) }

// Start escapes the start of a line written by Text, where it would begin a heading, a list, a rule or a definition.
func Start(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		return s[:digits] + `\` + s[digits:]
	case s != "" && strings.ContainsRune("#+-=>|:", rune(s[0])):
		return `\` + s
	}
	return s
}

// Paragraphs escapes a text of several lines. Blank lines separate paragraphs and line breaks are kept. Indentation is
// removed, because it would start a code block.
func Paragraphs(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = core.OneLine(line)
		if line == "" {
			if n := len(out); n > 0 && out[n-1] != "" {
				out = append(out, "")
			}
			continue
		}
		if n := len(out); n > 0 && out[n-1] != "" {
			out[n-1] += "  " // a hard line break
		}
		// A line of dashes and bars would turn the line above into a table.
		out = append(out, Start(strings.ReplaceAll(Text(line), "|", `\|`)))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// entity matches an HTML entity in a URL, such as &copy; in "?a=1&copy;=2", which renderers would decode.
var entity = lazyregexp.New(`&(#?[0-9A-Za-z]+;)`)

// Link writes a link to a percent-encoded http or https URL. Brackets are encoded, because they would end the link.
func Link(text, address string) string {
	address = strings.NewReplacer("(", "%28", ")", "%29").Replace(address)
	return "[" + Text(text) + "](" + entity.ReplaceAllString(address, "&amp;$1") + ")"
}

// Item writes an item of a numbered list.
func Item(n int, markdown string) string { return strconv.Itoa(n) + ". " + markdown + "\n" }
