package quote

import (
	"slices"
	"testing"
)

func TestNumbersAreReadByTheirValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"no number":                          nil,
		"12 and 1,234 and 1,234,567":         {"12", "1234", "1234567"},
		"1.5 and 1.50 and 0.5 and 007":       {"1.5", "1.5", "0.5", "7"},
		"1.234.567 and 1.234,5 and 1,234.50": {"1234567", "1234.5", "1234.5"},
		"3,5 and 0,500":                      {"3.5", "0.5"},
		"12 345 and 1\u202f234\u00a0567":     {"12345", "1234567"},
		"in 2010 345 people":                 {"2010", "345"},
		"1’234 and 1'234":                    {"1234", "1234"},
		"5% and 5 % and 5 percent":           {"5%", "5%", "5%"},
		"5 per cent, 5 por ciento, 5 per":    {"5%", "5%", "5"},
		"1.5 million and 2 billion and 3k":   {"1500000", "2000000000", "3000"},
		"2.25 thousand, 1.5 million percent": {"2250", "1500000%"},
		"-5 and −5 but 3-5 and x-5 and (1)-2": {
			"-5", "-5", "3", "5", "5", "1", "2",
		},
		"1990–2000, 1990s, the 80's, 19th": {"1990", "2000", "1990s", "80s", "19"},
		"GPT-4, B12, CO₂, H2O, word2vec":   {"4", "b12", "co2", "h2o", "word2vec"},
		"6½ and ½":                         {"6½", "½"},
		"12.03.2020, 1.2.3, 10:30, 3/4":    {"12.03.2020", "1.2.3", "10", "30", "3", "4"},
		"10km, 5mg, 2x4":                   {"10", "5", "2x4"},
		"٣٤ and ４２":                        {"34", "42"},
		"Two of the twelve, five million":  {"2", "12", "5000000"},
		"one and oneself, often, tens":     nil,
		"a fact² and 10² are":              {"10"},
		"The end 5.":                       {"5"},
	} {
		var got []string
		for _, n := range numerals(text) {
			value := n.value
			if n.percent {
				value += "%"
			}
			got = append(got, value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestAbsentNumbersAreShownVerbatim(t *testing.T) {
	t.Parallel()
	var got []string
	for _, n := range numerals("It fell by -5 % to 1.5 million in the 1990s for three men.") {
		got = append(got, n.text)
	}
	if want := []string{"-5 %", "1.5 million", "1990s", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzNumeralsAreTheSameWhereverTheyStand(f *testing.F) {
	f.Add("1,234.5% of 6½ in the 1990s, −3 million, CO₂ and ٣")
	f.Add("1..2,,3  4 5'6'’ %% k2k")
	f.Fuzz(func(t *testing.T, text string) {
		alone := numerals(text)
		for _, n := range alone {
			if n.value == "" || n.text == "" {
				t.Fatalf("%q has an empty number: %+v", text, n)
			}
		}
		if absent := absentNumbers(text, []string{text}); len(absent) > 0 {
			t.Fatalf("%q lacks its own %q", text, absent)
		}
	})
}

func TestNumbersAreShiftedByTheirScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		zeros int
		want  string
	}{
		{"5", 3, "5000"},
		{"1.5", 6, "1500000"},
		{"1.2345", 2, "123.45"},
		{"0.005", 3, "5"},
		{"0", 9, "0"},
		{"12", 0, "12"},
		{"6½", 3, "6½"},
		{"b12", 3, "b12"},
		{"1.2.3", 3, "1.2.3"},
	} {
		if got := shift(c.value, c.zeros); got != c.want {
			t.Errorf("%s with %d zeros is %s, want %s", c.value, c.zeros, got, c.want)
		}
	}
}

func TestDigitsOfEveryScriptAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"٣٤٫٥": "34.5", "१२३": "123", "๙": "9", "１２，３４５": "12", "𝟗𝟎": "90", "৪২": "42", "H₂": "h2",
	} {
		got := numerals(text)
		if len(got) == 0 || got[0].value != want {
			t.Errorf("%s is %+v, want %s", text, got, want)
		}
	}
}

func TestCheckComparesNumbersByValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sentence, quote string
		want            State
	}{
		{"It cost 1,500 dollars [1].", "The price was 1500 dollars.", Supported},
		{"It cost 1.5 million [1].", "The price was 1,500,000.", Supported},
		{"It cost 1.6 million [1].", "The price was 1,500,000.", Unsupported},
		{"It rose by 5 % [1].", "An increase of 5 percent.", Supported},
		{"It rose by 5 % [1].", "Five people and 5 dogs.", Unsupported}, // a percentage is not a count
		{"There were 5 [1].", "It rose by 5 %.", Supported},
		{"There were three of them [1].", "All 3 were there.", Supported},
		{"There were three of them [1].", "All 4 were there.", Unsupported},
		{"Three sources say so [1].", "It was in 1850.", Supported}, // the sentence counts its sources
		{"It was in the 1990s [1].", "It was in 1990.", Unsupported},
		{"It fell to -5 [1].", "It fell to −5 degrees.", Supported},
		{"It fell to -5 [1].", "It rose to 5 degrees.", Unsupported},
		{"He said \"we shall never know the truth\" [1].", "Then we shall never know the truth, he said.", Supported},
		{"He said \"we shall always know the truth\" [1].", "We shall never know the truth, he said.", Unsupported},
	} {
		got := Check(c.sentence, map[int][]string{1: {c.quote}})
		if len(got.Sentences) != 1 || got.Sentences[0].State != c.want {
			t.Errorf("%q from %q: %+v", c.sentence, c.quote, got.Sentences)
		}
	}
}
