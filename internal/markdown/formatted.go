package markdown

import "strings"

// formattedEscapes escapes what could form a link, an image, HTML or an automatic link. Emphasis, lists, headings,
// tables and formulas stay as they are.
var formattedEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `[`, `\[`, `]`, `\]`, `<`, `\<`, `&`, `\&`, `@`, `\@`,
	`://`, `\://`, `www.`, `www\.`, `WWW.`, `WWW\.`,
)

// Formatted escapes a text in Markdown, such as an answer, and keeps its formatting except links, images and HTML.
// Headings are two levels deeper, below those of an export. Fenced code begins in the first column, because in a list
// its end would depend on the list.
func Formatted(text string) string {
	var out []string
	fence, indent := "", 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(printable(line), " \t")
		inner := strings.TrimLeft(line, " \t")
		switch {
		case fence != "" && closes(inner, fence):
			out = append(out, fence)
			fence = ""
		case fence != "":
			out = append(out, strings.TrimPrefix(line, strings.Repeat(" ", min(indent, leadingSpaces(line)))))
		case openingFence(inner) != "":
			fence, indent = openingFence(inner), leadingSpaces(line)
			out = append(out, fence+strings.TrimSpace(strings.TrimLeft(inner, fence[:1])))
		default:
			out = append(out, formattedLine(line))
		}
	}
	if fence != "" {
		out = append(out, fence)
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// printable removes control characters except tabs.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, line)
}

func leadingSpaces(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// infoCharacters are the characters of the language after the marks of fenced code.
const infoCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-# "

// openingFence returns the marks that open fenced code, or "".
func openingFence(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && strings.Trim(rest, infoCharacters) == "" {
			return line[:n]
		}
	}
	return ""
}

// closes reports whether a line without its indentation closes fenced code.
func closes(line, fence string) bool {
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// formattedLine escapes a line outside of fenced code. Code spans that begin and end on the line are kept; other
// backticks are escaped, so that a span cannot extend over lines.
func formattedLine(line string) string {
	line = lowerHeading(line)
	var b strings.Builder
	for line != "" {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			break
		}
		_, _ = b.WriteString(formattedEscapes.Replace(line[:at]))
		line = line[at:]
		marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		end := spanEnd(line[len(marks):], marks)
		// In a table, a bar ends the cell also inside of a span.
		if end < 0 || strings.Contains(line[:len(marks)+end], "|") {
			_, _ = b.WriteString(formattedEscapes.Replace(marks))
			line = line[len(marks):]
			continue
		}
		_, _ = b.WriteString(line[:len(marks)+end+len(marks)])
		line = line[2*len(marks)+end:]
	}
	_, _ = b.WriteString(formattedEscapes.Replace(line))
	return b.String()
}

// lowerHeading makes a heading two levels deeper. A line that would make a heading of the line above it becomes a rule
// or text.
func lowerHeading(line string) string {
	inner := strings.TrimLeft(line, " \t")
	rest := strings.TrimLeft(inner, "#")
	switch n := len(inner) - len(rest); {
	case n > 0 && n <= 6 && (rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t")):
		return strings.Repeat("#", min(6, n+2)) + rest
	case inner != "" && strings.Trim(inner, "-") == "":
		return "***"
	case inner != "" && strings.Trim(inner, "=") == "":
		return ""
	}
	return line
}

// spanEnd returns where a run of exactly these backticks begins, or -1.
func spanEnd(text, marks string) int {
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			return -1
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == len(marks) {
			return at
		}
		at += run
	}
	return -1
}
