package quote

import (
	"strings"
	"testing"
)

// first returns the first quote of an answer, or "".
func first(language, question string, passages ...Passage) (string, Answer) {
	e := New(language)
	got := e.Answer(e.Ask(question, Talk{}, nil), passages, nil)
	if len(got.Quotes) == 0 {
		return "", got
	}
	return got.Quotes[0].Text, got
}

// documents are passages of separate documents.
func documents(bodies ...string) []Passage {
	var out []Passage
	for i, body := range bodies {
		out = append(out, Passage{DocumentID: string(rune('a' + i)), Text: body})
	}
	return out
}

// classes are questions by the kind of thing they ask for. The sentences of each passage share the words of the
// question; only one holds the right kind.
var classes = map[string]struct{ language, question, passage, want string }{
	"date: a year": {
		"en", "When was the canal opened?",
		"The canal was opened for ships of every flag. The canal was opened in 1869. The canal was opened with a feast.",
		"The canal was opened in 1869.",
	},
	"date: a month": {
		"en", "When was the treaty signed?",
		"The treaty was signed by all parties. The treaty was signed in a November night. The treaty was signed twice.",
		"The treaty was signed in a November night.",
	},
	"date: a century": {
		"en", "What century was the abbey founded in?",
		"The abbey was founded by monks. The abbey was founded in the ninth century. The abbey was founded on a hill.",
		"The abbey was founded in the ninth century.",
	},
	"number: digits": {
		"en", "How many sailors crewed the ship?",
		"Sailors crewed the ship for years. The ship was crewed by 34 sailors. Sailors who crewed the ship were paid.",
		"The ship was crewed by 34 sailors.",
	},
	"number: a word": {
		"en", "How many moons does the planet have?",
		"The planet does have moons. The planet does have seven moons. Moons orbit the planet.",
		"The planet does have seven moons.",
	},
	"how old": {
		"en", "How old is the oak?",
		"The oak is old. The oak is 900 years old. The oak is very old indeed.",
		"The oak is 900 years old.",
	},
	"who": {
		"en", "Who designed the opera house?",
		"The opera house was designed in a hurry. The opera house was designed by Jørn Utzon. The house was admired.",
		"The opera house was designed by Jørn Utzon.",
	},
	"where": {
		"en", "Where was the comet first seen?",
		"The comet was first seen by a shepherd. The comet was first seen from Chile. The comet was bright.",
		"The comet was first seen from Chile.",
	},
	"why": {
		"en", "Why did the dam fail?",
		"The dam did fail in spring. The dam failed because water seeped below it. The dam failed at night.",
		"The dam failed because water seeped below it.",
	},
	"German: date": {
		"de", "Wann wurde die Brücke eröffnet?",
		"Die Brücke wurde feierlich eröffnet. Die Brücke wurde im März eröffnet. Die Brücke wurde vom König eröffnet.",
		"Die Brücke wurde im März eröffnet.",
	},
	"German: number": {
		"de", "Wie viele Bücher besitzt die Bibliothek?",
		"Die Bibliothek besitzt Bücher. Die Bibliothek besitzt 40.000 Bücher. Bücher besitzt die Bibliothek gern.",
		"Die Bibliothek besitzt 40.000 Bücher.",
	},
	"German: cause": {
		"de", "Warum sank das Schiff?",
		"Das Schiff sank in der Nacht. Das Schiff sank wegen eines Lecks. Das Schiff sank vor der Küste.",
		"Das Schiff sank wegen eines Lecks.",
	},
	"French: date": {
		"fr", "Quand le musée a-t-il été fondé ?",
		"Le musée a été fondé par un moine. Le musée a été fondé en 1793. Le musée a été fondé à Paris.",
		"Le musée a été fondé en 1793.",
	},
	"Spanish: who": {
		"es", "¿Quién pintó el mural?",
		"El mural se pintó en verano. El mural lo pintó Diego Rivera. El mural se pintó con prisa.",
		"El mural lo pintó Diego Rivera.",
	},
	"Italian: number": {
		"it", "Quanti ponti attraversano il canale?",
		"I ponti attraversano il canale. Il canale lo attraversano 4 ponti. Molti attraversano il canale sui ponti.",
		"Il canale lo attraversano 4 ponti.",
	},
	"Russian: percentage": {
		"ru", "Какой процент воды содержит огурец?",
		"Огурец содержит процент воды. Огурец содержит 95 процентов воды. Воды огурец содержит немало.",
		"Огурец содержит 95 процентов воды.",
	},
}

func TestTheSentenceOfTheRightKindIsQuoted(t *testing.T) {
	t.Parallel()
	for class, c := range classes {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			other := "Something else entirely stands here."
			got, answer := first(c.language, c.question, documents(c.passage, other)...)
			if got != c.want && !strings.Contains(got, c.want) || answer.Outcome == Nothing {
				t.Errorf("quoted %q, outcome %d, coverage %.2f", got, answer.Outcome, answer.Coverage)
			}
			ranked := New(c.language)
			order := ranked.Rank(ranked.Ask(c.question, Talk{}, nil), documents(c.passage, other), nil)
			best := []rune(c.passage)[order[0].Start:order[0].End]
			if string(best) != c.want {
				t.Errorf("%q ranks first", string(best))
			}
		})
	}
}

// A number or name that the question already holds is not the answer.
func TestAWordOfTheQuestionIsNotOfTheRightKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, passage, want string }{
		{
			"How many people watched the 1966 final?",
			"People watched the 1966 final. The 1966 final was watched by 32 million people.",
			"The 1966 final was watched by 32 million people.",
		},
		{
			"Who followed Magellan around the world?",
			"Around the world many followed Magellan. Around the world Magellan was followed by Francis Drake.",
			"Around the world Magellan was followed by Francis Drake.",
		},
	} {
		e := New("en")
		passages := documents(c.passage, "Something else.")
		order := e.Rank(e.Ask(c.question, Talk{}, nil), passages, nil)
		if got := string([]rune(c.passage)[order[0].Start:order[0].End]); got != c.want {
			t.Errorf("%q: %q ranks first", c.question, got)
		}
	}
}

// The built-in reader compares words. A denial holds the words of the question, so it is quoted and not hidden.
func TestDenialsAreQuoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, passage, want string }{
		{
			"Is Pluto a planet?", "Pluto is no planet by the definition of 2006. Neptune is large.",
			"Pluto is no planet by the definition of 2006.",
		},
		{
			"Does aspirin cure influenza?", "Aspirin does not cure influenza. It lowers the fever.",
			"Aspirin does not cure influenza.",
		},
	} {
		if got, _ := first("en", c.question, documents(c.passage, "Other things.")...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: quoted %q", c.question, got)
		}
	}
}

// The subject of a document is often named in its title only, and its sentences say "it".
func TestPronounsReferToTheTitle(t *testing.T) {
	t.Parallel()
	passages := []Passage{
		{DocumentID: "a", Title: "Memex", Text: "It was described in 1945. It is a desk with a library."},
		{DocumentID: "b", Title: "Sketchpad", Text: "It was described in 1963. It is a drawing program."},
		{DocumentID: "c", Title: "Bread", Text: "Flour is described here. It is baked."},
	}
	for question, want := range map[string]string{
		"When was the Memex described?": "a", "When was Sketchpad described?": "b", "What is Sketchpad?": "b",
	} {
		_, got := first("en", question, passages...)
		if len(got.Quotes) == 0 || got.Quotes[0].DocumentID != want {
			t.Errorf("%q: quoted %+v", question, got.Quotes)
		}
	}
}

func TestAPronounTakesItsSentenceAlong(t *testing.T) {
	t.Parallel()
	const name, year = "The Antikythera mechanism shows eclipses.", "It was found by divers in 1901."
	got, _ := first("en", "When was the Antikythera mechanism found?", documents(name+" "+year, "Other things.")...)
	if got != name+" "+year {
		t.Errorf("quoted %q", got)
	}
	// A sentence before it in another paragraph does not belong to it.
	got, _ = first("en", "When was the mechanism found by divers?", documents(name+"\n\n"+year, "Other things.")...)
	if strings.Contains(got, name) && strings.Contains(got, year) {
		t.Errorf("paragraphs are joined: %q", got)
	}
}

// Sources in other languages are searched as well; words that are equal in both, such as names, find them.
func TestNamesAreFoundInAnotherLanguage(t *testing.T) {
	t.Parallel()
	passages := documents(
		"Der Zeppelin LZ 127 wurde 1928 gebaut. Er flog um die Welt.",
		"Le pain se fait avec de la farine.",
		"A ship crossed the sea in 1928.",
	)
	for _, question := range []string{"What is the Zeppelin LZ 127?", "Zeppelin LZ 127"} {
		got, answer := first("en", question, passages...)
		if !strings.HasPrefix(got, "Der Zeppelin LZ 127") || answer.Outcome == Nothing {
			t.Errorf("%q: quoted %q, outcome %d", question, got, answer.Outcome)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	passages := documents(
		"Amber is fossil resin. Amber floats in salt water and burns with a pleasant smell.",
		"Granite is hard and heavy.",
		"Salt water is heavier than fresh water.",
	)
	for _, c := range []struct {
		question           string
		want               Outcome
		unmatched, missing string
	}{
		{"Does amber float in salt water?", Answered, "", ""},
		{"What is amber?", Answered, "", ""},
		{"Which submarine discovered amber?", Closest, "submarine", ""},
		{"Which orchestra played?", Nothing, "orchestra played", ""},
		{"the of and", Nothing, "", ""},
		{"", Nothing, "", ""},
	} {
		_, got := first("en", c.question, passages...)
		if got.Outcome != c.want || strings.Join(got.Unmatched, " ") != c.unmatched {
			t.Errorf("%q: outcome %d (coverage %.2f), unmatched %q, missing %q",
				c.question, got.Outcome, got.Coverage, got.Unmatched, got.Missing)
		}
		if (got.Outcome == Nothing) != (len(got.Quotes) == 0) {
			t.Errorf("%q: outcome %d with %d quotes", c.question, got.Outcome, len(got.Quotes))
		}
	}
}

func TestQuestionPhrasesOfEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, question string
		want               kind
	}{
		{"en", "How many are there?", number},
		{"en", "In what year?", date},
		{"en", "Whose idea was it?", name},
		{"en", "What caused the fire?", cause},
		{"en", "What is it?", anything},
		{"en", "Somewhere", anything},
		{"de", "Wie viele Leute?", number},
		{"de", "Wie groß ist er?", number},
		{"de", "Seit wann?", date},
		{"de", "Weshalb?", cause},
		{"de", "Wer war es?", anything}, // nouns are capitalized: no names
		{"fr", "Combien coûte-t-il ?", number},
		{"fr", "Quel âge a-t-il ?", number},
		{"fr", "En quelle année ?", date},
		{"fr", "Qui est-ce ?", name},
		{"fr", "Où est la gare ?", place},
		{"fr", "Pourquoi ?", cause},
		{"fr", "rouge ou bleu", anything},
		{"es", "¿Cuántos años?", number},
		{"es", "¿En qué año?", date},
		{"es", "¿Quiénes son?", name},
		{"es", "¿Por qué?", cause},
		{"es", "¿Dónde está?", place},
		{"it", "Quante persone?", number},
		{"it", "In che anno?", date},
		{"it", "Dov'è?", place},
		{"it", "Perché?", cause},
		{"nl", "Hoeveel mensen?", number},
		{"nl", "Wanneer?", date},
		{"nl", "Waarom?", cause},
		{"nl", "Waar is het?", place},
		{"pt", "Quantos são?", number},
		{"pt", "Em que século?", date},
		{"pt", "Quem foi?", name},
		{"pt", "Por quê?", cause},
		{"ru", "Сколько людей?", number},
		{"ru", "Какой процент?", number},
		{"ru", "В каком году?", date},
		{"ru", "Кто это?", name},
		{"ru", "Почему?", cause},
		{"en", "长城是什么时候建成的？", date},
		{"en", "何人いますか", number},
		{"en", "왜 그래요?", cause},
		{"en", "谁写了它", name},
	} {
		if got := New(c.language).Ask(c.question, Talk{}, nil).kind; got != c.want {
			t.Errorf("%s: %q has the kind %d, want %d", c.language, c.question, got, c.want)
		}
	}
}

func TestFollowUpsNeedASecondDocument(t *testing.T) {
	t.Parallel()
	lonely := documents("The lamp was built by Ada Lovelace in London.", "Bread is baked.")
	if _, got := first("en", "Who built the lamp?", lonely...); len(got.FollowUps) != 0 {
		t.Errorf("a name of one document is suggested: %q", got.FollowUps)
	}
	shared := documents("The lamp was built by Ada Lovelace for NASA.", "Ada Lovelace wrote notes.", "NASA flies.")
	_, got := first("en", "Who built the lamp?", shared...)
	if len(got.FollowUps) != 2 || !strings.Contains(strings.Join(got.FollowUps, " "), "Ada Lovelace") {
		t.Errorf("suggested %q", got.FollowUps)
	}
	_, got = first("en", "What did Ada Lovelace build?", shared...)
	if strings.Contains(strings.Join(got.FollowUps, " "), "Lovelace") {
		t.Errorf("the subject of the question is suggested: %q", got.FollowUps)
	}
}

func TestNamesInATextAreFound(t *testing.T) {
	t.Parallel()
	e := New("en")
	for text, want := range map[string]string{
		"The work of Ada Lovelace and Alan Turing.": "Ada Lovelace|Alan Turing",
		"The NASA program, the EU and IBM.":         "IBM|NASA",
		"One Two Three Four Five Six":               "", // a title, not a name
		"London is large.":                          "",
		"Ada Lovelace. Alan Turing":                 "Ada Lovelace|Alan Turing",
		"Ada Lovelace met Ada Lovelace":             "Ada Lovelace",
		"":                                          "",
		"we met Jean-Luc  Picard":                   "",
	} {
		if got := strings.Join(e.namesIn(text), "|"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSimilarityOfSentences(t *testing.T) {
	t.Parallel()
	set := func(words string) map[string]bool { return wordSet(words) }
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"a b", "a b", 1}, {"a b", "c d", 0}, {"", "a", 0}, {"", "", 0}, {"a", "a b c d", 0.5}, {"a b c d", "a", 0.5},
	} {
		if got := similarity(set(c.a), set(c.b)); got != c.want {
			t.Errorf("%q and %q: %.2f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

func TestPartsOfATextAreCutByCodePoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to int
		want     string
	}{
		{0, 0, ""}, {0, 2, "aä"}, {1, 3, "ä😀"}, {2, 4, "😀z"}, {3, 9, "z"}, {4, 9, ""}, {9, 12, ""},
	} {
		if got := slice("aä😀z", c.from, c.to); got != c.want {
			t.Errorf("%d–%d: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// Every language with its own abbreviations: the mark | is where a sentence ends.
func TestSentenceEndsOfEveryLanguage(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"en": {`Dr. Adams (cf. Fig. 2) left at 5 p.m. |The door was open.`, `Sen. Smith spoke on Jan. 3.| It rained.`},
		"de": {`Am 1. Mai, ca. 1900, kam Prof. Dr. Meier.| Vgl. S. 5 ff. bei Frl. Berg.| Das war im 20. Jh. so.`},
		"fr": {`Voir p. 5, fig. 2.| Mme Curie et M. Dupont.| Ils vivent.`},
		"es": {`La Sra. Gómez y el Dr. Ruiz vinieron.| Ver fig. 3 y vol. 2.| Fin.`},
		"it": {`Il prof. Bianchi, ad es. Mario, arriva.| Vedi fig. 3.| Fine.`},
		"nl": {`Prof. Jansen kwam o.a. Dinsdag.| Zie fig. 3.| Einde.`},
		"pt": {`O Dr. Costa e a Sra. Lima.| Ver fig. 3.| Fim.`},
		"da": {`Hr. Hansen kom den 3. Juni.| Se fig. 3 hos prof. Berg.| Slut.`},
		"sv": {`Prof. Berg kom bl.a. Hit.| Se fig. 3.| Slut.`},
		"ru": {`Он жил на ул. Мира.| См. рис. 5.| Конец.`},
	} {
		for _, text := range texts {
			checkSplit(t, text, language)
		}
	}
}
