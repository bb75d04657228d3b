package quote_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/research/quote"
)

func TestMessagesAreClassified(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]quote.Intent{
		"Hi": quote.Greeting, "hello there!": quote.Greeting, "Good evening": quote.Greeting, "Guten Tag": quote.Greeting,
		"hey, how are you?":                  quote.Greeting,
		"Thanks a lot!":                      quote.Thanks,
		"ok, thank you":                      quote.Thanks,
		"Great, thanks for the help":         quote.Thanks,
		"Vielen Dank":                        quote.Thanks,
		"What can you do?":                   quote.AskAbilities,
		"hello, what can you do?":            quote.AskAbilities,
		"help":                               quote.AskAbilities,
		"Wer bist du?":                       quote.AskAbilities,
		"What do you know about me, please?": quote.AskAboutUser,
		"What's my name?":                    quote.AskAboutUser,
		"So what do you know about me?":      quote.AskAboutUser,
		"Wie heiße ich?":                     quote.AskAboutUser,
		"What did I ask first?":              quote.AskHistory,
		"what was my last question":          quote.AskHistory,
		"Was habe ich gefragt?":              quote.AskHistory,
		"Rewrite that":                       quote.Rewrite,
		"Please translate it into German":    quote.Rewrite,
		"Can you make it shorter?":           quote.Rewrite,
		"In one sentence, please":            quote.Rewrite,
		"Make a table of the two":            quote.Rewrite,
		"Summarize your last answer":         quote.Rewrite,
		"Übersetze das ins Englische":        quote.Rewrite,
		"Fasse die Antwort zusammen":         quote.Rewrite,

		// Questions to the sources that begin or sound alike.
		"Hello, who invented the memex?":                    quote.AskSources,
		"Thanks, and who wrote it?":                         quote.AskSources,
		"Thanks to whom was the memex built?":               quote.AskSources,
		"Thank you letters of the 19th century":             quote.AskSources,
		"Summarize the Dynamo paper":                        quote.AskSources,
		"Translate Entscheidungsproblem":                    quote.AskSources,
		"Explain it":                                        quote.AskSources,
		"Explain the difference between precision and fall": quote.AskSources,
		"What do you know about Turing?":                    quote.AskSources,
		"What is my name server?":                           quote.AskSources,
		"Who am I quoting when I say less is more?":         quote.AskSources,
		"How does this work on a cluster?":                  quote.AskSources,
		"Make tables in SQL":                                quote.AskSources,
		"":                                                  quote.AskSources,
		"???":                                               quote.AskSources,
		"Was kostet ein Brot?":                              quote.AskSources,
		strings.Repeat("hello ", 50):                        quote.AskSources,
	} {
		if got := quote.IntentOf(message); got != want {
			t.Errorf("%q has the intent %d, want %d", message, got, want)
		}
	}
}

func TestAReplyWithoutAModelIsInTheLanguageOfTheMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		intent quote.Intent
		o      quote.Occasion
		want   string
	}{
		{
			quote.Greeting,
			quote.Occasion{Message: "hi", Examples: []string{"What is UNIX?", "What is RSA?"}},
			"Hello. I answer questions with quotes from your sources.\n\nYou could ask:\n\n- What is UNIX?\n- What is RSA?",
		},
		{
			quote.Greeting,
			quote.Occasion{Message: "Hallo"},
			"Hallo. Ich beantworte Fragen mit Zitaten aus deinen Quellen.",
		},
		{quote.Thanks, quote.Occasion{Message: "Danke!"}, "Gern geschehen."},
		{quote.Thanks, quote.Occasion{Message: "Merci beaucoup"}, "You're welcome."},
		{
			quote.AskAboutUser,
			quote.Occasion{Message: "who am I?", Memories: []string{"Is called  Ada.\nLikes cats."}},
			"I remember this about you:\n\n- Is called Ada. Likes cats.",
		},
		{quote.AskAboutUser, quote.Occasion{Message: "who am I?"}, "I remember nothing about you."},
		{
			quote.AskHistory,
			quote.Occasion{Message: "Was habe ich gefragt?", Questions: []string{"Wer?", "Wann?"}},
			"Du hast gefragt:\n\n- Wer?\n- Wann?",
		},
		{quote.AskHistory, quote.Occasion{Message: "What did I ask?"}, "You have not asked anything else in this chat."},
		{quote.AskSources, quote.Occasion{Message: "What is UNIX?"}, ""},
	} {
		if got := quote.Reply(c.intent, c.o); got != c.want {
			t.Errorf("%+v is answered with %q, want %q", c.o, got, c.want)
		}
	}
	for message, want := range map[string]string{
		"What can you do?": "No language model", "Was kannst du?": "kein Sprachmodell",
	} {
		if got := quote.Reply(quote.AskAbilities, quote.Occasion{Message: message}); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %q", message, got)
		}
		if got := quote.Reply(quote.Rewrite, quote.Occasion{Message: message}); got == "" {
			t.Errorf("a request to rewrite is not answered")
		}
	}
}

// Every example must be a question that the library answers.
func TestExampleQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	const n = 3
	examples := r.extractor.Examples(r.library, n)
	t.Logf("%q", examples)
	if len(examples) != n {
		t.Errorf("%d examples", len(examples))
	}
	for _, question := range examples {
		if got := newReader(t).ask(t, question); got.answer.Outcome != quote.Answered {
			t.Errorf("%q has the outcome %d", question, got.answer.Outcome)
		}
	}
	german := quote.New("de").Examples([]quote.Passage{
		{DocumentID: "a", Title: "Quicksort: ein Verfahren", Text: "Quicksort ist ein Verfahren zum Sortieren."},
		{DocumentID: "b", Title: "Über das Backen von Brot am Morgen", Text: "Man knetet den Teig."},
	}, n)
	if !slices.Equal(german, []string{"Was ist Quicksort?"}) {
		t.Errorf("German examples are %q", german)
	}
	if got := r.extractor.Examples(nil, n); len(got) != 0 {
		t.Errorf("without passages the examples are %q", got)
	}
}
