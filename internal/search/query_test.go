package search

import "testing"

func TestADOIIsReadInAllItsSpellings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, want string
	}{
		{"10.1145/361219.361220", "10.1145/361219.361220"},
		{"  doi:10.1145/361219.361220 ", "10.1145/361219.361220"},
		{"DOI: 10.1002/ASI.1", "10.1002/asi.1"},
		{"https://doi.org/10.1145/361219.361220", "10.1145/361219.361220"},
		{"http://dx.doi.org/10.1145/361219.361220", "10.1145/361219.361220"},
		{"doi.org/10.1145/361219.361220", "10.1145/361219.361220"},
		{"https://doi.org/10.1002/(SICI)1097-4571%3C1::AID%3E3.0.CO;2-I", "10.1002/(sici)1097-4571<1::aid>3.0.co;2-i"},
		{"10.1000.10/123", "10.1000.10/123"},
		{"", ""},
		{"10.1145", ""},
		{"10.1145/two words", ""},
		{"https://example.org/10.1145/361219", ""},
		{"see 10.1145/361219.361220", ""},
	}
	for _, test := range tests {
		got, ok := parseDOI(test.text)
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("parseDOI(%q) = %q, %v, want %q", test.text, got, ok, test.want)
		}
	}
}

func TestATitleIsTheQueryButForCaseAccentsAndPunctuation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query, title string
		want         bool
	}{
		{"attention is all you need", "Attention Is All You Need.", true},
		{"uber godel", "Über: Gödel", true},
		{"自然 言語", "自然言語", true},
		{"attention is all", "Attention Is All You Need", false},
		{"attention is all you need", "Attention Is All", false},
		{"need you all is attention", "Attention Is All You Need", false},
		{"indexing", "Index", false},
		{"!", "?", false},
		{"word", "", false},
	}
	for _, test := range tests {
		a := NewAnalyser()
		q := parseQuery(a, test.query)
		if got := q.isTitle(a, test.title); got != test.want {
			t.Errorf("query %q is title %q: %v, want %v", test.query, test.title, got, test.want)
		}
	}
}
