package favourite

import (
	"bufio"
	"regexp"
	"strconv"
	"strings"
)

// maxNamed is how many authors are named before "et al.".
const maxNamed = 10

// writeMarkdown writes a numbered bibliography: Authors (Year). *Title*. Venue. Link.
func writeMarkdown(w *bufio.Writer, refs []reference) error {
	_, _ = w.WriteString("# Favourites\n\n")
	if len(refs) == 0 {
		_, _ = w.WriteString("There are none yet.\n")
	}
	for i := range refs {
		_, _ = w.WriteString(strconv.Itoa(i+1) + ". " + markdownEntry(&refs[i]) + "\n")
	}
	return nil
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
		parts = append(parts, markdownStart(markdownText(authors))+" ("+year+").", sentence("*"+markdownText(title)+"*", title))
	} else {
		parts = append(parts, "*"+markdownText(title)+"* ("+year+").")
	}
	if where := markdownWhere(r); where != "" {
		parts = append(parts, sentence(markdownText(where), where))
	}
	switch {
	case r.doi != "":
		parts = append(parts, markdownLink("doi:"+r.doi, doiURL(r.doi)))
	case r.url != "":
		parts = append(parts, markdownLink(r.url, r.url))
	}
	return strings.Join(parts, " ")
}

// sentence ends a part with a full stop unless its text already ends with a mark.
func sentence(markdown, text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return markdown
	}
	return markdown + "."
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

// markdownWhere is where a work appeared: "Mind 59(236), pp. 433-460, Oxford University Press".
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

// markdownEscapes takes the meaning from every character that has one inside a line, in CommonMark and in the usual
// extensions (strike-through, mathematics). The last ones keep readers from making links by themselves of what looks
// like an address: the only links are the ones we write.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `&`, `\&`, `~`, `\~`, `$`, `\$`,
	`@`, `\@`, `://`, `\://`, `www.`, `www\.`, `WWW.`, `WWW\.`,
)

func markdownText(s string) string { return markdownEscapes.Replace(s) }

// markdownStart takes the meaning from what would start a block of its own at the beginning of an entry: a heading,
// a list, a rule.
func markdownStart(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		return s[:digits] + `\` + s[digits:]
	case s != "" && strings.ContainsRune("#+-=>|", rune(s[0])):
		return `\` + s
	}
	return s
}

// entity is what readers decode inside an address, such as the &copy; of "?a=1&copy;=2".
var entity = regexp.MustCompile(`&(#?[0-9A-Za-z]+;)`)

// markdownLink writes a link to an http or https address. A bracket would end the address early.
func markdownLink(text, address string) string {
	address = strings.NewReplacer("(", "%28", ")", "%29").Replace(address)
	return "[" + markdownText(text) + "](" + entity.ReplaceAllString(address, "&amp;$1") + ")"
}

// doiURL is the address that resolves a DOI. A DOI may hold characters that mean something in an address.
func doiURL(doi string) string {
	return "https://doi.org/" + percentEncode(doi, func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._/:;,@!$'*+=", c) >= 0
	})
}
