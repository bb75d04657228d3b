package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/builtin"
)

// BuiltInEncoder is the model in the binary, which was made for English texts.
var BuiltInEncoder = &Encoder{
	Model: builtin.VectorModel, Dims: builtin.Dimensions, Language: "en", LeastCosine: 0.38, Embed: embedEnglish,
}

// embedEnglish returns the vectors of texts, with nil for those whose letters are mostly not Latin: the model knows
// hardly any words in other scripts, so that all such texts would be alike.
func embedEnglish(texts []string) [][]float32 {
	vectors := builtin.Embed(texts...)
	for i, text := range texts {
		if !mostlyLatin(text) {
			vectors[i] = nil
		}
	}
	return vectors
}

func mostlyLatin(text string) bool {
	latin, letters := 0, 0
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if c := r | 0x20; 'a' <= c && c <= 'z' {
				latin, letters = latin+1, letters+1
			}
		case unicode.Is(unicode.Latin, r):
			latin, letters = latin+1, letters+1
		case unicode.IsLetter(r):
			letters++
		}
	}
	return 2*latin > letters
}

// HasMeaning reports whether a query is more than names of things: every word of "rfc9110" or "A-104 B7" holds a digit.
// Such a word is either found or not; words that look alike have nothing in common.
func HasMeaning(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) && !strings.ContainsFunc(word, unicode.IsDigit) {
			return true
		}
	}
	return false
}

// Encoder is an embedding model that runs in the process, for one language. An engine with an encoder computes the
// embeddings of passages when it indexes them, and the embedding of each query. The database does not store them,
// because they can be computed again.
type Encoder struct {
	// Model names the model. An index of another model's vectors is rebuilt.
	Model string
	// Dims is the length of the vectors.
	Dims int
	// Language is the ISO 639-1 code of the texts that the model was made for. Other texts get no vector.
	Language string
	// LeastCosine is the least similarity of a passage to a query whose words it does not hold. Less similar passages are
	// rarely related to the query.
	LeastCosine float64
	// Embed returns the vectors of texts, of length 1, or nil for a text without words. It may be called concurrently.
	Embed func(texts []string) [][]float32
}

// Covers reports whether the encoder embeds texts in a language. A nil encoder covers none.
func (e *Encoder) Covers(language string) bool { return e != nil && language == e.Language }

// Passage returns the text to embed for a passage: it is preceded by the title of its document.
func Passage(title, passage string) string { return title + "\n" + passage }

// nearest returns the index of the text that is nearest to the query, -1 if none has a vector.
func (e *Encoder) nearest(query string, texts []string) int {
	if e == nil {
		return -1
	}
	vectors := e.Embed(append([]string{query}, texts...))
	q := vectors[0]
	best, highest := -1, 0.0
	for i, v := range vectors[1:] {
		if v == nil || q == nil {
			continue
		}
		sum := 0.0
		for j := range v {
			sum += float64(v[j]) * float64(q[j])
		}
		if best < 0 || sum > highest {
			best, highest = i, sum
		}
	}
	return best
}
