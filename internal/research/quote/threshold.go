package quote

import "unicode"

// thresholds are the coverages from which a question is answered, and from which passages are about it.
type thresholds struct{ answered, closest float64 }

const usualClosest = 0.4

// answeredFrom are the thresholds for an answered question. They were measured on the even articles of XQuAD, as the
// lowest with at most 5 % of the questions answered after their passage was removed; package xquad measures them.
// Without stems (Vietnamese) or words (Thai), unrelated passages share more with a question.
var answeredFrom = map[string]float64{
	"ar": 0.63, "de": 0.58, "el": 0.64, "en": 0.60, "es": 0.64, "hi": 0.53, "ro": 0.67, "ru": 0.66, "th": 0.71, "tr": 0.61,
	"vi": 0.86, "zh": 0.54,
}

// usualAnswered is for languages that were not measured.
const usualAnswered = 0.64

// scripts have a threshold of their own, whatever the language of the sources is said to be.
var scripts = []struct {
	code  string
	table *unicode.RangeTable
}{
	{"th", unicode.Thai},
	{"zh", unicode.Han},
	{"zh", unicode.Hiragana},
	{"zh", unicode.Katakana},
	{"zh", unicode.Hangul},
	{"el", unicode.Greek},
	{"hi", unicode.Devanagari},
}

// thresholdsOf returns the thresholds for a question, given the language in which it is analysed.
func thresholdsOf(language, question string) thresholds {
	code := language
	for _, r := range question {
		if r < unicode.MaxLatin1 {
			continue
		}
		if isVietnamese(r) {
			code = "vi"
			break
		}
		if found := codeOfScript(r); found != "" {
			code = found
			break
		}
	}
	out := thresholds{answered: answeredFrom[code], closest: usualClosest}
	if out.answered == 0 {
		out.answered = usualAnswered
	}
	return out
}

func codeOfScript(r rune) string {
	for _, s := range scripts {
		if unicode.Is(s.table, r) {
			return s.code
		}
	}
	return ""
}

// isVietnamese reports whether a letter is used in Vietnamese only: with a horn, or with two marks.
func isVietnamese(r rune) bool {
	return r == 'ơ' || r == 'ư' || r == 'Ơ' || r == 'Ư' || 'Ạ' <= r && r <= 'ỹ'
}
