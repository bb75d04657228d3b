package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestConversationWithARealModel holds the conversation of TestAPersonCanTalkToAnAgent with a real model, whose
// OpenAI-compatible endpoint is in CARREL_TEST_MODEL_URL. A tiny model may write nonsense: every turn must still end
// with a reply whose sentences have verdicts, and no message that is not a question may be searched for in vain. The
// actions do not depend on the model.
func TestConversationWithARealModel(t *testing.T) {
	t.Parallel()
	url := os.Getenv("CARREL_TEST_MODEL_URL")
	if url == "" {
		t.Skip("CARREL_TEST_MODEL_URL is not set; make real-model runs this test with llama.cpp and SmolLM2")
	}
	w := newLibrary(t, testkit.ServerOptions{Env: []string{
		"CARREL_MODEL=openai", "CARREL_MODEL_BASE_URL=" + url,
		"CARREL_MODEL_NAME=" + cmp.Or(os.Getenv("CARREL_TEST_MODEL"), "smollm2"), "CARREL_TURN_WAIT=5s",
	}})
	w.add(t, "Works", englishWorks, "--default", "--language", "en")
	w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
	w.do(t, "POST", w.below("/memories"), `{"text": "My name is Ada."}`)
	w.do(t, "POST", w.below("/memories"), `{"text": "I like primary sources."}`)
	first := reply{}
	for _, text := range []string{
		aboutLoom, "hello", "thanks!", "What can you do?", "What is my name?", "What did I ask first?",
		"Rewrite your last answer in one sentence", "Translate it into German", "Make a table of the two",
		"Save the first paper to my favourites", "Forget that I like primary sources",
	} {
		began := time.Now()
		got := w.askAndWait(t, text)
		t.Logf("> %s\n%s\n%v\n(%.1f s)", text, got.text("text"), got.at("sentences"), time.Since(began).Seconds())
		if got.text("text") == "" || got.text("sentences", 0, "verdict") == "" {
			t.Errorf("%q is answered %v", text, got.body)
		}
		if text == aboutLoom {
			first = got
		} else if strings.Contains(got.text("text"), "matched") {
			t.Errorf("%q was searched for: %s", text, got.text("text"))
		}
		switch text {
		case "What is my name?":
			if got.text("memoriesUsed", 0, "text") == "" {
				t.Errorf("no memories were used: %v", got.body)
			}
		case "Save the first paper to my favourites":
			if first.text("citations", 0, "cardId") == "" || got.text("actions", 0, "state") != "done" {
				t.Errorf("acted %v after %v", got.at("actions"), first.at("citations"))
			}
		case "Forget that I like primary sources":
			if got.text("actions", 0, "undo") != "addMemory" {
				t.Errorf("acted %v", got.at("actions"))
			}
		}
	}
}

// askAndWait sends a message and returns its reply, however long it takes.
func (w *installation) askAndWait(t *testing.T, text string) reply {
	t.Helper()
	status, got := w.try(t, call{
		method: "POST", path: w.inThread("/messages"), body: fmt.Sprintf(`{"text": %q}`, text), key: w.key,
	})
	if status == http.StatusAccepted {
		messages := w.await(t).at("messages").([]any)
		got.body = messages[len(messages)-1].(map[string]any)
	}
	return got
}
