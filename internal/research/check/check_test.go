package check

import (
	"math"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name, language, quote, sentence string
		state                           State
		reason                          Reason
	}{
		{"whole sentence", "en", "A bridge was built. It fell in 1999.", "It fell in 1999.", Quoted, ""},
		{
			"part of a sentence is not quoted", "en", "Nobody believes that the bridge was safe in winter.",
			"The bridge was safe in winter.", Unsupported, HedgeDropped,
		},
		{"scale", "en", "The city has 3,000,000 inhabitants.", "The city has 3 million inhabitants.", Supported, ""},
		{
			"wrong scale", "en", "The city has 3 million inhabitants.", "The city has 3 thousand inhabitants.",
			Contradicted, NumberDiffers,
		},
		{"unit", "en", "The tunnel is 5 km long.", "The tunnel is 5 m long.", Contradicted, UnitDiffers},
		{"converted unit", "en", "The tunnel is 5 km long.", "The tunnel is 5,000 metres long.", Supported, ""},
		{"number word", "en", "The tunnel has twelve lamps.", "The tunnel has 12 lamps.", Supported, ""},
		{"rounded", "en", "The lake covers 1,564 hectares.", "The lake covers about 1,600 hectares.", Supported, ""},
		{
			"not rounded that far", "en", "The lake covers 1,564 hectares.", "The lake covers about 2,000 hectares.",
			Contradicted, NumberDiffers,
		},
		{
			"more than", "en", "The hall seats more than 500 guests.", "The hall seats fewer than 500 guests.",
			Contradicted, ComparisonTurned,
		},
		{
			"a year is not rounded", "en", "The mill burned down in 1971.", "The mill burned down in 1970.",
			Contradicted, DateDiffers,
		},
		{
			"month", "en", "The treaty was signed on 12 March 1971.", "The treaty was signed on 12 May 1971.",
			Contradicted, DateDiffers,
		},
		{
			"date in another form", "en", "The treaty was signed on 12 March 1971.",
			"The treaty was signed on 1971-03-12.", Supported, "",
		},
		{
			"identifier", "en", "The inhibitor CK-666 blocks the complex.", "The inhibitor CK666 blocks the complex.",
			Supported, "",
		},
		{
			"other identifier", "en", "HTTP semantics are defined in RFC 9110.", "HTTP semantics are defined in RFC 9112.",
			Contradicted, NameDiffers,
		},
		{
			"name", "en", "The prize was given to Marie Curie in Stockholm.", "The prize was given to Marie Curie in Oslo.",
			Contradicted, NameDiffers,
		},
		{
			"negation", "en", "The vaccine prevents the disease in adults.",
			"The vaccine does not prevent the disease in adults.",
			Contradicted, NegationDiffers,
		},
		{
			"a score is no negation", "en", "In October the team beat the champion by five games to none.",
			"The team beat the champion by five games to none in October.", Supported, "",
		},
		{
			"antonym", "en", "Prices increased sharply in the north.", "Prices decreased sharply in the north.",
			Contradicted, AntonymFound,
		},
		{
			"quantifier", "en", "Some patients recovered within a week.", "All patients recovered within a week.",
			Contradicted, QuantifierChange,
		},
		{"hedge", "en", "The drug may cause headaches.", "The drug causes headaches.", Unsupported, HedgeDropped},
		{
			"must", "en", "The client SHOULD retry the request.", "The client must retry the request.",
			Contradicted, HedgeDropped,
		},
		{
			"passive", "en", "The committee rejected the proposal.", "The proposal was rejected by the committee.",
			Supported, "",
		},
		{"roles", "en", "The lion killed the zebra.", "The zebra killed the lion.", Contradicted, RolesSwapped},
		{
			"roles in the passive", "en", "The lion killed the zebra.", "The lion was killed by the zebra.",
			Contradicted, RolesSwapped,
		},
		{
			"association", "en", "Coffee is associated with longer sleep in older adults.",
			"Coffee causes longer sleep in older adults.", Unsupported, CauseClaimed,
		},
		{
			"cause and effect", "en", "The flood was caused by heavy rain in May.", "The flood caused heavy rain in May.",
			Contradicted, RolesSwapped,
		},
		{
			"rank", "en", "Leeds is the third largest city in the country.", "Leeds is the largest city in the country.",
			Contradicted, OrdinalDiffers,
		},
		{
			"unrelated", "en", "The library opens at nine on weekdays.", "Coffee cures cancer in most patients.",
			Unsupported, NotCovered,
		},
		{"added detail", "en", "The bridge was opened in 1932.", "The bridge was opened in 1932 by the mayor.", Cited, ""},
		{"head noun left out", "en", "The brother of Ada Byron died in 1852.", "Ada Byron died in 1852.", Cited, ""},
		{
			"quotation", "en", "He called it a great and lasting failure of nerve.",
			`He called it "a great and lasting failure of nerve".`, Supported, "",
		},
		{
			"words that are not there", "en", "He called it a failure of nerve.",
			`He called it "a triumph of the human spirit".`, Unsupported, WordsAbsent,
		},
		{
			"German", "de", "Der Turm wurde 1889 von Gustave Eiffel errichtet.",
			"Gustave Eiffel errichtete den Turm 1889.", Supported, "",
		},
		{
			"German negation", "de", "Eine Zensur findet nicht statt.", "Eine Zensur findet statt.",
			Contradicted, NegationDiffers,
		},
		{"German number", "de", "Der Tunnel ist 1.250 Meter lang.", "Der Tunnel ist 1,25 km lang.", Supported, ""},
		{
			"German date", "de", "Das Gesetz gilt seit dem 1. Mai 2004.", "Das Gesetz gilt seit dem 1. Juni 2004.",
			Contradicted, DateDiffers,
		},
		{
			"French number", "fr", "La ville compte 3,2 millions d'habitants.",
			"La ville compte 3 200 000 habitants.", Cited, "",
		},
		{"French words are not English ones", "fr", "Le pain est bon sans sel.", "Le pain est bon avec sel.", Cited, ""},
		{
			"French repetition", "fr", "Le pont a été ouvert en 1932, puis fermé.",
			"Le pont a été ouvert en 1932", Supported, "",
		},
		{
			"sentence in another language", "de", "The tower was built in 1889 and is 330 metres high.",
			"Der Turm wurde 1889 gebaut und ist 330 Meter hoch.", Cited, "",
		},
		{
			"number in another language", "de", "The tower was built in 1889 and is 330 metres high.",
			"Der Turm wurde 1898 gebaut und ist 330 Meter hoch.", Unsupported, NumberAbsent,
		},
		{
			"year that the source does not have, in other words", "en", "The bridge was opened in 1932.",
			"The bridge dates from 1999.", Unsupported, NumberAbsent,
		},
		{"question", "en", "The bridge was opened in 1932.", "When was the bridge opened?", Talk, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := Judge(test.sentence, test.language, []Evidence{{Quote: test.quote}}, nil)
			if f.State != test.state || test.reason != "" && f.Reason != test.reason {
				t.Errorf("got %s %s (%s), want %s %s", f.State, f.Reason, f.Detail, test.state, test.reason)
			}
		})
	}
}

func TestJudgeWithoutEvidence(t *testing.T) {
	if f := Judge("The bridge was opened in 1932.", "en", nil, nil); f.State != Uncited || f.Evidence != -1 {
		t.Errorf("got %+v", f)
	}
}

func TestCitationsAreNotPartOfTheSentence(t *testing.T) {
	evidence := []Evidence{{Quote: "The bridge was opened in 1932."}}
	for _, sentence := range []string{
		"The bridge was opened in 1932 [1].", "The bridge was opened in 1932. [1][2, 3]", "The bridge was opened in 1932【4】.",
	} {
		if f := Judge(sentence, "en", evidence, nil); f.State != Quoted {
			t.Errorf("%q: got %s %s", sentence, f.State, f.Reason)
		}
	}
}

func TestFindingNamesTheDecidingPart(t *testing.T) {
	quote := "The mill was built in 1920. It burned down in 1971, at night."
	f := Judge("It burned down in 1978, at night.", "en", []Evidence{{Quote: quote}}, nil)
	if f.State != Contradicted || string([]rune(quote)[f.Start:f.End]) != "1971" {
		t.Errorf("got %+v", f)
	}
	if f.Detail != "The source says 1971, the sentence 1978." {
		t.Errorf("got the detail %q", f.Detail)
	}
}

func TestTitleAndContextResolvePronouns(t *testing.T) {
	e := Evidence{
		Quote: "It has 34,000 inhabitants.", Title: "Reykholt",
		Context: "Reykholt lies by the sea. It has 34,000 inhabitants.",
	}
	if f := Judge("Reykholt has 34,000 inhabitants.", "en", []Evidence{e}, nil); f.State != Supported {
		t.Errorf("got %s %s", f.State, f.Reason)
	}
	if f := Judge("Selfoss has 34,000 inhabitants.", "en", []Evidence{e}, nil); f.State == Supported {
		t.Error("a name that is not in the evidence was supported")
	}
	dated := []Evidence{{Quote: e.Quote, Year: 2019}}
	if f := Judge("In 2019, it had 34,000 inhabitants.", "en", dated, nil); f.State == Unsupported {
		t.Error("the year of publication was not accepted")
	}
}

func TestTwoQuotesTogether(t *testing.T) {
	evidence := []Evidence{{Quote: "The mill was built in 1920."}, {Quote: "The mill burned down in 1971."}}
	f := Judge("The mill was built in 1920 and burned down in 1971.", "en", evidence, nil)
	if f.State != Supported {
		t.Errorf("got %s %s", f.State, f.Reason)
	}
	f = Judge("The mill burned down in 1971.", "en", evidence, nil)
	if f.State != Quoted || f.Evidence != 1 {
		t.Errorf("got %+v", f)
	}
}

func TestYearInNoQuoteIsNotSupported(t *testing.T) {
	quotes := []Evidence{
		{Quote: "The old bridge was built of stone in 1850."}, {Quote: "The bridge of Aal was finished in 1900 by masons."},
	}
	for sentence, want := range map[string]State{
		"One says 1850, the other says 1900.": Cited,
		"One says 1850, the other says 1999.": Unsupported,
	} {
		if f := Judge(sentence, "en", quotes, nil); f.State != want {
			t.Errorf("%q: %+v", sentence, f)
		}
	}
}

func TestWeightsDecideAboutCoverage(t *testing.T) {
	quote := []Evidence{{Quote: "The study was published in spring."}}
	sentence := "The study examined mitochondria, ribosomes and lysosomes of the zebrafish retina."
	rare := weightFunc(func(term string) float64 { return float64(len(term)) })
	flat := weightFunc(func(string) float64 { return 1 })
	if f := Judge(sentence, "en", quote, rare); f.Reason != NotCovered {
		t.Errorf("rare words missing: got %s %s", f.State, f.Reason)
	}
	if f := Judge("The study in spring examined fish.", "en", quote, flat); f.Reason == NotCovered {
		t.Error("two of four words were not enough")
	}
}

type weightFunc func(string) float64

func (f weightFunc) Weight(term string) float64 { return f(term) }

func TestClaims(t *testing.T) {
	for _, test := range []struct {
		sentence, language string
		want               bool
	}{
		{"Hello!", "en", false},
		{"Thanks, that helps.", "en", false},
		{"You're welcome.", "en", false},
		{"What is a segment?", "en", false},
		{"I could not find this in your sources.", "en", false},
		{"I’m sorry, I have no source for that.", "en", false},
		{"The sources do not say when it was built.", "en", false},
		{"Please open the second document.", "en", false},
		{"Let me know if you need more.", "en", false},
		{"Here are the main points:", "en", false},
		{"…", "en", false},
		{"", "en", false},
		{"Thanks to the new law, sales rose in 2010.", "en", true},
		{"Yes, the bridge was opened in 1932.", "en", true},
		{"In short, the plan failed in 1999.", "en", true},
		{"Open access papers are cited more often.", "en", true},
		{"Compare the two tables.", "en", false},
		{"None of the documents mention the price.", "en", false},
		{"The bridge was opened in 1932.", "en", true},
		{"No vaccine was available before 1955.", "en", true},
		{"Sure enough, the bridge collapsed two years after its opening.", "en", true},
		{"Hallo!", "de", false},
		{"Gern geschehen.", "de", false},
		{"Wann wurde die Brücke eröffnet?", "de", false},
		{"Ich habe dazu nichts gefunden.", "de", false},
		{"Die Brücke wurde 1932 eröffnet.", "de", true},
		{"¿Cuándo se abrió el puente?", "es", false},
		{"El puente se abrió en 1932.", "es", true},
		{"橋は1932年に開通した。", "ja", true},
	} {
		if got := Claims(test.sentence, test.language); got != test.want {
			t.Errorf("Claims(%q, %s) = %v", test.sentence, test.language, got)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, test := range []struct {
		language, text string
		kind           kind
		value          float64
		dimension      string
	}{
		{"en", "3 million", number, 3e6, ""},
		{"en", "3,000,000", number, 3e6, ""},
		{"en", "eighty-seven", number, 87, ""},
		{"en", "two hundred and fifty", number, 250, ""},
		{"en", "a quarter", number, 0.25, ""},
		{"en", "three quarters", number, 0.75, ""},
		{"en", "one in four", number, 0.25, ""},
		{"en", "5 km", number, 5, "length"},
		{"en", "85 km/hr", number, 85, "speed"},
		{"en", "85 kilometres per hour", number, 85, "speed"},
		{"en", "11-year", number, 11, "time"},
		{"en", "20 per cent", number, 20, "%"},
		{"en", "$1.5 billion", number, 1.5e9, "dollar"},
		{"en", "£3m", number, 3e6, "sterling"},
		{"en", "one billionth of a metre", number, 1e-9, "length"},
		{"en", "39th", ordinal, 39, ""},
		{"en", "thirteenth", ordinal, 13, ""},
		{"de", "1.250 Meter", number, 1250, "length"},
		{"de", "18,3 Millionen", number, 18.3e6, ""},
		{"de", "fünfundfünfzig", number, 55, ""},
		{"de", "zwei Drittel", number, 2.0 / 3, ""},
		{"de", "achtzehnten", ordinal, 18, ""},
		{"fr", "3,2 millions", number, 3.2e6, ""},
	} {
		r := newReader(test.language)
		tokens := r.read(test.text)
		if len(tokens) != 1 {
			t.Errorf("%s: %d tokens", test.text, len(tokens))
			continue
		}
		got := tokens[0]
		if got.kind != test.kind || math.Abs(got.value.value-test.value) > 1e-9*test.value ||
			got.value.dimension != test.dimension {
			t.Errorf("%s: got kind %d, %v %s", test.text, got.kind, got.value.value, got.value.dimension)
		}
	}
}

// TestRearrangedQuotesAreJudged judges sentences whose words are those of the quote, repeated, left out and in another
// order, because the rules look at the neighbours of words that match.
func TestRearrangedQuotesAreJudged(t *testing.T) {
	t.Parallel()
	set := readSet(t, "development.jsonl")
	extra := strings.Fields("not who which that of in and , ; : 5 1990 km Rome %% most never - ( ) “ ” . The may 橋 nicht")
	const rounds = 4000
	for seed := range uint64(rounds) {
		draw := rand.New(rand.NewPCG(seed, 1))
		l := set[draw.IntN(len(set))]
		words := append(strings.Fields(l.Quote), strings.Fields(l.Sentence)...)
		from := draw.IntN(len(words))
		words = words[from:min(len(words), from+1+draw.IntN(30))]
		var claim, quoted []string
		for range 1 + draw.IntN(14) {
			claim = append(claim, words[draw.IntN(len(words))])
			if draw.IntN(4) == 0 {
				claim = append(claim, extra[draw.IntN(len(extra))])
			}
		}
		for _, word := range words {
			if draw.IntN(6) > 0 {
				quoted = append(quoted, word)
			}
			if draw.IntN(8) == 0 {
				quoted = append(quoted, extra[draw.IntN(len(extra))])
			}
		}
		evidence := []Evidence{{Quote: strings.Join(quoted, " "), Context: l.Context, Title: l.Title, Year: l.Year}}
		judgedInBounds(t, strings.Join(claim, " "), l.Language, evidence)
	}
}

// judgedInBounds judges a sentence and checks the evidence and the offsets of the finding.
func judgedInBounds(t *testing.T, sentence, language string, evidence []Evidence) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%v\n%q\n%+v\n%s", r, sentence, evidence, debug.Stack())
		}
	}()
	got := Judge(sentence, language, evidence, nil)
	if again := Judge(sentence, language, evidence, nil); again != got {
		t.Fatalf("got %+v, then %+v", got, again)
	}
	if got.Evidence < -1 || got.Evidence >= len(evidence) {
		t.Fatalf("evidence %d", got.Evidence)
	}
	if got.Evidence < 0 {
		return
	}
	source := []rune(evidence[got.Evidence].Quote)
	if got.Start < 0 || got.Start > got.End || got.End > len(source) {
		t.Fatalf("offsets %d to %d of %d", got.Start, got.End, len(source))
	}
	if part := string(source[got.Start:got.End]); got.State == Quoted &&
		!strings.Contains(onlyLetters(sentence), onlyLetters(part)) {
		t.Fatalf("%q is quoted, but does not hold %q", sentence, part)
	}
}

func FuzzJudge(f *testing.F) {
	for _, name := range []string{"development.jsonl", "heldout.jsonl"} {
		for i, l := range readSet(f, name) {
			if i%7 == 0 {
				f.Add(l.Sentence, l.Language, l.Quote, l.Context, l.Title)
			}
		}
	}
	f.Add("橋は1932年に開通した。", "ja", "その橋は1932年に開通した。", "", "橋")
	f.Add("[1] „½ %$ 5–", "", "5–10 km/h 1/0 1.2.3.4 12:30", "'’“", "")
	f.Fuzz(func(t *testing.T, sentence, language, quote, context, title string) {
		evidence := []Evidence{{Quote: quote, Context: context, Title: title}, {Quote: context, Title: title}}
		judgedInBounds(t, sentence, language, evidence)
	})
}

// onlyLetters returns the letters and digits of a text, folded as quotes are.
func onlyLetters(text string) string {
	r := newReader("en")
	var b strings.Builder
	for w := range r.analyser.Words(text) {
		b.Write(w.Folded)
	}
	return b.String()
}

func BenchmarkJudge(b *testing.B) {
	set := readSet(b, "development.jsonl")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		l := &set[i%len(set)]
		Judge(l.Sentence, l.Language, l.evidence(), nil)
		i++
	}
}

func BenchmarkJudgeLongQuote(b *testing.B) {
	set := readSet(b, "development.jsonl")
	for _, size := range []int{1, 2, 4, 8} {
		quote := strings.Repeat(set[0].Quote+" ", size)
		b.Run(strconv.Itoa(size)+" quotes", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Judge(set[0].Sentence, "en", []Evidence{{Quote: quote}}, nil)
			}
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	set := readSet(t, "development.jsonl")[:40]
	want := make([]Finding, len(set))
	for i := range set {
		want[i] = Judge(set[i].Sentence, set[i].Language, set[i].evidence(), nil)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range set {
				if got := Judge(set[i].Sentence, set[i].Language, set[i].evidence(), nil); got != want[i] {
					t.Errorf("%s: got %+v, want %+v", set[i].ID, got, want[i])
				}
			}
		})
	}
	group.Wait()
}

// TestLongTextsAreJudged judges texts of the maximum length that repeat the words of a rule. A rule that is not linear
// would make it take minutes.
func TestLongTextsAreJudged(t *testing.T) {
	for _, part := range []string{
		"alpha zeta ", "all some never most ", "in 1990 and 1991 to 5 km ", "He said, not he, that Rome may fall. ",
		"(a) b, ",
		"was founded by Anna ", "not ", "Bern ", "5 ", "nicht wird gebaut von ",
	} {
		long := strings.Repeat(part, 4*maxQuote/len(part))
		for _, language := range []string{"en", "de", "fr", ""} {
			for range 3 {
				e := Evidence{Quote: "zeta " + long, Context: long + "end", Title: part}
				if f := Judge("Omega "+long+" omega.", language, []Evidence{e}, nil); f.State == Quoted {
					t.Errorf("%q in %q: %+v", part, language, f)
				}
			}
		}
	}
}
