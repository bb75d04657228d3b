package webapp

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// language is a language of the pages. The web app has the same languages.
type language string

const (
	english language = "en"
	german  language = "de"
	spanish language = "es"
	french  language = "fr"
)

// tables hold the texts of each language.
var tables = map[language]texts{
	english: englishTexts, german: germanTexts, spanish: spanishTexts, french: frenchTexts,
}

// languageCookie holds the language that the user has chosen in the web app. The app itself reads its preference from
// the browser's local storage, which a server can't.
const languageCookie = "carrel-language"

// languageOf returns the language for a request: the user's choice, else the browser's preference, else English.
func languageOf(r *http.Request) language {
	if c, err := r.Cookie(languageCookie); err == nil {
		if chosen := language(c.Value); tables[chosen] != nil {
			return chosen
		}
	}
	return acceptedLanguage(r.Header.Get("Accept-Language"))
}

// acceptedLanguage returns the best supported language of an Accept-Language header (RFC 9110, 12.5.4). It compares
// primary subtags only, so de-CH selects German.
func acceptedLanguage(header string) language {
	type preference struct {
		language language
		quality  float64
	}
	var accepted []preference
	for item := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(item), ";")
		primary, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		p := preference{language(strings.ToLower(primary)), 1}
		if q, found := strings.CutPrefix(strings.TrimSpace(params), "q="); found {
			var err error
			if p.quality, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if tables[p.language] != nil && p.quality > 0 && p.quality <= 1 {
			accepted = append(accepted, p)
		}
	}
	if len(accepted) == 0 {
		return english
	}
	slices.SortStableFunc(accepted, func(a, b preference) int { return cmp.Compare(b.quality, a.quality) })
	return accepted[0].language
}
