package quote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

func TestSentencesEndWhereAReaderSeesThemEnd(t *testing.T) {
	t.Parallel()
	// A bar marks the end of a sentence.
	for _, text := range []string{
		`One sentence.| Another one!| A third?| Yes.`,
		`No stop at the end`,
		`Mr. Smith met Dr. J. R. Jones at St. Mary's.| They spoke.`,
		`In 1991 Mrs. Thatcher left.| Gen. Colin Powell stayed.`,
		`The gain was 3.14 percent.| It fell to .5 later.`,
		`Smith et al. (2010) found it.| Jones et al. [4] did not.| See Brown et al. |The rest is known.`,
		`Lee et al. Nature 5 (2001) is cited.| So is this.`,
		`See Fig. 3 and Eq. (4) in Sec. II of vol. 2, pp. 3–5.| The end.`,
		`The answer is no. |He left.`,
		`It is room no. 5.| It is large.`,
		`It happened on Jan. 5, 2001.| Nobody knew.`,
		`It works, e.g. With capitals, i.e. Like this.| Cf. Smith for more.`,
		`He lives in the U.S. now.| He left the U.S. |The country is large.| The U.S. Army came.`,
		`Roe v. Wade was decided.| It was overturned.`,
		`She takes vitamin C. |The dose is small.`,
		`J. K. Rowling wrote it.| A. A. Milne did not.`,
		`Apples, pears, etc. were sold.| Apples, pears, etc. |They were sold.`,
		`Apple Inc. Chairman Levinson spoke.| He works for Apple Inc. |The firm is large.`,
		`He came at 5 p.m. on Monday.| He came at 5 p.m. |The door was shut.`,
		`He said, "I came. |I saw." |Then he left.`,
		`"Really?" he asked.| "Yes!" she said.`,
		`She said “it ended.” |The rest is silence.`,
		`He left (see p. 4. Also Smith 1999. It was late) and came back.| Then slept.`,
		`(This is a whole sentence.)| This is another.`,
		`I am here to . . . . |Then he left.| It goes . . . on.| The value is .5 there.`,
		`It goes on … and on.| It stops… |Then it starts.`,
		`The text [...] Goes on here.| And (…) There.`,
		`Wait... |What?| Wait... what?!| No!!!| Yes.`,
		`It is known.[12] |It is proven.[3][4]| It is clear.¹² |It is so. [5] |And so on.[1, 2–4]`,
		`The effect was large.12 |The rest was small.`,
		`Version 2.0 is out.| Visit example.com/a.html?x=1.2 for Node.js.| Done.`,
		`The iPhone came. |iPhone sales rose.`,
		`Yahoo! is a firm.| So is Jeopardy! they said.`,
		`¿Qué es esto?| ¡Nada!| Es el Sr. Gómez.`,
		`World War I. |It began in 1914.`,
		`We count 1990. |2000 is next.`,
		`Emphasis *ends here.* |Then **more follows.** |Plain.`,
		`日本語です。|二つ目の文！|三つ目？|終わり`,
		`彼は「はい。そうです。」と言った。|そして帰った。`,
		`「終わりだ。」|彼は帰った。`,
		`他说：“你好。”|然后走了。|圆周率是3．14。|对`,
		`Hello!|你好。|World`,
		`यह एक वाक्य है। |यह दूसरा है।|तीसरा`,
		`هل هذا سؤال؟ |نعم. |هذا جواب۔`,
		`ይህ ነው። |ሌላ።`,
		`Это проверка. |Он живёт на ул. Ленина.| И т. д. и т. п.`,
		"A line\nthat is wrapped in Jan.\n5 goes on. |Then\nends.",
	} {
		checkSplit(t, text, "en")
	}
}

func TestSentencesKnowTheAbbreviationsOfTheirLanguage(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"de": {
			`Das war im 19. Jahrhundert so.| Am 3. Oktober kam er.| Es war 1990. |Die Mauer fiel.`,
			`Das gilt z. B. Für alle, d.h. Für jeden, vgl. Abb. 3 bei Dr. Müller.| Ende usw. |Das war es.`,
			`Er war der 3. |Das genügt.`,
		},
		"fr": {`M. Dupont est venu.| Il vit av. J.-C. avec Mme. Curie.| Fin.`, `« C’est fini. » |Il part.`},
		"es": {`El Sr. Gómez vive en EE. UU. desde 1999.| Ver pág. 3.| La casa.`},
		"it": {`Il sig. Rossi, il dott. Bianchi ecc. |Il resto.`},
		"nl": {`Het is bijv. Anders voor dhr. Jansen.| De rest.`},
		"pt": {`O Sr. Silva chegou.| A casa.`},
		"sv": {`Det är t.ex. Så.| Den andra.`},
		"da": {`Den 5. Maj kom han.| Det var f.eks. Godt.`},
		"ru": {`Он жил в XIX в. |Это было давно.| См. рис. 3.| Он ушёл.`},
		"xx": {`Mr. Smith left.| Then he came.`},
	} {
		for _, text := range texts {
			checkSplit(t, text, language)
		}
	}
}

func TestLinesThatAreBlocksAreNotJoined(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"# A Heading\n|Text after it. |More.",
		"A paragraph without stop\n\n|Another one",
		"Page one ends here\f|Page two",
		"Shopping:\n|- eggs and milk\n|- bread. |Or cake\n|* tea",
		"We did:\n|1. this\n|2) that\n  that goes on\n|(a) more\n|[12] A reference",
		"It is in chapter\n5. |In which case it is so",
		"Under\n|=====\n\n|Text",
		"| a | b |\n||---|---|\n|| 1 | 2 |\n|After",
		"Before\n|```\n|x = 1. Y = 2\n|```\n|After. |Yes",
		"1 Introduction\n|Networks are many.\n|ABSTRACT\n|We show it.\n|Related Work and Outlook\n" +
			"|We cite what others did long before us, and say so in many words.",
		"We met Barack\nObama there",
		"No Stop Here\nbut it goes on",
	} {
		// Tables contain bars, so here ends are marked by a bar after a line break.
		plain := strings.ReplaceAll(strings.ReplaceAll(text, "\n|", "\n\x00"), ". |", ". \x00")
		plain = strings.ReplaceAll(plain, "\f|", "\f\x00")
		checkSplitAt(t, plain, "\x00", "en")
	}
	long := strings.Repeat("word ", 50)
	checkSplitAt(t, long+"\n\x00The next line is a paragraph", "\x00", "en")
}

func TestBodiesLeaveTheMarksOfItemsAndHeadingsOut(t *testing.T) {
	t.Parallel()
	text := "## Results\n\n- first item. Second\n12) third\n\n[4] Smith, J. Work.\n\n---\n\nProse."
	type part struct {
		body string
		kind Kind
	}
	var got []part
	runes := []rune(text)
	for _, s := range Sentences(text, "en") {
		got = append(got, part{string(runes[s.Body:s.End]), s.Kind})
	}
	want := []part{
		{"Results", Heading},
		{"first item.", Item},
		{"Second", Item},
		{"third", Item},
		{"Smith, J. Work.", Item},
		{"", Matter},
		{"Prose.", Prose},
	}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("part %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestParagraphsAreCounted(t *testing.T) {
	t.Parallel()
	got := Sentences("One. Two.\n\nThree.", "en")
	if len(got) != 3 || got[0].Paragraph != got[1].Paragraph || got[1].Paragraph == got[2].Paragraph {
		t.Errorf("the paragraphs are %+v", got)
	}
}

func TestEndlessSentencesAreCut(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"words":  strings.Repeat("word ", 1000),
		"commas": strings.Repeat("some words, ", 500),
		"thai":   strings.Repeat("ภาษาไทย", 500),
		"marks":  "a" + strings.Repeat("\u0301", 3000) + "b",
	} {
		sentences := Sentences(text, "en")
		checkCover(t, text, sentences)
		for _, s := range sentences {
			if s.End-s.Start > longestSentence && name != "marks" {
				t.Errorf("%s: a sentence is %d long", name, s.End-s.Start)
			}
		}
	}
	first := Sentences(strings.Repeat("some words, ", 500), "en")[0]
	if last := strings.Repeat("some words, ", 500)[first.End-1]; last != ',' {
		t.Errorf("the cut is after %q, not a comma", last)
	}
}

func FuzzSentencesCoverTheTextAndCutNoCharacter(f *testing.F) {
	f.Add("One. Two! (Three. Four.) Five et al. 6", "en")
	f.Add("日本語。「はい。」と。\u0301 x", "de")
	f.Add("- a\n1. b\n# c\n```\nd\n```\n| e |\n===\n[1] f. [2] g", "fr")
	f.Add("\n\u0301.", "en")
	f.Add(" \u0301.\u0301 A\r\n\r\nB\xff.\xfe C", "")
	f.Add(strings.Repeat("a\u094dक", 900)+". "+strings.Repeat("🇩🇪", 900), "ru")
	f.Fuzz(func(t *testing.T, text, language string) { checkCover(t, text, Sentences(text, language)) })
}

// checkCover checks that sentences are in order, cover all visible text and split no character.
func checkCover(t *testing.T, text string, sentences []Sentence) {
	t.Helper()
	runes := []rune(text)
	at := 0
	gap := func(to int) {
		for ; at < to; at++ {
			if !unicode.IsSpace(runes[at]) {
				t.Fatalf("%q: %q at %d is in no sentence", text, runes[at], at)
			}
		}
	}
	for _, s := range sentences {
		if s.Start < at || s.End <= s.Start || s.End > len(runes) || s.Body < s.Start || s.Body > s.End {
			t.Fatalf("%q: %+v after %d of %d", text, s, at, len(runes))
		}
		gap(s.Start)
		for _, i := range []int{s.Start, s.End} {
			// A combining mark at the start of a line has no base character.
			if i > 0 && i < len(runes) && !isLineEnd(runes[i-1]) && !isLineEnd(runes[i]) &&
				!analysis.BetweenCharacters(runes[i-1], runes[i]) {
				t.Fatalf("%q: %+v cuts %q from %q", text, s, runes[i-1], runes[i])
			}
		}
		at = s.End
	}
	gap(len(runes))
}

func checkSplit(t *testing.T, marked, language string) {
	t.Helper()
	checkSplitAt(t, marked, "|", language)
}

// checkSplitAt checks that the sentences of a text are the parts between the marks.
func checkSplitAt(t *testing.T, marked, mark, language string) {
	t.Helper()
	text := strings.ReplaceAll(marked, mark, "")
	var want []string
	for part := range strings.SplitSeq(marked, mark) {
		if part = strings.TrimSpace(part); part != "" {
			want = append(want, part)
		}
	}
	var got []string
	runes := []rune(text)
	sentences := Sentences(text, language)
	for _, s := range sentences {
		got = append(got, string(runes[s.Start:s.End]))
	}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("%s:\n got %q\nwant %q", language, got, want)
	}
	if utf8.ValidString(text) {
		checkCover(t, text, sentences)
	}
}
