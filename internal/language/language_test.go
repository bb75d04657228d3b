package language_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"carrel/internal/language"
)

// optional are the tables that a language may lack.
func optional(l *language.Language) map[string]bool {
	return map[string]bool{
		"letters": l.Letters != "", "abbreviations": l.Abbreviations != nil, "vocabulary": l.Vocabulary != nil,
		"phrases": l.Phrases != nil, "follow-up": l.FollowUp != "",
	}
}

func TestLanguagesAreComplete(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`^[a-z]{2}$`)
	scripts := make(map[*unicode.RangeTable]string)
	for _, l := range language.All() {
		if !code.MatchString(l.Code) || l.Name == "" {
			t.Errorf("%q (%q) has no ISO 639-1 code or no name", l.Code, l.Name)
		}
		if l.Stem == nil && !l.KeepsAccents || len(strings.Fields(l.StopWords)) < 50 || l.Script == nil {
			t.Errorf("%s lacks a required table: stemming, stop words or a script", l.Name)
		}
		if other, taken := scripts[l.Script]; taken && !l.Latin() {
			t.Errorf("%s and %s share a script, so that its words have no certain language", other, l.Name)
		}
		scripts[l.Script] = l.Name
		var missing []string
		for table, present := range optional(l) {
			if !present {
				missing = append(missing, table)
			}
		}
		slices.Sort(missing)
		if len(missing) > 0 {
			t.Logf("%s (%s) has no %s", l.Name, l.Code, strings.Join(missing, ", "))
		}
	}
	codes := language.Codes()
	if !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("the codes %v are not sorted and distinct", codes)
	}
}

func TestTheDefaultLanguageHasEveryTable(t *testing.T) {
	t.Parallel()
	english := language.Lookup(language.Default)
	for table, present := range optional(english) {
		if !present && table != "letters" { // English has none of its own
			t.Errorf("the default language has no %s", table)
		}
	}
}

// Every phrase must be translated, with the same placeholders as in English.
func TestPhrasesAreTranslatedCompletely(t *testing.T) {
	t.Parallel()
	english := reflect.ValueOf(*language.Lookup(language.Default).Phrases)
	for _, l := range language.All() {
		if l.FollowUp != "" && strings.Count(l.FollowUp, "%s") != 1 {
			t.Errorf("%s: the follow-up question %q does not have one %%s", l.Name, l.FollowUp)
		}
		if l.Phrases == nil {
			continue
		}
		phrases := reflect.ValueOf(*l.Phrases)
		for i := range phrases.NumField() {
			name, text := phrases.Type().Field(i).Name, phrases.Field(i).String()
			if text == "" || strings.Count(text, "%s") != strings.Count(english.Field(i).String(), "%s") {
				t.Errorf("%s: the phrase %s is %q, in English %q", l.Name, name, text, english.Field(i).String())
			}
		}
	}
}

func TestConversationsAreTranslatedCompletely(t *testing.T) {
	t.Parallel()
	english := reflect.ValueOf(*language.Lookup(language.Default).Conversation)
	for _, code := range []string{"de", "es", "fr"} {
		texts := reflect.ValueOf(*language.Lookup(code).Conversation)
		for i := range texts.NumField() {
			name, text := texts.Type().Field(i).Name, texts.Field(i).String()
			if text == "" || strings.Count(text, "%s") != strings.Count(english.Field(i).String(), "%s") {
				t.Errorf("%s: %s is %q, in English %q", code, name, text, english.Field(i).String())
			}
			if text == english.Field(i).String() {
				t.Errorf("%s: %s is not translated", code, name)
			}
		}
	}
}

func TestAnUnknownLanguageIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "xx", "EN", "english"} {
		if l := language.Lookup(code); l != nil {
			t.Errorf("%q is %s", code, l.Name)
		}
		if l := language.LookupOrDefault(code); l.Code != language.Default {
			t.Errorf("%q is taken for %s", code, l.Name)
		}
	}
}

func TestParseAcceptsTagsCodesAndNames(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"de": "de", "DE-at": "de", "en_US": "en", "eng": "en", "ger": "de", "German": "de", " deutsch ": "de",
		"ngerman": "de", "nb-NO": "no", "nn": "no", "português": "pt", "zh-Hant": "", "": "", "x-default": "", "und": "",
	} {
		if got := language.Parse(tag); got != want {
			t.Errorf("%q is %q, want %q", tag, got, want)
		}
	}
	owner := map[string]string{}
	for _, l := range language.All() {
		for _, name := range append(strings.Fields(l.Aliases), l.Code, strings.ToLower(l.Name)) {
			if other := owner[name]; other != "" {
				t.Errorf("%s and %s are both called %q", other, l.Name, name)
			}
			owner[name] = l.Name
			if got := language.Parse(name); got != l.Code {
				t.Errorf("%q is %q, want %q", name, got, l.Code)
			}
		}
	}
}

func TestWebAppOffersEveryLanguage(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../web/src/lib/documents.ts")
	if err != nil {
		t.Fatal(err)
	}
	list := "const languages = '" + strings.Join(language.Codes(), " ") + "';"
	if !strings.Contains(string(script), list) {
		t.Errorf("web/src/lib/documents.ts does not contain %s", list)
	}
}
