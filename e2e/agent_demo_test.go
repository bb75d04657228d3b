package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	contractdoc "carrel/api"
	"carrel/internal/testkit"
	"carrel/internal/testkit/contract"
)

// newDemo starts the server of `make run`: the demo library, its agent and its key.
func newDemo(t *testing.T) *installation {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	checker := contract.New(t, contractdoc.Document)
	w := &installation{
		server: testkit.StartServer(t,
			testkit.ServerOptions{Args: []string{"--demo"}, Env: []string{"CARREL_RATE_LIMITS=off"}}),
		checker: checker, client: &http.Client{Transport: checker.Transport(base), Timeout: testkit.Patience},
	}
	key, err := os.ReadFile(filepath.Join(w.server.Data, "demo.key"))
	if err != nil {
		t.Fatal(err)
	}
	w.key = strings.TrimSpace(string(key))
	w.agent = w.do(t, "GET", "/api/agents", "").text("agents", 0, "id")
	return w
}

// ask sends a question and returns the first line of the reply and the titles of the quoted works, in order.
func (w *installation) ask(t *testing.T, question string) (label string, works []string) {
	t.Helper()
	got := w.do(t, "POST", w.inThread("/messages"), fmt.Sprintf(`{"text": %q}`, question))
	label, _, _ = strings.Cut(got.text("text"), "\n")
	list, _ := got.at("citations").([]any)
	for i := range list {
		works = append(works, got.text("citations", i, "title"))
	}
	return label, works
}

const (
	answered = "Quotes from your sources:"
	closest  = "Closest passages; they may not answer this:"
)

// judged are questions of demo visitors and the expected answers without a model: the work that is quoted first, and
// the works that may also be quoted. A name is the start of a title. A question that starts with > follows the previous
// one.
var judged = []struct{ question, first, besides string }{
	{"Why is the memex important?", "As We May", "Augmenting"},
	{"What is the memex?", "As We May", "Augmenting"},
	{"> Who described it?", "As We May", "Augmenting"},
	{"> When?", "As We May", "Augmenting"},
	{"relational model", "A Relational", ""},
	{"What is the relational model?", "A Relational", ""},
	{"Who invented the relational model?", "A Relational", ""},
	{"What is a Turing machine?", "On Computable", "Computing Machinery|An Unsolvable|The Complexity"},
	{"What is the halting problem?", "On Computable", "An Unsolvable"},
	{"What is PageRank?", "The Anatomy", "Authoritative|Citation"},
	{"> Who invented it?", "The Anatomy", "Authoritative"},
	{"> And how is it computed?", "The Anatomy", "Authoritative"},
	{"How does quicksort work?", "Quicksort", ""},
	{"Who invented quicksort?", "Quicksort", ""},
	{"What is BM25?", "Okapi", "Relevance|A Statistical"},
	{"What is inverse document frequency?", "A Statistical", "A Vector|Relevance|Okapi"},
	{"What is back-propagation?", "Learning", "The Perceptron|Long Short|Gradient"},
	{"How does Bitcoin prevent double spending?", "Bitcoin", ""},
	{"What is attention?", "Attention", "BERT"},
	{"When was Ethernet invented?", "Ethernet", ""},
	{"What is public-key cryptography?", "New Directions", "A Method"},
	{"What is Raft?", "In Search", "The Part-Time"},
	{"> How does Paxos compare?", "In Search", "The Part-Time"},
	{"Why are goto statements harmful?", "Go To", ""},
	{"Who wrote the Unix operating system?", "The UNIX", ""},
	{"What is MapReduce?", "MapReduce", "The Google"},
	{"How many parameters does GPT-3 have?", "Language Models", ""},
	{"What is a perceptron?", "The Perceptron", ""},
	{"How big is BERT?", "BERT", ""},
	{"Why does adding people to a late project make it later?", "The Mythical", ""},
	{"What is Brooks's law?", "The Mythical", ""},
	{"What did Shannon show about communication?", "A Mathematical", "A Symbolic|Error"},
	{"What is information hiding?", "On the Criteria", ""},
	{"Who invented the World Wide Web?", "The World-Wide", "The Anatomy"},
	{"When did AlphaGo beat Lee Sedol?", "Mastering", ""},
	{"What is topic modelling?", "Latent Dirichlet", "Indexing"},
	{"What is a Byzantine fault?", "The Byzantine", "In Search"},
	{"How does TCP/IP connect networks?", "A Protocol", "Ethernet"},
	{"What is RAID?", "A Case", ""},
	{"What is a logical clock?", "Time, Clocks", ""},
	{"Can machines think?", "Computing Machinery", "Man-Computer"},
	{"Why is the end-to-end argument important?", "End-to-End", ""},
	{"Who wrote Sketchpad?", "Sketchpad", ""},
	{"What was the first compiler?", "The Education", "The FORTRAN"},
	{"shortest path", "A Note", ""},
	{"fast Fourier transform", "An Algorithm", ""},
	{"write-ahead logging", "ARIES", ""},
	{"What is the difference between HITS and PageRank?", "Authoritative", "The Anatomy"},
	{"What is precision and recall?", "The Cranfield", ""},
}

func TestDemoAnswersCommonQuestions(t *testing.T) {
	t.Parallel()
	w := newDemo(t)
	for _, j := range judged {
		question, follows := strings.CutPrefix(j.question, "> ")
		if !follows {
			w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
		}
		label, works := w.ask(t, question)
		if len(works) == 0 || !strings.HasPrefix(works[0], j.first) || label != answered && label != closest {
			t.Errorf("%q: %s %q, want %s first", j.question, label, works, j.first)
		}
		may := append(strings.Split(j.besides, "|"), j.first)
		for _, work := range works {
			if !slices.ContainsFunc(may, func(name string) bool { return name != "" && strings.HasPrefix(work, name) }) {
				t.Errorf("%q is answered with %q, which is beside the point", j.question, work)
			}
		}
	}
}

func TestDemoAdmitsQuestionsOutsideItsLibrary(t *testing.T) {
	t.Parallel()
	w := newDemo(t)
	for _, question := range []string{
		"What is photosynthesis?", "What is a CRISPR gene edit?", "Who won the world cup in 1998?", "What is Moore's law?",
		"How do I bake bread?", "Who painted the Mona Lisa?", "What is the capital of Peru?",
	} {
		w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
		if label, works := w.ask(t, question); label == answered || label != closest && len(works) > 0 {
			t.Errorf("%q: %s %q", question, label, works)
		}
	}
}
