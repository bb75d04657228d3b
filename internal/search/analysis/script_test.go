package analysis

import (
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// TestEveryScriptIsReadInAllItsForms finds a word of each script in a text in every Unicode normalization form of both.
func TestEveryScriptIsReadInAllItsForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, query, want string }{
		"latin":      {"Über Gödels Unvollständigkeit", "godels", "Gödels"},
		"vietnamese": {"Thư viện quốc gia", "quoc", "quốc"},
		"greek":      {"Η ΦΙΛΟΣΟΦΊΑ του Πλάτωνα", "φιλοσοφία", "ΦΙΛΟΣΟΦΊΑ"},
		"cyrillic":   {"Научные библиотеки России", "библиотека", "библиотеки"},
		"armenian":   {"Հայոց Լեզու", "լեզու", "Լեզու"},
		"georgian":   {"ქართული ენა", "ენა", "ენა"},
		"hebrew":     {"אמר שָׁלוֹם לעולם", "שלום", "שָׁלוֹם"},
		"arabic":     {"هذا كِتَاب جديد", "الكتاب", "كِتَاب"},
		"persian":    {"تاریخ ایران باستان", "ایران", "ایران"},
		"devanagari": {"यह हिन्दी भाषा है", "हिन्दी", "हिन्दी"},
		"bengali":    {"আমার সোনার বাংলা", "সোনার", "সোনার"},
		"tamil":      {"தமிழ் மொழிகள் பழமையானவை", "மொழி", "மொழிகள்"},
		"thai":       {"ห้องสมุดแห่งชาติ", "สมุด", "สมุ"},
		"khmer":      {"ភាសាខ្មែរ", "ភាសា", "ភាសា"},
		"han":        {"機械学習と自然言語処理", "自然", "自然"},
		"kana":       {"この ﾃﾞｰﾀ は", "デー", "ﾃﾞｰ"},
		"hangul":     {"기계 학습을 위한", "학습", "학습"},
		"ethiopic":   {"የአማርኛ ቋንቋ", "ቋንቋ", "ቋንቋ"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, form := range []norm.Form{norm.NFC, norm.NFD} {
				a := New("")
				query := terms(a, form.String(test.query))
				text := form.String(test.text)
				runes := []rune(text)
				found := ""
				for token := range a.Tokens(text) {
					if slices.Contains(query, token.Term) && found == "" {
						found = string(runes[token.Start:token.End])
					}
				}
				if norm.NFC.String(found) != norm.NFC.String(test.want) && found != test.want {
					t.Errorf("%q finds %q in %q, want %q (terms %q)", test.query, found, test.text, test.want, query)
				}
			}
		})
	}
}

func TestACharacterIsNotCut(t *testing.T) {
	t.Parallel()
	whole := map[string]string{
		"combining accent": "e\u0301", "emoji family": "👩\u200d👧", "skin tone": "👋🏽", "flag": "🇳🇴", "keycap": "1\ufe0f\u20e3",
		"hangul decomposed": norm.NFD.String("한"), "kana voicing": "か\u3099", "devanagari vowel": "कि", "conjunct": "क्ष",
		"thai am": "น้ำ", "end of line": "\r\n",
	}
	for name, character := range whole {
		runes := []rune(character)
		for i := 1; i < len(runes); i++ {
			if BetweenCharacters(runes[i-1], runes[i]) {
				t.Errorf("%s: %+q may be cut at %d", name, character, i)
			}
		}
	}
	for _, pair := range []string{"ab", "a ", " a", "自然", "ab", "न्म"[:3] + "म", "🇳a", "한국", "😀😀"} {
		runes := []rune(pair)
		if !BetweenCharacters(runes[0], runes[1]) {
			t.Errorf("%q may not be cut", pair)
		}
	}
}
