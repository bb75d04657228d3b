package format

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/lazyregexp"
)

// wordProcessor matches placeholder titles that programs write.
var wordProcessor = lazyregexp.New(
	`(?i)^(?:untitled.*|none|null|unknown|no title|microsoft (?:word|powerpoint|excel|office)\b.*|document\d*|` +
		`powerpoint[- ]pr[äeé]sentation|presentation\d*|präsentation\d*|slide \d+|folie \d+|paper|title|template|` +
		`layout \d+|(?:table of )?contents|abstract|introduction|inhalt(?:sverzeichnis)?|` +
		`https?://\S*|www\.\S*|file://.*|\S*\.(?:com|org|net|edu|gov)(?:/\S*)?|` +
		`.*\.(?:docx?|tex|dvi|pdf|indd|qxd|ps|rtf|odt|pptx?|xlsx?|txt|html?|pages|key|graffle|eps|ai|pub|fm|exe)|` +
		`.*\bpage \d+(?:\s*(?:of|/)\s*\d+)?)$`,
)

// identifier matches names of files and forms, such as "905_Precinct_NoOU".
var identifier = lazyregexp.New(`^\S*_\S*(?: \d+)?$`)

// saysSomething reports whether a title of the metadata is a real one.
func saysSomething(title string) bool {
	letters := 0
	for _, r := range title {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return utf8.RuneCountInString(title) > 3 && letters > 1 && !wordProcessor.MatchString(title) &&
		!identifier.MatchString(title)
}

// firstLook is how many bytes of a text are searched for metadata.
const firstLook = 6000

var doiInText = lazyregexp.New(`(?i)(?:doi\s*[:.]?\s*|doi\.org/)(10\.\d{4,9}/[^\s"<>{}|\\^]+)`)

// doiIn finds the DOI printed on a first page. It must be labelled as a DOI, because others belong to references.
func doiIn(text string) string {
	head := text[:min(len(text), firstLook)]
	m := doiInText.FindStringSubmatchIndex(head)
	if m == nil || m[3] == len(head) && len(head) < len(text) {
		return "" // none, or one that is cut
	}
	return bareDOI(strings.TrimRight(head[m[2]:m[3]], ".,;:)]}'"))
}

const (
	yearPattern  = `((?:19|20)\d\d)\b`
	monthPattern = `(?:January|February|March|April|May|June|July|August|September|October|November|December|` +
		`Jan\.?|Feb\.?|Mar\.?|Apr\.?|Jun\.?|Jul\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)`
)

// yearInText are the patterns of a publication year, the most reliable first. A date of a month must be on a line of
// its own or nearly so, because dates in sentences are those of events.
var yearInText = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)\b(?:published|publication date|issued)\b[^.\n]{0,40}?\b` + yearPattern),
	lazyregexp.New(`(?i)(?:©|\(c\)|copyright)\s*(?:\pL+\s+){0,4}?` + yearPattern),
	lazyregexp.New(`(?i)arxiv:\S+.{0,30}?\b` + yearPattern),
	lazyregexp.New(`\b(?:Vol(?:ume|\.)|Proceedings)[^\n]{0,80}?\b` + yearPattern),
	lazyregexp.New(
		`(?m)^[^.\n]{0,40}\b` + monthPattern + `\s*(?:\d{1,2},?\s+|[-–]\s*)?` + yearPattern + `.{0,30}$`,
	),
	// A line of capitalized words, such as the head of a newsletter, that ends with a date.
	lazyregexp.New(
		`(?m)^(?:\p{Lu}[\pL.'’-]*,?\s+){1,12}` + monthPattern + `\s+\d{1,2},\s+` + yearPattern + `$`,
	),
	lazyregexp.New(`(?i)\baccepted\b[^.\n]{0,40}?\b` + yearPattern),
	lazyregexp.New(`(?i)\b(?:received|revised|dated?)\b[^.\n]{0,40}?\b` + yearPattern),
}

// submission matches lines that tell when a paper was submitted, which is not when it was published.
var submission = lazyregexp.New(`(?i)\b(?:received|revised|accepted|submitted)\b`)

// birth matches the date of birth of a person.
var birth = lazyregexp.New(`(?i)\bbirth|\bborn\b`)

// yearIn finds the publication year on a first page, by the most reliable pattern first.
func yearIn(text string) int {
	text = text[:min(len(text), firstLook)]
	for i, sign := range yearInText {
		for _, m := range sign.FindAllStringSubmatch(text, 8) {
			if i == monthYear && submission.MatchString(m[0]) || birth.MatchString(m[0]) {
				continue
			}
			year, _ := strconv.Atoi(m[1]) // four digits
			return year
		}
	}
	return 0
}

// monthYear is the index of the pattern for dates of a month.
const monthYear = 4

var personName = lazyregexp.New(
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
	betweenBylines = lazyregexp.New(`\s*(?:,|;|\band\b|&|·)\s*`)
	nameMarks      = lazyregexp.New(`[\d*†‡§¶∗+#$‖⋆◦•]+`)
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
		if !personName.MatchString(part) || notNames.MatchString(part) || slices.Contains(out, part) {
			return nil
		}
		out = append(out, part)
	}
	return out
}

// notNames matches capitalized words that occur below titles and are not names.
var notNames = lazyregexp.New(
	`(?i)\b(?:university|institute|department|school|laborator(?:y|ies)|research|college|center|centre|conference|` +
		`proceedings|journal|january|february|march|april|may|june|july|august|september|october|november|december|` +
		`abstract|faculty|inc|corp|press|working|technical|report|volume|monday|tuesday|wednesday|thursday|friday|` +
		`saturday|sunday|street|avenue|road|city|number|name|date|invoice|chapter|lesson|section|table|figure|version|` +
		`service|court|error|warning|attributes?|part|internal|government|ministry|agency|company|bank|board|committee|` +
		`the|team|help|tools|software|objectives|fonts?|draft|page|summary|overview|contents|instructions|details)\b`,
)
