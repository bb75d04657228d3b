package format

import (
	"path"
	"strings"

	"carrel/internal/lazyregexp"
)

// The syntax of Obsidian's notes beyond Markdown: links such as [[Note#Heading|text]], embedded files such as
// ![[picture.png]], and callouts such as "> [!note] Title". A space after the brackets is no link, but a test in a
// shell script.
var (
	wikiLink = lazyregexp.New(`(!?)\[\[([^\s\[\]|][^\[\]|\n]{0,500})(?:\|([^\[\]\n]{1,500}))?\]\]`)
	callout  = lazyregexp.New(`(?m)^(\s*(?:>\s*)+)\[!\w{1,40}\][+-]?`)
)

// wikiText replaces the links of a note with their text.
func wikiText(s string) string {
	if strings.Contains(s, "[[") {
		s = wikiLink.ReplaceAllStringFunc(s, linkText)
	}
	if strings.Contains(s, "[!") {
		s = callout.ReplaceAllString(s, "$1")
	}
	return s
}

func linkText(link string) string {
	m := wikiLink.FindStringSubmatch(link)
	target, label := strings.TrimSpace(m[2]), strings.TrimSpace(m[3])
	note, section, _ := strings.Cut(target, "#")
	switch extension := path.Ext(note); {
	case m[1] != "" && extension != "" && extension != ".md" && !strings.Contains(extension, " "):
		return "" // a picture or another file
	case label != "":
		return label
	case section == "":
		return path.Base(strings.TrimSuffix(note, ".md"))
	}
	section = strings.ReplaceAll(strings.TrimPrefix(section, "^"), "#", ", ")
	if note == "" {
		return section
	}
	return path.Base(note) + ", " + section
}

// withTags appends the tags in the front matter to a text, so that they can be found.
func withTags(text string, fm frontMatter) string {
	var tags []string
	for _, key := range []string{"tags", "keywords"} {
		values := fm[key]
		if len(values) == 1 {
			values = strings.FieldsFunc(values[0], func(r rune) bool { return r == ',' || r == ';' })
		}
		tags = append(tags, values...)
	}
	if tags = dedupe(cleanNames(tags)); len(tags) == 0 {
		return text
	}
	return strings.TrimSpace(text + "\n\nTags: " + strings.Join(tags, ", "))
}
