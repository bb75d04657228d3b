package favourite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/format"
)

// reference is the bibliographic content of a card. All texts are single lines of valid UTF-8 without control
// characters, so that formats need not handle line breaks.
type reference struct {
	id        string
	kind      kind
	rawType   string
	title     string
	authors   []name
	year      int
	month     int // 0 if only the year is known
	day       int // 0 if only the month is known
	venue     string
	volume    string
	issue     string
	pages     string
	publisher string
	doi       string // without a prefix, as in 10.1000/182
	url       string // http or https, or empty
	abstract  string
	tags      []string
	note      string
	// cards are the positions of the cards of the work in the list that is exported.
	cards []int
	// documentID is the id of the document that the card shows, or empty.
	documentID string
	// entry is the BibTeX entry that the card was imported from, or nil.
	entry *format.BibEntry
	// lines are those of the RIS reference that the card was imported from, or nil.
	lines []format.RISField
	// imported holds the keywords and the note of the entry, to find out whether they were changed since.
	imported struct {
		Keywords []string `json:"keywords"`
		Note     string   `json:"annotation"`
	}
}

// kind is a publication type in the terms of each format; venueField is the BibTeX field of the venue, zoteroVenue that
// of Zotero. zoteroFields are the other fields that the type has in Zotero.
type kind struct {
	bibtex, ris, csl, venueField, zotero, zoteroVenue, zoteroFields string
}

var (
	kindArticle = kind{
		"article", "JOUR", "article-journal", "journal", "journalArticle", "publicationTitle", "volume issue pages DOI",
	}
	kindConference = kind{
		"inproceedings", "CPAPER", "paper-conference", "booktitle",
		"conferencePaper", "proceedingsTitle", "volume pages publisher DOI",
	}
	kindBook    = kind{"book", "BOOK", "book", "series", "book", "series", "volume publisher"}
	kindChapter = kind{
		"incollection", "CHAP", "chapter", "booktitle", "bookSection", "bookTitle", "volume pages publisher",
	}
	kindReport   = kind{"techreport", "RPRT", "report", "institution", "report", "institution", "pages"}
	kindThesis   = kind{"misc", "THES", "thesis", "howpublished", "thesis", "university", ""}
	kindDataset  = kind{"misc", "DATA", "dataset", "howpublished", "dataset", "repository", "DOI"}
	kindWebPage  = kind{"misc", "ELEC", "webpage", "howpublished", "webpage", "websiteTitle", ""}
	kindPreprint = kind{"misc", "GEN", "document", "howpublished", "preprint", "repository", "DOI"}
	kindOther    = kind{"misc", "GEN", "document", "howpublished", "document", "publisher", ""}
)

// kinds maps the types that indexes use, reduced to lower-case letters.
var kinds = map[string]kind{
	"article": kindArticle, "journalarticle": kindArticle, "articlejournal": kindArticle, "journal": kindArticle,
	"journalpaper": kindArticle, "review": kindArticle, "jour": kindArticle,
	"conferencepaper": kindConference, "paperconference": kindConference, "conference": kindConference,
	"inproceedings": kindConference, "proceedings": kindConference, "proceedingsarticle": kindConference,
	"conf": kindConference,
	"book": kindBook, "monograph": kindBook, "editedbook": kindBook,
	"chapter": kindChapter, "bookchapter": kindChapter, "incollection": kindChapter, "inbook": kindChapter,
	"booksection": kindChapter,
	"report":      kindReport, "techreport": kindReport, "technicalreport": kindReport, "workingpaper": kindReport,
	"thesis": kindThesis, "phdthesis": kindThesis, "mastersthesis": kindThesis, "dissertation": kindThesis,
	"dataset": kindDataset, "data": kindDataset,
	"webpage": kindWebPage, "website": kindWebPage, "web": kindWebPage, "blogpost": kindWebPage,
	"preprint": kindPreprint, "postedcontent": kindPreprint, "misc": kindOther, "other": kindOther,
}

// parseReference reads the known fields of a card and ignores values of unexpected types.
func parseReference(c Card) reference {
	var card map[string]any
	d := json.NewDecoder(bytes.NewReader(c.JSON))
	d.UseNumber()
	if err := d.Decode(&card); err != nil {
		card = nil // a card that is not an object gets an empty entry
	}
	r := reference{
		id:        core.OneLine(c.ID),
		rawType:   text(card["type"]),
		title:     text(card["title"]),
		authors:   parseAuthors(card["authors"]),
		venue:     text(card["venue"]),
		volume:    textOrNumber(card["volume"]),
		issue:     textOrNumber(card["issue"]),
		pages:     cmp.Or(textOrNumber(card["pages"]), textOrNumber(card["page"])),
		publisher: text(card["publisher"]),
		doi:       parseDOI(text(card["doi"])),
		url:       parseURL(text(card["url"])),
		abstract:  cmp.Or(core.OneLine(c.Abstract), text(card["abstract"])),
		note:      core.OneLine(c.Note), documentID: text(card["documentId"]),
	}
	r.year, r.month, r.day = parseDate(card["year"], text(card["publishedAt"]))
	r.kind = kindOf(r.rawType, r.venue)
	if r.entry, r.lines = entryOf(c.JSON), linesOf(c.JSON); r.entry != nil || r.lines != nil {
		_ = json.Unmarshal(c.JSON, &r.imported) // the card was decoded above
	}
	for _, tag := range c.Tags {
		r.tags = append(r.tags, core.OneLine(tag))
	}
	return r
}

// kindOf uses the type of the card, else the venue.
func kindOf(rawType, venue string) kind {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, rawType)
	if k, ok := kinds[letters]; ok {
		return k
	}
	folded := fold(venue)
	for _, word := range []string{"proceedings", "conference", "symposium", "workshop"} {
		if strings.Contains(folded, word) {
			return kindConference
		}
	}
	if venue != "" {
		return kindArticle
	}
	return kindOther
}

// text returns a string as one line.
func text(v any) string {
	s, _ := v.(string)
	return core.OneLine(s)
}

// textOrNumber accepts volumes, issues and pages, which may be strings or numbers.
func textOrNumber(v any) string {
	if n, ok := v.(json.Number); ok {
		if whole, err := n.Int64(); err == nil {
			return strconv.FormatInt(whole, 10)
		}
	}
	return text(v)
}

// dateLayouts are the formats of publishedAt with their precision: 3 day, 2 month, 1 year.
var dateLayouts = []struct {
	layout string
	parts  int
}{{time.RFC3339, 3}, {time.DateOnly, 3}, {"2006-01", 2}, {"2006", 1}}

// parseDate returns the known parts of the publication date. The card's year takes precedence over publishedAt,
// because it was displayed; month and day are used only if they belong to the same year.
func parseDate(rawYear any, publishedAt string) (year, month, day int) {
	year = parseYear(rawYear)
	for _, l := range dateLayouts {
		t, err := time.Parse(l.layout, publishedAt)
		if err != nil || t.Year() < 1 {
			continue
		}
		if year != 0 && year != t.Year() {
			break
		}
		year = t.Year()
		if l.parts >= 2 {
			month = int(t.Month())
		}
		if l.parts >= 3 {
			day = t.Day()
		}
		break
	}
	return year, month, day
}

// parseYear accepts a whole number or a string of digits; 0 means undated.
func parseYear(v any) int {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = strings.TrimSpace(v)
	}
	n, err := strconv.ParseFloat(s, 64) // JSON numbers may be written 1950.0 or 1.95e3
	if err != nil || n != math.Trunc(n) || n < 1 || n > 9999 {
		return 0
	}
	return int(n)
}

// parseDOI returns a DOI without prefixes, or "".
func parseDOI(s string) string {
	lower := strings.ToLower(s)
	for _, prefix := range []string{
		"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/",
	} {
		if strings.HasPrefix(lower, prefix) {
			s = s[len(prefix):]
			if plain, err := url.PathUnescape(s); err == nil {
				s = core.OneLine(plain)
			}
		}
	}
	if strings.HasPrefix(lower, "doi:") {
		s = strings.TrimSpace(s[len("doi:"):])
	}
	registrant, suffix, _ := strings.Cut(s, "/")
	if !strings.HasPrefix(registrant, "10.") || suffix == "" || strings.Contains(s, " ") {
		return ""
	}
	return s
}

// parseURL returns an http or https address, or "". Exports are opened by other programs, some of which would execute
// javascript or file addresses.
func parseURL(s string) string {
	escaped := percentEncode(s, func(c byte) bool { return c > ' ' && !strings.ContainsRune("\"<>\\^`{|}\x7f", rune(c)) })
	u, err := url.Parse(escaped)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return escaped
}

// percentEncode encodes every byte that keep rejects as %XX.
func percentEncode(s string, keep func(byte) bool) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := s[i]; keep(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}
