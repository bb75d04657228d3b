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
		"Bonjour":                            quote.Greeting,
		"Salut, ça va ?":                     quote.Greeting,
		"Merci beaucoup pour votre aide":     quote.Thanks,
		"D'accord":                           quote.Remark,
		"Qu'est-ce que tu peux faire ?":      quote.AskAbilities,
		"Que savez-vous de moi ?":            quote.AskAboutUser,
		"Comment je m'appelle ?":             quote.AskAboutUser,
		"Qu'ai-je demandé ?":                 quote.AskHistory,
		"Résume ta dernière réponse":         quote.Rewrite,
		"Traduisez ça en anglais, svp":       quote.Rewrite,
		"Plus court, s'il vous plaît":        quote.Rewrite,
		"¡Hola! ¿Qué tal?":                   quote.Greeting,
		"Muchas gracias por la ayuda":        quote.Thanks,
		"De acuerdo":                         quote.Remark,
		"¿Qué puedes hacer?":                 quote.AskAbilities,
		"¿Cómo me llamo?":                    quote.AskAboutUser,
		"¿Qué he preguntado?":                quote.AskHistory,
		"Resume tu última respuesta":         quote.Rewrite,
		"Tradúcelo al inglés":                quote.Rewrite,
		"Acórtalo":                           quote.Rewrite,
		"En una frase, por favor":            quote.Rewrite,

		// Questions to the sources that begin or sound alike.
		"Bonjour, qui a inventé le memex ?":                 quote.AskSources,
		"Que savez-vous de Turing ?":                        quote.AskSources,
		"Résume le livre de Codd":                           quote.AskSources,
		"Explique le modèle relationnel":                    quote.AskSources,
		"Mets en œuvre":                                     quote.AskSources,
		"Gracias a quién se construyó el puente":            quote.AskSources,
		"¿Qué sabe de Turing?":                              quote.AskSources,
		"Resume el artículo de Codd":                        quote.AskSources,
		"Explica el modelo relacional":                      quote.AskSources,
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
		{quote.Thanks, quote.Occasion{Message: "Merci vielmals"}, "Gern geschehen."},
		{quote.Thanks, quote.Occasion{Message: "Merci beaucoup"}, "Je vous en prie."},
		{quote.Thanks, quote.Occasion{Message: "Muchas gracias"}, "De nada."},
		{quote.Thanks, quote.Occasion{Message: "Grazie"}, "You're welcome."}, // there are no Italian replies
		{
			quote.Greeting,
			quote.Occasion{Message: "Bonjour !", Examples: []string{"Que signifie « pain » ?"}},
			"Bonjour. Je réponds aux questions par des citations de vos sources.\n\nVous pourriez demander :\n\n" +
				"- Que signifie « pain » ?",
		},
		{
			quote.Greeting,
			quote.Occasion{Message: "¡Hola!"},
			"Hola. Respondo a las preguntas con citas de sus fuentes.",
		},
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
		{
			quote.AskHistory,
			quote.Occasion{Message: "Quelle était ma première question ?", Questions: []string{"Qui ?"}},
			"Vous avez demandé :\n\n- Qui ?",
		},
		{quote.AskAboutUser, quote.Occasion{Message: "¿Qué sabe de mí?"}, "No recuerdo nada sobre usted."},
		{quote.AskHistory, quote.Occasion{Message: "What did I ask?"}, "You have not asked anything else in this chat."},
		{quote.AskSources, quote.Occasion{Message: "What is UNIX?"}, ""},
	} {
		if got := quote.Reply(c.intent, c.o); got != c.want {
			t.Errorf("%+v is answered with %q, want %q", c.o, got, c.want)
		}
	}
	for message, want := range map[string]string{
		"What can you do?": "No language model", "Was kannst du?": "kein Sprachmodell",
		"Que pouvez-vous faire ?": "Aucun modèle de langage", "¿Qué puede hacer?": "ningún modelo de lenguaje",
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
		{DocumentID: "b", Title: "Über das Backen von Brot am Morgen", Text: "Man knetet den Teig, bevor das Brot in den Ofen kommt."},
	}, n)
	if !slices.Equal(german, []string{"Was ist Quicksort?", "Was kannst du mir über Brot sagen?"}) {
		t.Errorf("German examples are %q", german)
	}
	if got := r.extractor.Examples(nil, n); len(got) != 0 {
		t.Errorf("without passages the examples are %q", got)
	}
}

// Notes rarely define a term or contain a name. Their questions come from titles and key terms, in their language.
func TestExampleQuestionsOfNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, title, text, want string
	}{
		{"en", "travel-policy", "Travel policy\n\nFlights need the approval of a manager.", "What is travel policy?"},
		{"en", "Data independence", "Programs gain data independence.", "What is data independence?"},
		{
			"en", "How we bake sourdough bread at home", "Mix flour and water. Bake the bread for forty minutes.",
			"Tell me about bread.",
		},
		{
			"en", "Meeting notes 2024-03-02", "The team agreed to move the release to May.",
			"Tell me about the release.",
		},
		{
			"en", "Attention and working memory in older adults: a longitudinal study",
			"We measured attention and working memory for a year.", "Tell me about working memory.",
		},
		{"de", "Protokoll vom 2. März", "Das Budget für das Büro wurde gekürzt.", "Was kannst du mir über das Budget sagen?"},
		{
			"fr", "Comment faire le pain", "Le pain se prépare en deux jours.",
			"Que disent vos sources sur « pain » ?",
		},
		{"fr", "Algorithme", "Un algorithme est une suite finie d’opérations.", "Que signifie « algorithme » ?"},
		{"es", "Cómo hacer pan en casa", "El pan se prepara en dos días.", "¿Qué dicen sus fuentes sobre «pan»?"},
		{"it", "Come fare il pane", "Il pane si prepara in due giorni.", "pane"},
	} {
		got := quote.New(c.language).Examples([]quote.Passage{{DocumentID: "a", Title: c.title, Text: c.text}}, 1)
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%q suggests %q, want %q", c.title, got, c.want)
		}
	}
}
