package language_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"

	"carrel/internal/language"
)

// stem reduces a lower-case word as the analyser does.
func stem(l *language.Language, word string) string {
	if l.Respell != nil {
		word = l.Respell(word)
	}
	if l.Stem == nil {
		return word
	}
	env := snowballstem.NewEnv(word)
	l.Stem(env)
	return env.Current()
}

// stems are groups of inflected forms that share a stem, separated by commas, and a word that belongs to none.
var stems = map[string]struct{ together, apart string }{
	"ar": {"كتاب الكتاب والكتاب, جامعات الجامعات", "قلم"},
	"da": {"undersøgelse undersøgelser undersøgelsen, skole skoler skolerne", "brød"},
	"de": {"bibliothek bibliotheken, wissenschaft wissenschaften, kind kinder kindern", "brot"},
	"el": {"βιβλιοθηκη βιβλιοθηκησ βιβλιοθηκεσ, λογοσ λογου λογουσ, γραφω γραφει γραφουν", "ψωμι"},
	"en": {"connect connected connecting connection, library libraries, run runs running", "bread"},
	"es": {"canción canciones, libro libros, trabajar trabajando trabajamos", "pan"},
	"fi": {"kirja kirjan kirjat kirjassa, talo talon talossa", "leipä"},
	"fr": {"étude études, bibliothèque bibliothèques, continuer continuait continué", "pain"},
	"ga": {"comhscoláire chomhscoláire comhscoláirí", "arán"},
	"hu": {"könyv könyvek könyvet könyvben, kutatás kutatások", "kenyér"},
	"it": {"ricerca ricerche, studio studi, abbandonare abbandonata abbandonati", "pane"},
	"nl": {"bibliotheek bibliotheken, onderzoek onderzoeken", "brood"},
	"no": {"undersøkelse undersøkelser undersøkelsen, skole skoler", "brød"},
	"pt": {"livro livros, estudar estudaram, pública públicas", "pão"},
	"ro": {"universități universităţi universitatea, informații informațiile", "pâine"},
	"ru": {"книга книги книгу книгами, библиотека библиотеки библиотекой, актёр актер", "хлеб"},
	"sv": {"bibliotek biblioteken, undersökning undersökningar", "bröd"},
	"ta": {"மொழி மொழிகள், புத்தகம் புத்தகங்கள்", "வீடு"},
	"tr": {"kitap kitaplar kitapları, ev evler", "ekmek"},
	"vi": {"sách sách", "bánh"},
}

func TestInflectedFormsShareAStem(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(stems)), language.Codes(); !slices.Equal(got, want) {
		t.Fatalf("stems are tested in %q, the languages are %q", got, want)
	}
	for code, c := range stems {
		l := language.Lookup(code)
		other := stem(l, c.apart)
		for group := range strings.SplitSeq(c.together, ", ") {
			words := strings.Fields(group)
			first := stem(l, words[0])
			for _, word := range words[1:] {
				if got := stem(l, word); got != first {
					t.Errorf("%s: %s has the stem %q, %s has %q", code, word, got, words[0], first)
				}
			}
			if first == other || first == "" {
				t.Errorf("%s: %s has the stem %q, which is also that of %s", code, words[0], first, c.apart)
			}
		}
	}
}

// A stemmer must not fail on words of other languages, single letters or nothing.
func TestStemmersTakeAnyWord(t *testing.T) {
	t.Parallel()
	words := []string{"", "a", "ж", "ß", "日本", "மொ", "و", "123", "o'brien", strings.Repeat("ing", 50), "\u0301", "ı"}
	for _, l := range language.All() {
		for _, word := range words {
			if got := stem(l, word); !utf8.ValidString(got) {
				t.Errorf("%s: %q has the stem %q", l.Code, word, got)
			}
		}
	}
}

func TestSpellingsAreUnifiedBeforeStemming(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, from, to string }{
		{"ro", "știință", "ştiinţă"},
		{"ro", "ştiinţă", "ştiinţă"},
		{"ru", "ёлка", "елка"},
		{"ru", "елка", "елка"},
		{"ar", "والكتاب", "الكتاب"},
		{"ar", "فالكتاب", "الكتاب"},
		{"ar", "الكتاب", "الكتاب"},
		{"ar", "جامعات", "الجامعات"},
		{"ar", "الجامعات", "الجامعات"},
		{"ar", "وال", "وال"},
		{"ar", "بات", "بات"}, // too short to be sure
	} {
		if got := language.Lookup(c.code).Respell(c.from); got != c.to {
			t.Errorf("%s: %s is respelled %s, want %s", c.code, c.from, got, c.to)
		}
	}
}

// ofScript reports whether all letters of a word belong to the script of the language.
func ofScript(l *language.Language, word string) bool {
	for _, r := range word {
		if unicode.IsLetter(r) && !unicode.Is(l.Script, r) {
			return false
		}
	}
	return true
}

func TestStopWordsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, l := range language.All() {
		seen := map[string]bool{}
		for word := range strings.FieldsSeq(l.StopWords) {
			switch {
			case seen[word]:
				t.Errorf("%s: %q is listed twice", l.Code, word)
			case word != strings.ToLower(word) || !norm.NFC.IsNormalString(word):
				t.Errorf("%s: %q is not in lower case and NFC", l.Code, word)
			case !ofScript(l, word):
				t.Errorf("%s: %q has letters of another script", l.Code, word)
			}
			seen[word] = true
		}
	}
}

// The language of a text is identified by its stop words, so each language needs words that no other has.
func TestEveryLatinLanguageHasStopWordsOfItsOwn(t *testing.T) {
	t.Parallel()
	users := map[string]int{}
	for _, l := range language.All() {
		for word := range strings.FieldsSeq(l.StopWords) {
			users[word]++
		}
	}
	for _, l := range language.All() {
		own := 0
		for word := range strings.FieldsSeq(l.StopWords) {
			if users[word] == 1 {
				own++
			}
		}
		t.Logf("%s: %d stop words that no other language has", l.Code, own)
		if own < 12 {
			t.Errorf("%s has only %d stop words that no other language has", l.Code, own)
		}
	}
}

func TestDistinctiveLettersAreOfTheScript(t *testing.T) {
	t.Parallel()
	for _, l := range language.All() {
		seen := map[rune]bool{}
		for _, r := range l.Letters {
			if seen[r] || !unicode.IsLetter(r) || unicode.IsUpper(r) || !unicode.Is(l.Script, r) || r < utf8.RuneSelf {
				t.Errorf("%s: %q is listed twice, in upper case, ASCII, or of another script", l.Code, r)
			}
			seen[r] = true
		}
	}
}

func TestAbbreviationsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, l := range language.All() {
		a := l.Abbreviations
		if a == nil {
			continue
		}
		for list, words := range map[string]string{
			"Never": a.Never + " " + a.Titles, "Numbered": a.Numbered, "Either": a.Either, "Openers": a.Openers,
		} {
			if words == "" {
				t.Errorf("%s has no %s", l.Code, list)
			}
			for word := range strings.FieldsSeq(words) {
				if word != strings.ToLower(word) || strings.HasSuffix(word, ".") || strings.HasPrefix(word, ".") {
					t.Errorf("%s, %s: %q is not in lower case without its full stop", l.Code, list, word)
				}
			}
		}
		for word := range strings.FieldsSeq(a.Openers) {
			if strings.Contains(word, ".") {
				t.Errorf("%s: %q opens no sentence", l.Code, word)
			}
		}
	}
}

func TestVocabulariesAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, l := range language.All() {
		v := l.Vocabulary
		if v == nil {
			continue
		}
		kinds := map[string]string{}
		fields := reflect.ValueOf(*v)
		for i := range fields.NumField() {
			list, text := fields.Type().Field(i).Name, fields.Field(i).String()
			if text != strings.ToLower(text) {
				t.Errorf("%s: %s is not in lower case", l.Code, list)
			}
			switch list {
			case "HowMany", "When", "Who", "Where", "Why":
				if text == "" {
					if !l.CapitalizesNouns {
						t.Errorf("%s has no phrases for %s", l.Code, list)
					}
					continue
				}
				for phrase := range strings.SplitSeq(text, "|") {
					phrase = strings.Join(strings.Fields(phrase), " ")
					if phrase == "" {
						t.Errorf("%s, %s: a phrase is empty", l.Code, list)
					}
					if other, taken := kinds[phrase]; taken {
						t.Errorf("%s: %q asks for %s and %s", l.Code, phrase, other, list)
					}
					kinds[phrase] = list
				}
			case "Numbers", "Dates", "Causes", "Subjects", "Pronouns":
				if text == "" {
					t.Errorf("%s has no %s", l.Code, list)
				}
			}
		}
	}
}

// A translated phrase ends like the English one, because the next text is appended to it.
func TestPhrasesEndLikeTheEnglishOnes(t *testing.T) {
	t.Parallel()
	ending := func(s string) string {
		r, _ := utf8.DecodeLastRuneInString(s)
		if strings.ContainsRune(".:;?!)", r) {
			return string(r)
		}
		return ""
	}
	english := reflect.ValueOf(*language.Lookup(language.Default).Phrases)
	for _, l := range language.All() {
		if l.Phrases == nil {
			continue
		}
		phrases := reflect.ValueOf(*l.Phrases)
		for i := range phrases.NumField() {
			name, text := phrases.Type().Field(i).Name, phrases.Field(i).String()
			if name == "Page" { // an abbreviation in some languages
				continue
			}
			if got, want := ending(text), ending(english.Field(i).String()); got != want {
				t.Errorf("%s: %s ends in %q, in English in %q", l.Code, name, got, want)
			}
			if strings.TrimSpace(text) != text {
				t.Errorf("%s: %s has white space around it", l.Code, name)
			}
		}
	}
}

func TestQuestionsWithoutSpacesAreKnown(t *testing.T) {
	t.Parallel()
	for i, word := range language.UnspacedFillers {
		for _, before := range language.UnspacedFillers[:i] {
			if strings.Contains(word, before) {
				t.Errorf("%s is removed before %s, which contains it", before, word)
			}
		}
	}
	for phrase := range strings.SplitSeq(language.Unspaced.When+"|"+language.Unspaced.Why, "|") {
		if strings.ContainsFunc(phrase, unicode.IsSpace) || utf8.RuneCountInString(phrase) == 0 {
			t.Errorf("the phrase %q has a space", phrase)
		}
	}
}
