package language

import (
	"strings"
	"unicode/utf8"
)

// Spellings that the stemmers do not handle.
var (
	romanianCedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")
	russianYo        = strings.NewReplacer("ё", "е")
)

// respellArabic handles two frequent forms that the stemmer gets wrong: it misses the article after "and" (wal-, fal-),
// and takes the feminine plural of a noun without an article for a verb.
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
