package search

import "testing"

func TestTextsInOtherScriptsHaveNoBuiltInVector(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"search engines": true, "naïve café": true, "the word 検索": true,
		"検索": false, "ค้นหา": false, "поиск": false, "1984": false, "": false, "検索エンジン and": false,
	} {
		if got := embedEnglish([]string{text})[0] != nil; got != want {
			t.Errorf("%q has a vector: %v", text, got)
		}
	}
}

func TestQueriesForIdentifiersHaveNoMeaning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"token3000": false, "A-104 B7": false, "1984": false, "": false,
		"rfc9110 caching": true, "relational model": true,
	} {
		if got := HasMeaning(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
