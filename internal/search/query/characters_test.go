package query

import (
	"slices"
	"testing"

	"carrel/internal/search/analysis"
)

func TestHanCharactersAreFurtherTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		terms    string
		sequence []int
	}{
		"":                {"", nil},
		"red fox":         {"red fox", []int{0, 1}},
		"猫":               {"猫", []int{0}},
		"自然言語":            {"自然 然言 言語 自 然 言 語", nil},
		"GPU 計算":          {"gpu 計算 計 算", []int{0}},
		"黑猫 猫狗":           {"黑猫 猫狗 黑 猫 狗", nil},
		"计算 计算":           {"计算*2 计*2 算*2", nil},
		"猫が好き":            {"猫が が好 好き 猫 好", []int{0, 1, 2}},
		"ค้น":             {"ค้น", []int{0}},
		`"自然" author:王小明`: {"自然 王小 小明 自 然 王 小 明 +any(自然) +author(王小,小明)", nil},
	} {
		q := parse(text)
		before := render(q)
		got := q.WithCharacters()
		if render(got) != want.terms || !slices.Equal(got.Sequence, want.sequence) {
			t.Errorf("%q has the terms %q and the sequence %v, want %q, %v",
				text, render(got), got.Sequence, want.terms, want.sequence)
		}
		if render(q) != before {
			t.Errorf("%q was changed from %q to %q", text, before, render(q))
		}
	}
}

// The characters of a query are the ones that are indexed for the same text.
func TestCharactersOfAQueryAreIndexed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"自然言語処理", "猫が好き", "GPU計算機 和 CPU", "二〇二〇年", "人"} {
		var extra analysis.Extra
		indexed := make(map[string]bool)
		for token := range analysis.New("").Tokens(text) {
			extra.Add(token)
			indexed[token.Term] = true
		}
		for _, term := range extra.Terms {
			indexed[term] = true
		}
		for _, term := range parse(text).WithCharacters().Terms {
			if !indexed[term.Text] {
				t.Errorf("%q of %q is not indexed: %v", term.Text, text, indexed)
			}
		}
	}
}
