package format

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordProcessor matches placeholder titles that programs write.
var wordProcessor = regexp.MustCompile(
	`(?i)^(?:untitled.*|microsoft word\b.*|document\d*|slide \d+|paper|title|` +
		`.*\.(?:docx?|tex|dvi|pdf|indd|qxd|ps|rtf|odt))$`,
)

// saysSomething reports whether a title of the metadata is a real one.
func saysSomething(title string) bool {
	return utf8.RuneCountInString(title) > 3 && strings.IndexFunc(title, unicode.IsLetter) >= 0 &&
		!wordProcessor.MatchString(title)
}

// firstLook is how many bytes of a text are searched for metadata.
const firstLook = 6000

var doiInText = regexp.MustCompile(`(?i)(?:doi\s*[:.]?\s*|doi\.org/)(10\.\d{4,9}/[^\s"<>{}|\\^]+)`)

// doiIn finds the DOI printed on a first page. It must be labelled as a DOI, because others belong to references.
func doiIn(text string) string {
	head := text[:min(len(text), firstLook)]
	m := doiInText.FindStringSubmatchIndex(head)
	if m == nil || m[3] == len(head) && len(head) < len(text) {
		return "" // none, or one that is cut
	}
	return bareDOI(strings.TrimRight(head[m[2]:m[3]], ".,;:)]}'"))
}

var yearInText = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:©|\(c\)|copyright)\s*(?:\pL+\s+){0,4}?((?:19|20)\d\d)\b`),
	regexp.MustCompile(`(?i)\b(?:published|accepted|received|dated?)\b[^.\n]{0,40}?\b((?:19|20)\d\d)\b`),
	regexp.MustCompile(
		`(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+` +
			`(?:\d{1,2},?\s+)?((?:19|20)\d\d)\b`,
	),
	regexp.MustCompile(`(?i)arxiv:\S+.{0,30}?\b((?:19|20)\d\d)\b`),
	regexp.MustCompile(`\b(?:Vol(?:ume|\.)|Proceedings)[^\n]{0,80}?\b((?:19|20)\d\d)\b`),
}

// yearIn finds the publication year on a first page, by the most reliable pattern first.
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

var personName = regexp.MustCompile(
	`^\p{Lu}[\pL'’\-]*\.?(?:\s+(?:(?:de|da|van|von|der|den|la|le|del|di|bin|al)\s+)*\p{Lu}[\pL'’\-]*\.?){1,3}$`,
)

// maxBylines is how many lines below the title are searched for authors.
const maxBylines = 8

// authorsBelow returns the names below the title. In doubt it returns none, because wrong authors are worse than
// missing ones.
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

// namesIn returns the names in a line that contains nothing else.
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

// notNames matches capitalized words that occur below titles and are not names.
var notNames = regexp.MustCompile(
	`(?i)\b(?:university|institute|department|school|laborator(?:y|ies)|research|college|center|centre|conference|` +
		`proceedings|journal|january|february|march|april|may|june|july|august|september|october|november|december|` +
		`abstract|faculty|inc|corp|press|working|technical|report|volume)\b`,
)
