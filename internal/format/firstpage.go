package format

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordProcessor are titles that programs write for want of one.
var wordProcessor = regexp.MustCompile(`(?i)^(?:untitled.*|microsoft word\b.*|document\d*|slide \d+|paper|title|.*\.(?:docx?|tex|dvi|pdf|indd|qxd|ps|rtf|odt))$`)

// saysSomething reports whether a file's own title is one that a person gave it.
func saysSomething(title string) bool {
	return utf8.RuneCountInString(title) > 3 && strings.IndexFunc(title, unicode.IsLetter) >= 0 && !wordProcessor.MatchString(title)
}

// firstLook is how much of a text is looked through for what it says of itself.
const firstLook = 6000

var doiInText = regexp.MustCompile(`(?i)(?:doi\s*[:.]?\s*|doi\.org/)(10\.\d{4,9}/[^\s"<>{}|\\^]+)`)

// doiIn finds the DOI that a paper prints on its first page. Only one that is called a DOI counts: the others are those
// of its references.
func doiIn(text string) string {
	m := doiInText.FindStringSubmatch(text[:min(len(text), firstLook)])
	if m == nil {
		return ""
	}
	doi := strings.TrimRight(m[1], ".,;:)]}'")
	return bareDOI(doi)
}

var yearInText = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:©|\(c\)|copyright)\s*(?:\pL+\s+){0,4}?((?:19|20)\d\d)\b`),
	regexp.MustCompile(`(?i)\b(?:published|accepted|received|dated?)\b[^.\n]{0,40}?\b((?:19|20)\d\d)\b`),
	regexp.MustCompile(`(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+(?:\d{1,2},?\s+)?((?:19|20)\d\d)\b`),
	regexp.MustCompile(`(?i)arxiv:\S+.{0,30}?\b((?:19|20)\d\d)\b`),
	regexp.MustCompile(`\b(?:Vol(?:ume|\.)|Proceedings)[^\n]{0,80}?\b((?:19|20)\d\d)\b`),
}

// yearIn finds the year that a first page gives as its own, by the most reliable sign there is.
func yearIn(text string) int {
	text = text[:min(len(text), firstLook)]
	for _, sign := range yearInText {
		if m := sign.FindStringSubmatch(text); m != nil {
			year, _ := strconv.Atoi(m[1]) // four digits
			return year
		}
	}
	return 0
}

var personName = regexp.MustCompile(`^\p{Lu}[\pL'’\-]*\.?(?:\s+(?:(?:de|da|van|von|der|den|la|le|del|di|bin|al)\s+)*\p{Lu}[\pL'’\-]*\.?){1,3}$`)

// maxBylines is how many lines below the title may be those of the authors.
const maxBylines = 8

// authorsBelow takes the names that stand below the title. It is careful: no authors are better than wrong ones.
func authorsBelow(text, title string) []string {
	if title == "" {
		return nil
	}
	lines := strings.Split(text[:min(len(text), firstLook)], "\n")
	at := -1
	for i, l := range lines {
		if l = strings.TrimSpace(l); l != "" && strings.HasSuffix(title, l) {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	var names []string
	seen := 0
	for _, l := range lines[at+1:] {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		if seen++; seen > maxBylines {
			break
		}
		found := namesIn(l)
		if len(found) == 0 && len(names) > 0 {
			break
		}
		names = append(names, found...)
	}
	return names
}

var (
	betweenBylines = regexp.MustCompile(`\s*(?:,|;|\band\b|&|·)\s*`)
	nameMarks      = regexp.MustCompile(`[\d*†‡§¶∗]+`)
)

// namesIn returns the names of a line that holds nothing else.
func namesIn(line string) []string {
	switch strings.ToLower(line) {
	case "abstract", "introduction", "summary":
		return nil
	}
	var out []string
	for _, part := range betweenBylines.Split(nameMarks.ReplaceAllString(line, " "), -1) {
		part = strings.Join(strings.Fields(part), " ")
		if part == "" {
			continue
		}
		if !personName.MatchString(part) || notNames.MatchString(part) {
			return nil
		}
		out = append(out, part)
	}
	return out
}

// notNames are capitalised words that stand below titles and are no people.
var notNames = regexp.MustCompile(`(?i)\b(?:university|institute|department|school|laborator(?:y|ies)|research|college|center|centre|conference|proceedings|journal|january|february|march|april|may|june|july|august|september|october|november|december|abstract|faculty|inc|corp|press|working|technical|report|volume)\b`)
