package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/testkit/modelfake"
)

// message returns the last line of a request, which is the user's message.
func message(r modelfake.Request) string {
	text := r.Last()
	for _, label := range []string{"Message: ", "Request: "} {
		if at := strings.LastIndex(text, label); at >= 0 {
			return text[at+len(label):]
		}
	}
	return ""
}

// converses makes a model reply to the messages of the test.
func converses(m *scriptedModel) {
	m.at["plan"] = func(r modelfake.Request) modelfake.Reply {
		kind, queries := "conversation", []any{}
		switch text := message(r); {
		case text == aboutLoom:
			kind = "sources"
		case strings.HasPrefix(text, "Rewrite"), strings.HasPrefix(text, "Translate"), strings.HasPrefix(text, "Make"):
			kind = "transformation"
		}
		return says(map[string]any{
			"kinds": []any{kind}, "question": "", "queries": queries, "answers": []any{}, "actions": []any{},
		})
	}
	m.at["reply"] = func(r modelfake.Request) modelfake.Reply {
		switch {
		case strings.Contains(message(r), "my name") && strings.Contains(r.Last(), "- My name is Ada."):
			return modelfake.Say("Your name is Ada.")
		case strings.Contains(message(r), "ask first") && strings.Contains(r.Last(), "Q1: "+aboutLoom):
			return modelfake.Say("Your first question was: " + aboutLoom)
		}
		return modelfake.Say("Hello! How can I help you?")
	}
	m.at["transform"] = func(r modelfake.Request) modelfake.Reply {
		if strings.HasPrefix(message(r), "Make") {
			return modelfake.Say("| Work | Says |\n|---|---|\n| First | Patterns [1] |\n| Second | Looms [2] |")
		}
		return modelfake.Say("The engine weaves patterns with looms [1][2].")
	}
}

// TestAPersonCanTalkToAnAgent holds one conversation of all kinds of messages over REST, with the real services behind
// the actions.
func TestAPersonCanTalkToAnAgent(t *testing.T) {
	t.Parallel()
	for _, format := range []modelfake.Format{modelfake.OpenAI, modelfake.Anthropic} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			m := newScriptedModel(t, format)
			converses(m)
			w := newLibraryWithModel(t, m)
			w.do(t, "POST", w.below("/memories"), `{"text": "My name is Ada."}`)
			w.do(t, "POST", w.below("/memories"), `{"text": "I like primary sources."}`)
			first := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, aboutLoom))
			if first.text("citations", 1, "cardId") == "" {
				t.Fatalf("sent %v", first.body)
			}
			w.converse(t, first)
		})
	}
}

func (w *installation) converse(t *testing.T, first reply) {
	t.Helper()
	var last reply
	for _, c := range []struct{ text, want string }{
		{"hello", "Hello! How can I help you?"},
		{"thanks!", "Hello! How can I help you?"},
		{"What can you do?", "Hello! How can I help you?"},
		{"What is my name?", "Your name is Ada."},
		{"What did I ask first?", "Your first question was: " + aboutLoom},
		{"Rewrite your last answer in one sentence", "The engine weaves patterns with looms [1][2]."},
		{"Translate it into German", "The engine weaves patterns with looms [1][2]."},
		{"Make a table of the two", "| Work | Says |\n|---|---|\n| First | Patterns [1] |\n| Second | Looms [2] |"},
		{"Save the second paper to my favourites", "Saved to your favourites: " + first.text("citations", 1, "title")},
		{"Forget that I like primary sources", "Forgotten: “I like primary sources.”"},
	} {
		last = w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, c.text))
		t.Logf("> %s\n%s\n%v", c.text, last.text("text"), last.at("sentences"))
		if got := last.text("text"); got != c.want || last.text("sentences", 0, "verdict") == "" {
			t.Errorf("%q is answered %v", c.text, last.body)
		}
		if strings.Contains(c.want, "[1]") && (last.text("citations", 0, "quote") != first.text("citations", 0, "quote") ||
			last.text("citations", 1, "documentId") != first.text("citations", 1, "documentId")) {
			t.Errorf("%q cites %v", c.text, last.at("citations"))
		}
		switch c.text {
		case "What is my name?":
			if last.text("memoriesUsed", 0, "text") == "" || last.text("sentences", 0, "verdict") != "memory" {
				t.Errorf("used %v, checked %v", last.at("memoriesUsed"), last.at("sentences"))
			}
		case "Save the second paper to my favourites":
			if last.text("actions", 0, "id") != first.text("citations", 1, "cardId") ||
				last.text("actions", 0, "undo") != "deleteFavourite" {
				t.Errorf("acted %v", last.at("actions"))
			}
		}
	}
	if last.text("actions", 0, "kind") != "forget" || last.text("actions", 0, "undo") != "addMemory" {
		t.Errorf("acted %v", last.at("actions"))
	}
	saved := w.do(t, "GET", w.below("/favourites"), "")
	if saved.text("favourites", 0, "cardId") != first.text("citations", 1, "cardId") ||
		saved.text("favourites", 0, "threadId") != w.thread ||
		saved.text("favourites", 0, "card", "title") != first.text("citations", 1, "title") {
		t.Errorf("the favourites are %v", saved.body)
	}
	kept := w.do(t, "GET", w.below("/memories"), "")
	if kept.text("memories", 0, "text") != "My name is Ada." || kept.at("memories", 1) != nil {
		t.Errorf("the memories are %v", kept.body)
	}
	// The undo of both.
	w.send(t, call{method: "DELETE", path: w.below("/favourites/" + saved.text("favourites", 0, "cardId")), key: w.key},
		http.StatusOK)
	w.do(t, "POST", w.below("/memories"), fmt.Sprintf(`{"text": %q}`, last.text("actions", 0, "text")))
}
