// Package markdown writes texts of others into Markdown so that they stay texts: nothing in them becomes a heading, a
// link, an image or anything else. The only links are the ones that Link writes.
package markdown

import (
	"regexp"
	"strconv"
	"strings"

	"carrel/internal/core"
)

// escapes takes the meaning from every character that has one inside a line, in CommonMark and in the usual
// extensions (strike-through, mathematics). The last ones keep readers from making links by themselves of what looks
// like an address.
var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `&`, `\&`, `~`, `\~`, `$`, `\$`,
	`@`, `\@`, `://`, `\://`, `www.`, `www\.`, `WWW.`, `WWW\.`,
)

// Text writes a text that is one line, for any place but the start of a line.
func Text(line string) string { return escapes.Replace(line) }

// Start takes the meaning from what would start a block of its own at the beginning of a line that Text wrote: a
// heading, a list, a rule, a definition.
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

// Paragraphs writes a text of many lines: blank lines part paragraphs, and lines stay lines. Indents go, which would
// make code of what follows.
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
			out[n-1] += "  " // a line break that stays one
		}
		// A line of dashes and bars would make a table of the line above.
		out = append(out, Start(strings.ReplaceAll(Text(line), "|", `\|`)))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// entity is what readers decode inside an address, such as the &copy; of "?a=1&copy;=2".
var entity = regexp.MustCompile(`&(#?[0-9A-Za-z]+;)`)

// Link writes a link to an http or https address, which must be percent-encoded. A bracket would end it early.
func Link(text, address string) string {
	address = strings.NewReplacer("(", "%28", ")", "%29").Replace(address)
	return "[" + Text(text) + "](" + entity.ReplaceAllString(address, "&amp;$1") + ")"
}

// Item writes an item of a numbered list.
func Item(n int, markdown string) string { return strconv.Itoa(n) + ". " + markdown + "\n" }
