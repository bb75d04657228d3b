package analysis

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"carrel/internal/language"
)

// guessed is how many words of a text Guess reads. Stop words are a third of most texts.
const guessed = 300

// Thresholds for a text in Latin letters: the votes for a language, their ratio to the votes for the second language,
// and their ratio to the number of words.
const (
	leastVotes = 1.5
	leastLead  = 1.4
	leastShare = 0.07
)

// Guess returns the code of the language of a text by its script and stop words, or "" if it is uncertain.
func Guess(text string) string {
	var g guess
	var s splitter
	for w := range s.words(text) {
		g.read(w)
		if g.words == guessed {
			break
		}
	}
	return g.language()
}

// guess counts evidence: code points by script, and votes of stop words and letters.
type guess struct {
	words                          int
	latin, cyrillic, arabic, tamil int
	greek, other                   int
	russian                        int // letters of Russian and Belarusian, but of no other Slavic language
	foreign                        int // letters that no known language of their script uses
	latinWords                     int
	votes                          [maxLatin]float64
}

func (g *guess) read(w Word) {
	g.words++
	word := w.Folded
	if w.accented != nil {
		word = w.accented
	}
	latin := false
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		i += size
		switch {
		case 'a' <= r && r <= 'z':
			g.latin++
			latin = true
		case r < utf8.RuneSelf:
		case unicode.Is(unicode.Latin, r):
			g.latin++
			latin = true
			if v, ok := letterVotes()[r]; ok {
				g.vote(v)
			} else if !strings.ContainsRune(commonLetters, r) {
				g.foreign++
			}
		case unicode.Is(unicode.Cyrillic, r):
			g.cyrillic++
			g.slavic(r)
		case unicode.Is(unicode.Arabic, r):
			g.arabic++
			if r > 'ٯ' { // used by Persian, Urdu and others
				g.foreign++
			}
		case unicode.Is(unicode.Tamil, r):
			g.tamil++
		case unicode.Is(unicode.Greek, r):
			g.greek++
		case unicode.IsLetter(r):
			g.other++
		}
	}
	if latin {
		g.latinWords++
		g.vote(wordVotes()[string(word)])
	}
}

func (g *guess) slavic(r rune) {
	switch {
	case r == 'ы' || r == 'э' || r == 'ё':
		g.russian++
	case r < 'а' || r > 'я':
		g.foreign++
	}
}

func (g *guess) vote(v vote) {
	for _, language := range v.languages {
		g.votes[language] += v.weight
	}
}

// language returns the result.
func (g *guess) language() string {
	const longEnough = 100 // letters of Russian that include some that only Russian has
	most := max(g.latin, g.cyrillic, g.arabic, g.tamil, g.greek, g.other)
	switch {
	case most == 0 || most == g.other:
		return ""
	case most == g.tamil:
		return "ta"
	case most == g.greek:
		return "el"
	case most == g.arabic && g.foreign*50 <= g.arabic:
		return "ar"
	case most == g.cyrillic && g.foreign*50 <= g.cyrillic && (g.russian > 0 || g.cyrillic < longEnough):
		return "ru"
	case most == g.latin && g.foreign*20 <= g.latinWords:
		return g.mostVotes()
	}
	return ""
}

func (g *guess) mostVotes() string {
	best, second := 0, -1
	for i := 1; i < len(latinLanguages()); i++ {
		if g.votes[i] > g.votes[best] {
			best, second = i, best
		} else if second < 0 || g.votes[i] > g.votes[second] {
			second = i
		}
	}
	votes := g.votes[best]
	if votes < leastVotes || votes < leastLead*g.votes[second] || votes < leastShare*float64(g.latinWords) {
		return ""
	}
	return latinLanguages()[best].Code
}

// vote is the evidence of a word or letter: the weight is shared by all languages that use it.
type vote struct {
	languages []int // indexes in latinLanguages
	weight    float64
}

// maxLatin is an upper limit of the number of languages in Latin letters.
const maxLatin = 16

// latinLanguages are the languages that votes decide between.
var latinLanguages = sync.OnceValue(func() []*language.Language {
	return slices.DeleteFunc(language.All(), func(l *language.Language) bool { return !l.Latin() })
})

// wordVotes holds the stop words of all languages with their accents, which are more distinctive than the folded words.
var wordVotes = sync.OnceValue(func() map[string]vote {
	votes := make(map[string]vote)
	for i, l := range latinLanguages() {
		seen := make(map[string]bool)
		var s splitter
		for w := range s.words(l.StopWords) {
			word := string(w.Folded)
			if w.accented != nil {
				word = string(w.accented)
			}
			if !seen[word] {
				seen[word] = true
				votes[word] = vote{languages: append(votes[word].languages, i)}
			}
		}
	}
	return weighed(votes, 1)
})

// letterVotes holds letters that few languages use.
var letterVotes = sync.OnceValue(func() map[rune]vote {
	votes := make(map[rune]vote)
	for i, l := range latinLanguages() {
		for _, r := range l.Letters {
			votes[r] = vote{languages: append(votes[r].languages, i)}
		}
	}
	return weighed(votes, 0.5)
})

// commonLetters are used by too many languages to count as evidence.
const commonLetters = "áéíóúìïëôûýÿºª"

func weighed[K comparable](votes map[K]vote, weight float64) map[K]vote {
	for key, v := range votes {
		v.weight = weight / float64(len(v.languages))
		votes[key] = v
	}
	return votes
}
