package research_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/memory"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// TestConversationWithoutAModel sends the messages that are no questions to an agent without a model.
func TestConversationWithoutAModel(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	w.memories = []memory.Memory{{ID: "mem_1", Text: "My name is Ada."}, {ID: "mem_2", Text: "I like primary sources."}}
	w.said("What is the memex?", "Quotes from your sources: …", "As We May Think")
	w.said("Who proposed the relational model?", "Quotes from your sources: …")
	for _, c := range []struct {
		text string
		want []string
	}{
		{"hello", []string{"Hello.", "You could ask:", "?"}},
		{"thanks!", []string{"You're welcome."}},
		{"ok", []string{"All right."}},
		{"What can you do?", []string{"quote the sentences that answer your question", "No language model", "?"}},
		{"What is my name?", []string{"- My name is Ada."}},
		{"What do you know about me?", []string{"- My name is Ada.", "- I like primary sources."}},
		{"What did I ask first?", []string{"- What is the memex?\n- Who proposed the relational model?"}},
		{"Rewrite your last answer in one sentence", []string{"Rewriting needs a language model"}},
		{"Übersetze das ins Englische", []string{"nur mit einem Sprachmodell"}},
		{"Bonjour !", []string{"Bonjour.", "Vous pourriez demander :", "?"}},
		{"Que savez-vous de moi ?", []string{"Voici ce que j’ai retenu", "- My name is Ada."}},
		{"Traduisez votre réponse en anglais", []string{"demande un modèle de langage"}},
		{"¡Hola!", []string{"Hola.", "Podría preguntar:", "?"}},
		{"¿Qué he preguntado?", []string{"Ha preguntado:", "- What is the memex?"}},
		{"Resume tu última respuesta", []string{"hace falta un modelo de lenguaje"}},
	} {
		got := w.ask(c.text)
		w.holds(got)
		for _, part := range c.want {
			if !strings.Contains(got.Text, part) {
				t.Errorf("%q is answered %q", c.text, got.Text)
			}
		}
		if got.task.State != task.StateComplete || got.shown != got.Text || strings.Contains(got.Text, "matched") ||
			len(got.Citations) > 0 || len(got.Checks) != 1 || slices.Contains(got.steps, "Searching 2 sources") {
			t.Errorf("%q: %+v %q", c.text, got.Answer, got.steps)
		}
		state, memories := thread.Talk, 0
		if strings.Contains(got.Text, "Ada") {
			state, memories = thread.FromMemory, 2
		}
		if len(got.MemoriesUsed) != memories || got.Checks[0].State != state {
			t.Errorf("%q: used %v, checked %v", c.text, got.MemoriesUsed, got.Checks)
		}
	}
}

// TestExampleQuestionsOfTheLibraryAreAnswered sends the suggested questions back to the agent.
func TestExampleQuestionsOfTheLibraryAreAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	a := w.answerer()
	suggested, err := a.Examples(t.Context(), userID, w.agent.ID, 3)
	if err != nil || len(suggested) != 3 {
		t.Fatalf("suggested %q, %v", suggested, err)
	}
	for _, question := range suggested {
		if got := w.ask(question); !strings.HasPrefix(got.Text, "Quotes from your sources:") {
			t.Errorf("%q is answered %q", question, got.Text)
		}
	}
	w.agent.Examples = []string{"Own question?"}
	if own, err := a.Examples(t.Context(), userID, w.agent.ID, 3); err != nil || !slices.Equal(own, w.agent.Examples) {
		t.Errorf("the agent's own examples became %q, %v", own, err)
	}
	w.agent.Examples, w.docs = nil, nil
	for i := range w.agent.Sources {
		w.agent.Sources[i].Documents = 0
	}
	if none, err := a.Examples(t.Context(), userID, w.agent.ID, 3); err != nil || len(none) > 0 {
		t.Errorf("an empty library suggests %q, %v", none, err)
	}
}

// TestExampleQuestionsOfOwnDocumentsAreAnswered sends the questions suggested for notes back to the agent.
func TestExampleQuestionsOfOwnDocumentsAreAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for title, text := range map[string]string{
		"travel-policy": "Travel policy\n\nEmployees book trains for journeys under six hours. " +
			"Hotel costs are refunded.",
		"How we bake sourdough bread at home": "Mix flour and water and wait for a day. Bake the bread for forty minutes.",
		"Meeting notes 2024-03-02":            "The team agreed to move the release to May. Anna will write the report.",
	} {
		w.put(source.Document{Title: title, Text: text})
	}
	suggested, err := w.answerer().Examples(t.Context(), userID, w.agent.ID, 3)
	if err != nil || len(suggested) != 3 {
		t.Fatalf("suggested %q, %v", suggested, err)
	}
	for _, question := range suggested {
		if got := w.ask(question); len(got.Citations) == 0 {
			t.Errorf("%q is answered %q", question, got.Text)
		}
	}
}

func TestDocumentsAreListedAndCompared(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	for _, c := range []struct {
		text, begin string
		titles      []string
	}{
		{"Which papers were published before 1946?", "Documents that match:", []string{
			"On Computable Numbers, with an Application to the Entscheidungsproblem", "As We May Think",
			"First Draft of a Report on the EDVAC",
		}},
		{"List the papers about the memex", "Documents that match:", []string{"As We May Think"}},
		{"Compare the memex and the EDVAC", "Quotes from your sources:", []string{
			"As We May Think", "First Draft of a Report on the EDVAC",
		}},
	} {
		got := w.ask(c.text)
		w.holds(got)
		var titles []string
		for _, cited := range got.Citations {
			if !slices.Contains(titles, cited.Title) {
				titles = append(titles, cited.Title)
			}
		}
		for _, title := range c.titles {
			if !slices.Contains(titles, title) {
				t.Errorf("%q does not list %q: %s", c.text, title, got.Text)
			}
		}
		if !strings.HasPrefix(got.Text, c.begin) || got.shown != got.Text {
			t.Errorf("%q is answered %s", c.text, got.Text)
		}
		for _, cited := range got.Citations {
			if strings.Contains(c.text, "before 1946") && cited.Year >= 1946 {
				t.Errorf("%q lists %q of %d", c.text, cited.Title, cited.Year)
			}
		}
	}
	if got := w.ask("Compare the memex and the EDVAC").Text; !strings.Contains(got, "**memex**") ||
		!strings.Contains(got, "**EDVAC**") {
		t.Errorf("the sides of the comparison are not named: %s", got)
	}
}

// TestElseDoesNotRepeatAQuote asks for something else after an answer.
func TestElseDoesNotRepeatAQuote(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	first := w.ask("What does Vannevar Bush say about the memex?")
	if len(first.Citations) == 0 {
		t.Fatal(first.Text)
	}
	for i, c := range first.Citations {
		at := slices.IndexFunc(w.docs, func(d source.Document) bool { return d.ID == c.DocumentID })
		w.cited("What does Vannevar Bush say about the memex?", fmt.Sprintf("%s [%d]", c.Quote, i+1), w.docs[at], c.Quote)
	}
	for _, c := range w.ask("What else does he say?").Citations {
		for _, before := range first.Citations {
			if c.DocumentID == before.DocumentID && c.Start == before.Start {
				t.Errorf("%q is repeated", c.Quote)
			}
		}
	}
}

// TestTalkInBetweenDoesNotChangeTheSubject asks a question that refers back after an action and thanks, and one that
// needs no subject.
func TestTalkInBetweenDoesNotChangeTheSubject(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	w.said("What is the memex of Vannevar Bush?", "Quotes from your sources: …", "As We May Think")
	w.said("Forget that I like primary sources", "Forgotten: “I like primary sources.”")
	w.said("thanks!", "You're welcome.")
	got := w.ask("When did it appear?")
	w.holds(got)
	if !strings.Contains(got.Query, "memex") || strings.Contains(got.Query, "primary") ||
		len(got.Citations) == 0 || got.Citations[0].Title != "As We May Think" {
		t.Errorf("searched for %q and found %s", got.Query, got.Text)
	}
	list := w.ask("Which papers were published before 1946?")
	w.holds(list)
	if list.Query != "" || !strings.HasPrefix(list.Text, "Documents that match:") || len(list.Citations) < 3 {
		t.Errorf("searched for %q and found %s", list.Query, list.Text)
	}
	nothing := w.ask("What is the capital of Australia?")
	if len(nothing.Checks) != 1 || nothing.Checks[0].State != thread.Talk {
		t.Errorf("%q has the checks %v", nothing.Text, nothing.Checks)
	}
}
