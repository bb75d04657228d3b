package favourite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"carrel/internal/core"
)

const turingCard = `{"cardId":"crd_1","title":"Computing Machinery and Intelligence","authors":["Alan M. Turing"],
	"year":1950,
	"venue":"Mind","snippet":"I propose to consider the question, \u201cCan machines think?\u201d",
	"doi":"10.1093/mind/LIX.236.433",
	"tags":{"mine":["Façade","naïve Łódź"]},"score":0.75,"open":true,"gone":null}`

func TestMatcherFindsCardsWithAllWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, q string
		want    bool
	}{
		{"a word of the title", "machinery", true},
		{"any case", "MACHINERY", true},
		{"words of several fields in any order", "mind turing computing", true},
		{"the beginning of the last word", "turing intel", true},
		{"the beginning of an earlier word", "intel turing", false},
		{"the middle of a word", "telligence", false},
		{"one word that is missing", "turing quantum", false},
		{"a word of an escaped string", "question can", true},
		{"a string deep in the card", "facade", true},
		{"accents in the search", "façade", true},
		{"a decomposed accent in the search", "fac\u0327ade", true},
		{"letters with a stroke", "lodz", true},
		{"full-width letters", "ｍｉｎｄ", true},
		{"punctuation between the words", "turing; alan!", true},
		{"parts of a DOI", "10.1093/mind", true},
		{"the year", "turing 1950", true},
		{"another number", "75", false},
		{"a key", "venue", false},
		{"a key below", "mine", false},
		{"a literal", "true", false},
		{"the same word twice", "turing turing", true},
	} {
		if score, got := NewMatcher(tc.q).Score([]byte(turingCard)); got != tc.want || got == (score == 0) {
			t.Errorf("%s: %q: got %d, %v", tc.name, tc.q, score, got)
		}
	}
}

func TestMatcherReadsScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		title, q string
		want     bool
	}{
		{"基于机器学习的方法", "机器学习", true},
		{"基于机器学习的方法", "机器 方法", true},
		{"基于机器学习的方法", "深度", false},
		{"การเรียนรู้ของเครื่อง", "ของ", true},
		{"がく", "かく", false},
		{"किताब", "कुताब", false},
		{"한국어 정보", "정보", true},
		{"ΟΔΟΣ", "οδος", true},
		{"Война и мир", "ВОЙНА", true},
	} {
		card, err := json.Marshal(map[string]string{"title": tc.title})
		if err != nil {
			t.Fatal(err)
		}
		if _, got := NewMatcher(tc.q).Score(card); got != tc.want {
			t.Errorf("%q in %q: got %v", tc.q, tc.title, got)
		}
	}
}

func TestMatcherWithoutWordsMatchesEverything(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"", "  ", "?!", "\"-\" …", "\u0301", "\u200b"} {
		m := NewMatcher(q)
		if score, ok := m.Score([]byte(turingCard)); !m.Empty() || !ok || score != 0 {
			t.Errorf("%q: empty %v, score %d, %v", q, m.Empty(), score, ok)
		}
	}
	if NewMatcher("a").Empty() {
		t.Error("a word is not nothing")
	}
}

func TestMatcherRanksTheBestFirst(t *testing.T) {
	t.Parallel()
	// Each card ranks above the next one for this query.
	m := NewMatcher("entropy")
	cards := []string{
		`{"title":"Entropy","authors":["Entropy"],"venue":"Entropy"}`,
		`{"title":"Entropy","snippet":"entropy"}`,
		`{"title":"Entropy"}`,
		`{"authors":[{"name":"Entropy"}]}`,
		`{"title":"Entropyless"}`,
		`{"authors":["Entropyless"]}`,
		`{"snippet":"entropy entropy entropy entropy entropy"}`,
		`{"abstract":"entropyless"}`,
	}
	var scores []int
	for _, c := range cards {
		score, ok := m.Score([]byte(c))
		if !ok {
			t.Fatalf("%s does not match", c)
		}
		scores = append(scores, score)
	}
	if want := []int{18, 10, 8, 6, 4, 3, 2, 1}; !slices.Equal(scores, want) {
		t.Errorf("got %v, want %v", scores, want)
	}
	if venue, _ := m.Score([]byte(`{"venue":"Entropy"}`)); venue != 4 {
		t.Errorf("venue: %d", venue)
	}
}

func TestMatcherIgnoresInvalidAndDeeplyNestedCards(t *testing.T) {
	t.Parallel()
	m := NewMatcher("x")
	for _, card := range []string{
		``, `{`, `{"a":`, `{"a":"x`, `{"a":"x"`, `x`, `{"a":"x",}`,
		strings.Repeat("[", 200_000),
	} {
		if _, ok := m.Score([]byte(card)); ok {
			t.Errorf("%.20q matches", card)
		}
	}
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + `"x"` + strings.Repeat("]", n)) }
	if _, ok := m.Score(deep(maxMatchDepth)); !ok {
		t.Error("a string at the last level is not found")
	}
	if _, ok := m.Score(deep(maxMatchDepth + 1)); ok {
		t.Error("a string below the last level is found")
	}
}

func TestMatcherTakesMoreWordsThanFitTheStack(t *testing.T) {
	t.Parallel()
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprintf("w%03d", i)
	}
	card := []byte(`{"title":"` + strings.Join(words, " ") + strings.Repeat(" filler", 1000) + `"}`)
	if score, ok := NewMatcher(strings.Join(words, " ")).Score(card); !ok || score != 800 {
		t.Errorf("got %d, %v", score, ok)
	}
	if _, ok := NewMatcher(strings.Join(words, " ") + " w1").Score(card); ok {
		t.Error("a 101st word that is missing is not missed")
	}
}

func TestMatcherServesManyGoroutines(t *testing.T) {
	t.Parallel()
	m := NewMatcher("turing façade")
	want, _ := m.Score([]byte(turingCard))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if score, ok := m.Score([]byte(turingCard)); !ok || score != want {
					t.Errorf("got %d, %v, want %d", score, ok, want)
				}
				if _, ok := m.Score([]byte(`{"title":"Fassade"}`)); ok {
					t.Error("a card before leaves hits behind")
				}
			}
		})
	}
	group.Wait()
}

// FuzzMatcher checks that matching never panics and that a card is found by each of its words, in any Unicode form and
// case.
func FuzzMatcher(f *testing.F) {
	f.Add("Can machines think?", "think")
	f.Add("İstanbul ſtraße ΟΔΟΣ Å", "straße")
	f.Add("ﬁn \u0301 が कि 한국어 a\u00a8b", "\u0000")
	f.Fuzz(func(t *testing.T, text, q string) {
		NewMatcher(q).Score([]byte(text))
		if !utf8.ValidString(text) {
			return
		}
		card, err := json.Marshal(map[string]string{"title": text})
		if err != nil {
			t.Fatal(err)
		}
		NewMatcher(q).Score(card)
		for _, w := range words(text) {
			if _, ok := NewMatcher(w).Score(card); !ok {
				t.Fatalf("%q is not found in %q", w, text)
			}
		}
	})
}

// Every character is searched for in composed, decomposed, compatibility and upper-case form.
func TestFoldGivesOneFormToEverySpelling(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= 0x1ffff; r++ {
		s := string(r)
		if great := 0x3400 <= r && r < 0xfb00 || r > 0xffff; !utf8.ValidString(s) || great && r%64 != 0 {
			continue // a sample is sufficient for large scripts and rare characters
		}
		want := strings.TrimSpace(fold(s))
		if slow := strings.TrimSpace(foldRune(r)); r < utf8.RuneSelf && slow != want {
			t.Errorf("%U folds to %+q by table and to %+q by rule", r, want, slow)
		}
		for name, other := range map[string]string{
			"NFC": norm.NFC.String(s), "NFD": norm.NFD.String(s), "NFKC": norm.NFKC.String(s),
			"NFKD":  norm.NFKD.String(s),
			"lower": strings.ToLower(s), "core.Fold": core.Fold(s), "folded": want,
		} {
			if got := strings.TrimSpace(fold(other)); got != want {
				t.Errorf("%U folds to %+q, its form %s to %+q", r, want, name, got)
			}
		}
	}
}

func words(text string) []string {
	var out []string
	for word, rest := nextWord([]byte(fold(text))); word != nil; word, rest = nextWord(rest) {
		out = append(out, string(word))
	}
	return out
}

// BenchmarkMatcher measures one search over 3,000 cards. ASCII cards need no allocation; cards that need full Unicode
// folding are the worst case.
func BenchmarkMatcher(b *testing.B) {
	for name, text := range map[string]struct{ title, sentence, q string }{
		"ascii": {
			"Computing Machinery and Intelligence",
			"I propose to consider the question whether machines can think. ", "computing machin",
		},
		"cyrillic": {
			"Вычислительные машины и разум", "Я собираюсь рассмотреть вопрос, могут ли машины мыслить. ",
			"разум маши",
		},
	} {
		b.Run(name, func(b *testing.B) {
			card := fmt.Appendf(nil,
				`{"cardId":"crd_1","title":%q,"authors":["Alan M. Turing"],"year":1950,"venue":"Mind","snippet":%q}`,
				text.title, strings.Repeat(text.sentence, 8))
			m := NewMatcher(text.q)
			if _, ok := m.Score(card); !ok {
				b.Fatal("no match")
			}
			b.ReportAllocs()
			for b.Loop() {
				for range 3000 {
					m.Score(card)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*3000), "ns/card")
		})
	}
}
