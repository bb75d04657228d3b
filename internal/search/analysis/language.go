package analysis

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// DefaultLanguage is what texts are read as when nothing is known of them.
const DefaultLanguage = "en"

// language is how the words of one language are read.
type language struct {
	stem func(*snowballstem.Env) bool
	// respell puts a word into the spelling that the stemmer knows; nil when it knows all.
	respell func(word string) string
	// folds says that words are stemmed after their accents are dropped. Everywhere else the stemmer needs them:
	// measured on the vocabularies of the Snowball project, it then conflates up to a quarter more of what belongs
	// together, and a word typed without its accents finds as much as otherwise.
	folds bool
	stops func() map[string]bool // folded
}

// languages are those that can be read, by ISO 639-1 code.
var languages = map[string]*language{
	"ar": {stem: arabic.Stem, respell: respellArabic, stops: stopSet("ar")},
	"da": {stem: danish.Stem, stops: stopSet("da")},
	"de": {stem: german.Stem, stops: stopSet("de")},
	"en": {stem: english.Stem, folds: true, stops: stopSet("en")},
	"es": {stem: spanish.Stem, stops: stopSet("es")},
	"fi": {stem: finnish.Stem, stops: stopSet("fi")},
	"fr": {stem: french.Stem, stops: stopSet("fr")},
	"ga": {stem: irish.Stem, stops: stopSet("ga")},
	"hu": {stem: hungarian.Stem, stops: stopSet("hu")},
	"it": {stem: italian.Stem, stops: stopSet("it")},
	"nl": {stem: dutch.Stem, stops: stopSet("nl")},
	"no": {stem: norwegian.Stem, stops: stopSet("no")},
	"pt": {stem: portuguese.Stem, stops: stopSet("pt")},
	"ro": {stem: romanian.Stem, respell: romanianCedillas.Replace, stops: stopSet("ro")},
	"ru": {stem: russian.Stem, respell: russianYo.Replace, stops: stopSet("ru")},
	"sv": {stem: swedish.Stem, stops: stopSet("sv")},
	"ta": {stem: tamil.Stem, stops: stopSet("ta")},
	"tr": {stem: turkish.Stem, stops: stopSet("tr")},
}

// unread is for scripts of which no language is known: words stay as they are.
var unread = &language{folds: true, stops: func() map[string]bool { return nil }}

// Languages returns the languages that have stop words and a stemmer, as ISO 639-1 codes, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// usesLatin reports whether a language, one of Languages, is written in Latin letters.
func usesLatin(code string) bool { return code != "ar" && code != "ru" && code != "ta" }

// languageOf returns the language to read a word in, given the one of the Latin script. The letters decide: where only
// one known language uses a script, its words are read in that language whatever stands around them, so that a query
// and a document need not agree on their language.
func languageOf(word string, latin *language) *language {
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
		case unicode.Is(unicode.Latin, r):
			return latin
		case unicode.Is(unicode.Cyrillic, r):
			return languages["ru"]
		case unicode.Is(unicode.Arabic, r):
			return languages["ar"]
		case unicode.Is(unicode.Tamil, r):
			return languages["ta"]
		default:
			return unread
		}
	}
	return latin
}

// stopSet returns the stop words of a language in folded form, made when they are first asked for.
func stopSet(code string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		words := make(map[string]bool)
		var s splitter
		for w := range s.words(stopLists[code]) {
			words[string(w.Folded)] = true
		}
		return words
	})
}

// Older and newer spellings that stemmers do not know.
var (
	romanianCedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")
	russianYo        = strings.NewReplacer("ё", "е")
)

// respellArabic makes two frequent forms plain to the stemmer, which misses the article after "and" (wal-, fal-) and
// takes the feminine plural of a noun without an article for a verb.
func respellArabic(word string) string {
	const and, so, article, plural = "و", "ف", "ال", "ات"
	bare := strings.TrimPrefix(strings.TrimPrefix(word, and), so)
	if bare != word && strings.HasPrefix(bare, article) && utf8.RuneCountInString(bare) >= 5 {
		return bare
	}
	if strings.HasSuffix(word, plural) && !strings.HasPrefix(word, article) && utf8.RuneCountInString(word) >= 5 {
		return article + word
	}
	return word
}
