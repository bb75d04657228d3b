package favourite

import (
	"bufio"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// bibMonths are BibTeX's month macros, which styles print in their language.
var bibMonths = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// writeBibTeX, like the other writers, relies on bufio.Writer to keep the first error until Flush.
func writeBibTeX(w *bufio.Writer, refs []reference) error {
	keys := citationKeys(refs)
	head := bibHead{strings: map[string]string{}, preambles: map[string]bool{}}
	for i := range refs {
		if i > 0 {
			_ = w.WriteByte('\n')
		}
		if e := refs[i].entry; e != nil {
			head.write(w, e)
			writeImported(w, keys[i], &refs[i])
			continue
		}
		writeBibEntry(w, keys[i], &refs[i])
	}
	return nil
}

func writeBibEntry(w *bufio.Writer, key string, r *reference) {
	field := func(name, value string) {
		if value != "" {
			_, _ = w.WriteString("  " + name + " = {" + value + "},\n")
		}
	}
	_, _ = w.WriteString("@" + r.kind.bibtex + "{" + key + ",\n")
	if r.title != "" {
		// The second pair of braces prevents styles from lower-casing names and acronyms.
		field("title", "{"+bibText(r.title)+"}")
	}
	field("author", bibAuthors(r.authors))
	field(r.kind.venueField, bibText(r.venue))
	if r.year != 0 {
		field("year", strconv.Itoa(r.year))
	}
	if r.month != 0 {
		_, _ = w.WriteString("  month = " + bibMonths[r.month-1] + ",\n")
	}
	field("volume", bibText(r.volume))
	field("number", bibText(r.issue))
	field("pages", bibText(bibPages(r.pages)))
	field("publisher", bibText(r.publisher))
	field("doi", bibVerbatim(r.doi))
	field("url", bibVerbatim(r.url))
	field("abstract", bibText(r.abstract))
	field("keywords", bibText(strings.Join(r.tags, ", ")))
	field("annote", bibText(r.note))
	_, _ = w.WriteString("}\n")
}

// bibEscapes escapes text for TeX. A brace can't be written as \{, because BibTeX counts braces without regard to
// backslashes, and an unmatched one would swallow the rest of the file. Letters beyond ASCII are kept, because
// current BibTeX reads UTF-8.
var bibEscapes = strings.NewReplacer(
	`\`, `{\textbackslash}`, `{`, `{\textbraceleft}`, `}`, `{\textbraceright}`, `~`, `{\textasciitilde}`, `^`,
	`{\textasciicircum}`,
	`%`, `\%`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `_`, `\_`,
)

func bibText(s string) string { return bibEscapes.Replace(s) }

// bibVerbatim percent-encodes the characters that would break an entry. Addresses are printed verbatim, so an escape
// would become part of the link.
func bibVerbatim(s string) string {
	return percentEncode(s, func(c byte) bool { return c != '{' && c != '}' && c != '\\' })
}

// bibPages writes a page range with the double hyphen that TeX prints as a dash.
func bibPages(pages string) string {
	first, last, ok := pageRange(pages)
	if !ok {
		return pages
	}
	return first + "--" + last
}

// pageRange splits "12-34", with any dash.
func pageRange(pages string) (first, last string, ok bool) {
	parts := strings.FieldsFunc(
		pages, func(r rune) bool { return r == '-' || r == '–' || r == '—' || r == '‐' || r == '‑' || r == ' ' },
	)
	if len(parts) != 2 || !strings.ContainsAny(pages, "-–—‐‑") {
		return "", "", false
	}
	return parts[0], parts[1], true
}

func bibAuthors(authors []name) string {
	list := make([]string, len(authors))
	for i, n := range authors {
		switch {
		case n.literal != "":
			list[i] = "{" + bibText(n.literal) + "}"
		case n.suffix != "":
			list[i] = bibNamePart(n.family) + ", " + bibNamePart(n.suffix) + ", " + bibNamePart(n.given)
		default:
			list[i] = bibNamePart(n.family) + ", " + bibNamePart(n.given)
		}
	}
	return strings.Join(list, " and ")
}

// bibNamePart puts braces around a part that contains a name separator: a comma, or the word "and".
func bibNamePart(s string) string {
	isAnd := func(word string) bool { return strings.EqualFold(word, "and") }
	if strings.Contains(s, ",") || slices.ContainsFunc(strings.Fields(s), isAnd) {
		return "{" + bibText(s) + "}"
	}
	return bibText(s)
}

// citationKeys returns a unique key for every reference: family name, year and first word of the title, as in
// turing1950computing. Of equal keys the oldest reference keeps the plain one and later ones get a letter. References
// come newest first, so saving a card never changes a key that a manuscript already cites.
func citationKeys(refs []reference) []string {
	keys := make([]string, len(refs))
	taken := make(map[string]bool, len(refs))
	var sharing []int
	add := func(i int, key string) {
		keys[i] = key
		if taken[key] {
			sharing = append(sharing, i)
		}
		taken[key] = true
	}
	// Imported entries come first, because other files refer to their keys.
	for i := len(refs) - 1; i >= 0; i-- {
		if e := refs[i].entry; e != nil && e.Key != "" {
			add(i, e.Key)
		}
	}
	for i := len(refs) - 1; i >= 0; i-- {
		if keys[i] == "" {
			add(i, citationKey(&refs[i]))
		}
	}
	// Letters are added last, because a key with a letter may be the plain key of another reference.
	next := map[string]int{}
	for _, i := range sharing {
		base := keys[i]
		for taken[keys[i]] {
			keys[i] = base + letters(next[base])
			next[base]++
		}
		taken[keys[i]] = true
	}
	return keys
}

// letters counts a, b, …, z, aa, ab, …
func letters(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return letters(n/26-1) + string(rune('a'+n%26))
}

func citationKey(r *reference) string {
	var author string
	if len(r.authors) > 0 {
		author = asciiKey(r.authors[0].family)
		if author == "" {
			author = firstKeyWord(r.authors[0].literal)
		}
	}
	year := ""
	if r.year != 0 {
		year = strconv.Itoa(r.year)
	}
	key := author + year + firstKeyWord(r.title)
	if key == "" || key[0] < 'a' {
		return "ref" + key // some programs require a letter first
	}
	return key
}

// firstKeyWord returns the first significant word of a title in ASCII, without articles.
func firstKeyWord(s string) string {
	first := ""
	for _, word := range strings.Fields(s) {
		key := asciiKey(word)
		switch key {
		case "":
			continue
		case "a", "an", "the", "on", "of", "in", "for", "to", "and":
			first = cmp.Or(first, key)
			continue
		}
		return key
	}
	return first
}

// maxKeyPart keeps citation keys short enough to type.
const maxKeyPart = 30

// asciiKey returns the folded ASCII letters and digits of a text.
func asciiKey(s string) string {
	key := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, fold(s))
	return key[:min(len(key), maxKeyPart)]
}
