package favourite

import (
	"bufio"
	"strconv"
	"strings"

	"carrel/internal/markdown"
)

// maxNamed is the number of authors before "et al.".
const maxNamed = 10

// writeMarkdown writes a numbered bibliography: Authors (Year). *Title*. Venue. Link.
func writeMarkdown(w *bufio.Writer, refs []reference) error {
	_, _ = w.WriteString("# Favourites\n\n")
	if len(refs) == 0 {
		_, _ = w.WriteString("There are none yet.\n")
	}
	for i := range refs {
		_, _ = w.WriteString(markdown.Item(i+1, markdownEntry(&refs[i])))
	}
	return nil
}

// MarkdownEntry returns the bibliography entry of a card, as in an export.
func MarkdownEntry(c Card) string {
	r := parseReference(c)
	return markdownEntry(&r)
}

func markdownEntry(r *reference) string {
	title := "Untitled"
	if r.title != "" {
		title = r.title
	}
	var parts []string
	year := "n.d."
	if r.year != 0 {
		year = strconv.Itoa(r.year)
	}
	if authors := markdownAuthors(r.authors); authors != "" {
		parts = append(
			parts, markdown.Start(markdown.Text(authors))+" ("+year+").", sentence("*"+markdown.Text(title)+"*", title),
		)
	} else {
		parts = append(parts, "*"+markdown.Text(title)+"* ("+year+").")
	}
	if where := markdownWhere(r); where != "" {
		parts = append(parts, sentence(markdown.Text(where), where))
	}
	switch {
	case r.doi != "":
		parts = append(parts, markdown.Link("doi:"+r.doi, doiURL(r.doi)))
	case r.url != "":
		parts = append(parts, markdown.Link(r.url, r.url))
	}
	return strings.Join(parts, " ")
}

// sentence adds a full stop unless the text ends with a punctuation mark.
func sentence(written, text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return written
	}
	return written + "."
}

func markdownAuthors(authors []name) string {
	var names []string
	for _, n := range authors[:min(len(authors), maxNamed)] {
		names = append(names, n.natural())
	}
	switch {
	case len(authors) > maxNamed:
		return strings.Join(names, ", ") + " et al."
	case len(names) > 1:
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return strings.Join(names, "")
}

// markdownWhere returns the place of publication: "Mind 59(236), pp. 433-460, Oxford University Press".
func markdownWhere(r *reference) string {
	where := r.venue
	if r.volume != "" {
		where = strings.TrimSpace(where + " " + r.volume)
	}
	if r.issue != "" {
		where += "(" + r.issue + ")"
	}
	pages := r.pages
	if _, _, ok := pageRange(pages); ok {
		pages = "pp. " + pages
	} else if pages != "" {
		pages = "p. " + pages
	}
	for _, more := range []string{pages, r.publisher} {
		switch {
		case more != "" && where != "":
			where += ", " + more
		case more != "":
			where = more
		}
	}
	return where
}

// doiURL returns the resolver address of a DOI, with its reserved characters encoded.
func doiURL(doi string) string {
	return "https://doi.org/" + percentEncode(doi, func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("-._/:;,@!$'*+=", c) >= 0
	})
}
