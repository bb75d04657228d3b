package format

import (
	"strings"

	"carrel/internal/source"
)

// frontMatter is the metadata between two "---" lines of a Markdown file: values by lower-case key.
type frontMatter map[string][]string

// maxFrontMatter limits the search for the closing line.
const maxFrontMatter = 64 << 10

// cutFrontMatter splits front matter from the text. Front matter that is not closed is part of the text.
func cutFrontMatter(source string) (frontMatter, string) {
	first, rest, more := strings.Cut(source, "\n")
	if !more || strings.TrimRight(first, " \t") != "---" {
		return nil, source
	}
	for at := 0; at < min(len(rest), maxFrontMatter); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if mark := strings.TrimRight(line, " \t"); mark == "---" || mark == "..." {
			return parseFrontMatter(rest[:at]), rest[min(at+len(line)+1, len(rest)):]
		}
		at += len(line) + 1
	}
	return nil, source
}

// parseFrontMatter parses the common subset of YAML: "key: value", "key: [a, b]", and a key followed by "- a" lines
// or indented text. Other YAML is skipped, because a text should not be rejected for its metadata.
func parseFrontMatter(head string) frontMatter {
	fm := make(frontMatter)
	key, open := "", ""
	for line := range strings.Lines(head) {
		trimmed := strings.TrimSpace(line)
		indented := line[0] == ' ' || line[0] == '\t'
		item, isItem := strings.CutPrefix(trimmed, "- ")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case open != "":
			// A list in brackets continues until it is closed.
			if open += " " + trimmed; strings.Contains(trimmed, "]") {
				fm.set(key, open)
				open = ""
			}
		case isItem && key != "":
			fm.add(key, itemValue(item))
		case indented && key != "":
			fm.lengthen(key, trimmed)
		case !indented:
			name, value, isPair := strings.Cut(trimmed, ":")
			if key = ""; isPair {
				key, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
				if strings.HasPrefix(value, "[") && !strings.Contains(value, "]") {
					open = value
					break
				}
				fm.set(key, value)
			}
		}
	}
	return fm
}

// set stores the value on the line of its key.
func (fm frontMatter) set(key, value string) {
	switch value {
	case "", "|", ">", "|-", ">-", "|+", ">+", "~", "null":
		// The value is on the following lines, or missing.
		delete(fm, key)
		return
	}
	if inner, isList := strings.CutPrefix(value, "["); isList {
		fm[key] = nil
		inner, _, _ = strings.Cut(inner, "]")
		for _, item := range splitList(inner) {
			fm.add(key, item)
		}
		return
	}
	fm[key] = []string{scalar(value)}
}

func (fm frontMatter) add(key, value string) {
	if value = scalar(value); value != "" {
		fm[key] = append(fm[key], value)
	}
}

// lengthen appends an indented line to the value above it, unless it is a pair of a nested object.
func (fm frontMatter) lengthen(key, line string) {
	values := fm[key]
	switch {
	case len(values) > 1 || strings.Contains(line, ": "):
	case len(values) == 1:
		values[0] += " " + scalar(line)
	default:
		fm[key] = []string{scalar(line)}
	}
}

// itemValue returns the value of a list item. An item may be an object whose first pair is the name, as in lists of
// authors.
func itemValue(item string) string {
	for _, name := range []string{"name:", "literal:"} {
		if value, isName := strings.CutPrefix(item, name); isName {
			return value
		}
	}
	return item
}

// splitList splits at commas outside quotes.
func splitList(s string) []string {
	var out []string
	var quote rune
	start := 0
	for i, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '"' || r == '\'') && strings.TrimSpace(s[start:i]) == "":
			quote = r
		case r == ',':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// scalar removes the quotes of a value, or the comment after an unquoted one.
func scalar(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "'") {
		if inner, closed := unquote(s[1:], s[0]); closed {
			return inner
		}
	}
	if at := strings.Index(s, " #"); at >= 0 {
		s = strings.TrimSpace(s[:at])
	}
	return s
}

// unquote returns the text up to the closing quote, after which only a comment may follow. A quote inside the value is
// doubled in single quotes, and escaped with a backslash in double quotes.
func unquote(s string, quote byte) (inner string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		next := byte(0)
		if i+1 < len(s) {
			next = s[i+1]
		}
		switch {
		case quote == '"' && s[i] == '\\' && (next == quote || next == '\\'), quote == '\'' && s[i] == quote &&
			next == quote:
			i++
			b.WriteByte(next)
		case s[i] != quote:
			b.WriteByte(s[i])
		default:
			rest := strings.TrimSpace(s[i+1:])
			return b.String(), rest == "" || rest[0] == '#'
		}
	}
	return "", false
}

// first returns the first value found under the keys, in order.
func (fm frontMatter) first(keys ...string) string {
	for _, key := range keys {
		for _, v := range fm[key] {
			if v != "" {
				return v
			}
		}
	}
	return ""
}

// document returns the metadata as a document.
func (fm frontMatter) document() source.Document {
	d := source.Document{
		Title:    oneLine(fm.first("title")),
		Year:     yearOfDate(fm.first("year", "date")),
		URL:      webAddress(fm.first("url")),
		DOI:      bareDOI(fm.first("doi")),
		Venue:    fm.first("venue"),
		Type:     fm.first("type"),
		Language: oneLine(fm.first("lang", "language")),
	}
	for _, key := range []string{"authors", "author"} {
		names := fm[key]
		if len(names) == 1 {
			names = splitNames(names[0])
		}
		if d.Authors = cleanNames(names); len(d.Authors) > 0 {
			break
		}
	}
	return d
}
