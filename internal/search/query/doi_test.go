package query

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

func TestSpellingsOfADOIShareAKey(t *testing.T) {
	t.Parallel()
	key := DOIKey("10.1145/361219.361220")
	for _, text := range []string{
		"doi:10.1145/361219.361220", " https://DOI.org/10.1145/361219.361220", "DOI: 10.1145/361219.361220",
	} {
		if got := DOIKey(text); got != key || got == 0 {
			t.Errorf("key of %q is %x, want %x", text, got, key)
		}
		if q := parse(text); q.DOIKey != key || len(q.Terms) == 0 {
			t.Errorf("query %q: %+v", text, q)
		}
	}
	for _, text := range []string{"", "10.1145", "see 10.1145/361219.361220", "-10.1145/361219.361220"} {
		if got := DOIKey(text); got != 0 {
			t.Errorf("key of %q is %x, want none", text, got)
		}
	}
	if DOIKey("10.1145/361219.361221") == key {
		t.Error("two DOIs have one key")
	}
}
