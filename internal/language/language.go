// Package language is the registry of the languages that Carrel can read.
//
// A language is one file with one Language value. Stop words and a script are required, and a stemmer if words are
// inflected; every other table is optional, and its feature falls back to English or is left out.
// TestLanguagesAreComplete prints the missing tables.
package language

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
)

// Default is the code of the language for texts whose language is unknown.
const Default = "en"

// Language holds everything that depends on the language of a text.
type Language struct {
	// Code is the ISO 639-1 code, and Name the English name.
	Code, Name string
	// Aliases are other names of the language in lower case, separated by spaces: the codes of ISO 639-2 and of variants
	// with an ISO 639-1 code of their own, the name in the language itself, and the names of LaTeX packages.
	Aliases string
	// Script is the script that the language is written in. No two languages share a script other than Latin, so that
	// the letters of a word identify its language.
	Script *unicode.RangeTable

	// Stem reduces a word to its stem. It is nil if words are not inflected.
	Stem func(*snowballstem.Env) bool
	// Respell turns spellings that Stem does not handle into ones that it does, or is nil.
	Respell func(word string) string
	// FoldsBeforeStemming drops accents before stemming. Other stemmers need them: on the vocabularies of the
	// Snowball project it then conflates up to a quarter more words that belong together, and a word typed without
	// accents finds no less.
	FoldsBeforeStemming bool
	// KeepsAccents means that accents distinguish words. Terms and stop words keep them, and a word can be found without
	// them as well.
	KeepsAccents bool
	// DotlessI means that the lower case of I is ı.
	DotlessI bool

	// StopWords are function words. They are not searched for, so that whole sentences can be, and they identify the
	// language of a text. Words are compared in folded form, so a word is left
	// out if it differs from another only by accents (German schon and schön). The part before an apostrophe, such as
	// the French l', is a word.
	StopWords string
	// Letters are letters that few other languages use. They help to identify the language of a text.
	Letters string

	// CapitalizesNouns means that a capital letter does not indicate a name.
	CapitalizesNouns bool
	// Abbreviations distinguish full stops inside a sentence from those at its end.
	Abbreviations *Abbreviations
	// Vocabulary identifies the kind of a question and of its answer.
	Vocabulary *Vocabulary
	// Phrases are the texts of a reply that do not come from a source or a model.
	Phrases *Phrases
	// Conversation recognizes greetings and other messages that are no question to the sources.
	Conversation *Conversation
	// FollowUp is a suggested question about a name, which replaces %s.
	FollowUp string
}

// all are the known languages, sorted by code.
var all = []*Language{
	arabicLanguage, danishLanguage, germanLanguage, greekLanguage, englishLanguage, spanishLanguage, finnishLanguage,
	frenchLanguage, irishLanguage, hungarianLanguage, italianLanguage, dutchLanguage, norwegianLanguage,
	portugueseLanguage, romanianLanguage, russianLanguage, swedishLanguage, tamilLanguage, turkishLanguage,
	vietnameseLanguage,
}

// All returns the known languages, sorted by code.
func All() []*Language { return slices.Clone(all) }

// Codes returns the codes of the known languages, sorted.
func Codes() []string {
	codes := make([]string, len(all))
	for i, l := range all {
		codes[i] = l.Code
	}
	return codes
}

// Lookup returns the language with this code, and nil for an unknown one.
func Lookup(code string) *Language {
	for _, l := range all {
		if l.Code == code {
			return l
		}
	}
	return nil
}

// Parse returns the code of the language that a tag of BCP 47 such as "de-AT", a code of ISO 639-2 or a name denotes,
// and "" for an unknown one.
func Parse(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	primary, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	return codesByName()[primary]
}

// codesByName are the codes of the known languages by code, name and alias, in lower case.
var codesByName = sync.OnceValue(func() map[string]string {
	codes := map[string]string{}
	for _, l := range all {
		for _, name := range append(strings.Fields(l.Aliases), l.Code, strings.ToLower(l.Name)) {
			codes[name] = l.Code
		}
	}
	return codes
})

// LookupOrDefault returns the language with this code, and the default language for an unknown one.
func LookupOrDefault(code string) *Language {
	if l := Lookup(code); l != nil {
		return l
	}
	return englishLanguage
}

// Latin reports whether the language is written in Latin letters.
func (l *Language) Latin() bool { return l.Script == unicode.Latin }
