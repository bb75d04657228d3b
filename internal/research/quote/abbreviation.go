package quote

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
)

// rules are the abbreviations of a language as sets; see language.Abbreviations.
type rules struct {
	never, titles, numbered, either, openers map[string]bool
	ordinals                                 bool
}

// rulesByCode holds the rules of each language, computed on first use.
var rulesByCode = func() map[string]func() *rules {
	out := make(map[string]func() *rules)
	for _, l := range language.All() {
		if a := l.Abbreviations; a != nil {
			out[l.Code] = sync.OnceValue(func() *rules {
				return &rules{
					never: wordSet(a.Never), titles: wordSet(a.Titles), numbered: wordSet(a.Numbered),
					either: wordSet(a.Either), openers: wordSet(a.Openers), ordinals: a.Ordinals,
				}
			})
		}
	}
	return out
}()

// rulesOf returns the rules of a language, or the rules of the default language if it has none.
func rulesOf(code string) *rules {
	if r := rulesByCode[code]; r != nil {
		return r()
	}
	return rulesByCode[language.Default]()
}

// ends reports whether the stop at i ends a sentence. last is the last of consecutive stops, end follows the closing
// marks, and next is the next visible code point.
func (s *splitter) ends(i, last, end, next int) bool {
	word := next
	for word < s.block.end && isOpening(s.text[word]) {
		word++
	}
	if word == s.block.end {
		return true
	}
	first := s.text[word]
	if unicode.IsLower(first) && !s.isCamel(word) {
		return false
	}
	if s.text[i] != '.' || last != i || end > i+1 && analysis.IsClosing(s.text[i+1]) {
		return !unicode.IsLower(first)
	}
	before := i
	for before > s.block.body && isAbbreviable(s.text[before-1]) {
		before--
	}
	return s.endsAfter(s.text[before:i], word)
}

// endsAfter reports whether a full stop after the word before ends a sentence, if the next word begins at next.
func (s *splitter) endsAfter(before []rune, next int) bool {
	if len(before) == 0 {
		return true
	}
	first := s.text[next]
	rules := s.rules
	if unicode.Is(unicode.Cyrillic, before[0]) {
		rules = rulesOf("ru")
	}
	opens := s.opens(rules, next)
	if strings.Trim(string(before), "0123456789") == "" {
		return !rules.ordinals || len(before) > 3 || opens || !unicode.IsUpper(first)
	}
	key := strings.ToLower(strings.Trim(string(before), "-'’"))
	key = key[strings.LastIndexAny(key, "-'’")+1:]
	switch {
	case rules.never[key], rules.titles[key] && unicode.IsUpper(before[0]):
		return false
	case rules.numbered[key]:
		// "The answer is no. He left."
		return !unicode.IsDigit(first) && !isRoman(s.text[next:s.block.end]) && first != '(' && !unicode.IsLower(first)
	case rules.either[key], isDotted(key):
		return opens
	case utf8.RuneCountInString(key) == 1 && unicode.IsUpper(before[0]):
		return opens // an initial, unless "vitamin C."
	}
	return true
}

// isDotted reports whether a word consists of letters separated by full stops: u.s.a, ph.d, but not node.js.
func isDotted(key string) bool {
	first, rest, found := strings.Cut(key, ".")
	return found && utf8.RuneCountInString(first) <= 2 && utf8.RuneCountInString(rest) <= 2*strings.Count(rest, ".")+1
}

// opens reports whether the word at i is capitalized only at the beginning of a sentence.
func (s *splitter) opens(rules *rules, i int) bool {
	if !unicode.IsUpper(s.text[i]) {
		return false
	}
	end := i
	for end < s.block.end && unicode.IsLetter(s.text[end]) {
		end++
	}
	// A single letter with a full stop is an initial ("A. A. Milne").
	if end == i+1 && end < s.block.end && s.text[end] == '.' {
		return false
	}
	return rules.openers[strings.ToLower(string(s.text[i:end]))]
}

// isCamel reports whether the word at i begins in lower case but holds a capital or a digit: iPhone, pH, p53.
func (s *splitter) isCamel(i int) bool {
	for ; i < s.block.end && (unicode.IsLetter(s.text[i]) || unicode.IsDigit(s.text[i])); i++ {
		if !unicode.IsLower(s.text[i]) {
			return true
		}
	}
	return false
}

func isAbbreviable(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '.' || r == '-' || r == '\'' || r == '’'
}

// isRoman reports whether a text begins with a Roman numeral.
func isRoman(text []rune) bool {
	n := 0
	for n < len(text) && strings.ContainsRune("IVXLC", text[n]) {
		n++
	}
	return n > 0 && n < 8 && (n == len(text) || !unicode.IsLetter(text[n]))
}

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
