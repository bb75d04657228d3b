package research_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/agent"
	"carrel/internal/cli/demo"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/research"
	quotepkg "carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fixture holds the dependencies of an agent: a library that is searched by words, a conversation, memories and a
// budget. Tasks are stored in a real database.
type fixture struct {
	t       testing.TB
	db      *store.DB
	agent   agent.Agent
	clock   core.Clock
	options research.Options
	model   model.Provider
	ranker  func(context.Context) quotepkg.Ranker

	mu       sync.Mutex
	docs     []source.Document
	messages []thread.Message // newest first
	// kept are the documents that were made permanent.
	kept     []string
	memories []memory.Memory
	proposed []string
	// favourites are the saved cards, and changes counts the calls that changed memories or favourites.
	favourites []favourite.Favourite
	changes    []string
	// recalled, unless it is nil, are the memories relevant to every message.
	recalled []memory.Memory
	// sender is the sender of the messages. deny, if set, refuses changes.
	sender thread.Sender
	deny   error
	purse  purse
	// searches are the queries so far.
	searches []search.Query
	buyers   []source.Buyer
	// find replaces the library if it is set.
	find func(search.Query) (source.Found, error)
	// nothing, if set, is another kind of task; submitted is the last submitted task.
	nothing   func(context.Context, *task.Run) (task.Outcome, error)
	submitted string
	// counted, if set, are the statistics of the library.
	counted *search.Statistics
}

const (
	userID   = "usr_ada"
	threadID = "thr_1"
	question = "msg_question"
)

// empty is a migrated database, copied for each test because migrations take longer than a turn.
var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "carrel-research-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "carrel.db")
	db, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func database(t testing.TB) *store.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "carrel.db")
	tables, err := empty()
	if err == nil {
		err = os.WriteFile(path, tables, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newFixture(t testing.TB) *fixture {
	return &fixture{
		t: t, clock: testkit.NewClock(), options: research.Options{NoJudge: true}, ranker: newRememberingRanker,
		agent: agent.Agent{ID: core.NewID(core.PrefixAgent), UserID: userID, Name: "Librarian", Sources: []agent.Source{
			{ID: "src_a", Name: "Archive", Language: "en"}, {ID: "src_l", Name: "Library", Default: true, Language: "en"},
		}},
	}
}

// put adds a document to a source of the agent.
func (w *fixture) put(d source.Document) source.Document {
	if d.ID == "" {
		d.ID = core.NewID(core.PrefixDocument)
	}
	if d.SourceID == "" {
		d.SourceID = "src_l"
	}
	for i := range w.agent.Sources {
		if w.agent.Sources[i].ID == d.SourceID {
			w.agent.Sources[i].Documents++
		}
	}
	w.docs = append(w.docs, d)
	return d
}

// landmarks fills the library with the documents of the demo.
func (w *fixture) landmarks() *fixture {
	w.t.Helper()
	for line := range strings.Lines(string(demo.Library())) {
		var d struct {
			Title   string
			Authors []string
			Text    string
			Year    int
			URL     string
			DOI     string
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			w.t.Fatal(err)
		}
		w.put(source.Document{Title: d.Title, Authors: d.Authors, Text: d.Text, Year: d.Year, URL: d.URL, DOI: d.DOI})
	}
	return w
}

// fake sets a model that answers as the brain defines.
func (w *fixture) fake(b brain) *modelfake.Server {
	w.t.Helper()
	return w.fakeOf(modelfake.OpenAI, b)
}

func (w *fixture) fakeOf(format modelfake.Format, b brain) *modelfake.Server {
	w.t.Helper()
	s := modelfake.New(w.t, format)
	s.Answer(b.answerTo)
	p, err := model.New(model.Options{API: model.API(format), BaseURL: s.URL(), Key: s.Key, Name: "fake-1"}, w.clock)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Close)
	w.model = p
	return s
}

func (w *fixture) answerer() *research.Agent {
	return research.New(research.Deps{
		Search: w, Documents: w, Conversation: w, Memories: w, Favourites: saved{w}, Agents: w, Spend: &w.purse,
		Model: w.model, Ranker: w.ranker, Clock: w.clock, Log: slog.New(
			slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}),
		),
	}, w.options)
}

// reply is the outcome of a turn.
type reply struct {
	thread.Answer
	task  task.Task
	steps []string // labels of the steps
	shown string   // text shown to readers of the stream
}

// ask answers a question in a new turn.
func (w *fixture) ask(text string) reply {
	w.t.Helper()
	return w.turn(thread.Question{Text: text})
}

func (w *fixture) turn(q thread.Question) reply {
	w.t.Helper()
	e := w.start(nil)
	id := w.submit(e, q)
	return w.await(e, id)
}

// start starts an engine that runs the turns of this fixture, on a store around its database if one is given.
func (w *fixture) start(around func(task.Store) task.Store) *task.Engine {
	w.t.Helper()
	if w.db == nil {
		w.db = database(w.t)
	}
	var s task.Store = w.db
	if around != nil {
		s = around(s)
	}
	return w.engine(s, w)
}

// engine runs the turns of all fixtures, which it finds by agent.
func (w *fixture) engine(s task.Store, worlds ...*fixture) *task.Engine {
	w.t.Helper()
	e := task.New(
		task.Deps{Store: s, Clock: w.clock, Log: slog.New(slog.DiscardHandler)},
		task.Options{SingleNode: true, Poll: 20 * time.Millisecond, EventBatchDelay: time.Millisecond, Grace: time.Second},
	)
	answerers := map[string]*research.Agent{}
	for _, each := range worlds {
		answerers[each.agent.ID] = each.answerer()
	}
	e.Register(task.Kind{Name: "turn", Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
		var q thread.Question
		if err := json.Unmarshal(r.Task().Input, &q); err != nil {
			return task.Outcome{}, err
		}
		answer, err := answerers[q.AgentID].Answer(ctx, r, q)
		raw, jsonErr := json.Marshal(answer)
		if jsonErr != nil {
			return task.Outcome{}, jsonErr
		}
		return task.Outcome{Result: raw}, err
	}})
	if w.nothing != nil {
		e.Register(task.Kind{Name: "nothing", Run: w.nothing})
	}
	if err := e.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			w.t.Errorf("stop: %v", err)
		}
	})
	return e
}

func (w *fixture) submit(e *task.Engine, q thread.Question) string {
	w.t.Helper()
	return w.submitAs(e, "turn", q)
}

func (w *fixture) submitAs(e *task.Engine, kind string, q thread.Question) string {
	w.t.Helper()
	q.UserID, q.AgentID, q.ThreadID, q.MessageID, q.Sender = userID, w.agent.ID, threadID, question, w.sender
	input, err := json.Marshal(q)
	if err != nil {
		w.t.Fatal(err)
	}
	id := core.NewID(core.PrefixTurn)
	w.submitted = id
	if _, err := e.Submit(w.t.Context(), task.Spec{ID: id, Kind: kind, Key: id, Input: input}); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *fixture) await(e *task.Engine, id string) reply {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	got, err := e.Wait(ctx, id)
	if err != nil {
		w.t.Fatalf("wait for the turn: %v", err)
	}
	out := reply{task: got}
	if len(got.Result) > 0 {
		if err := json.Unmarshal(got.Result, &out.Answer); err != nil {
			w.t.Fatal(err)
		}
	}
	steps, err := w.db.TaskSteps(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range steps {
		out.steps = append(out.steps, s.Label)
	}
	out.shown = w.shown(id)
	return out
}

// shown returns the text that readers of a turn's stream have seen.
func (w *fixture) shown(id string) string {
	w.t.Helper()
	events, err := w.db.TaskEvents(w.t.Context(), id, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	var pieces []string
	var places []int64
	for _, e := range events {
		var payload struct{ Text, DiscardAfter string }
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			w.t.Fatal(err)
		}
		switch e.Kind {
		case task.EventDelta:
			pieces, places = append(pieces, payload.Text), append(places, e.Seq)
		case task.EventRestarted:
			after, err := task.ParsePosition(payload.DiscardAfter)
			if err != nil {
				w.t.Fatal(err)
			}
			for len(places) > 0 && places[len(places)-1] > after.Seq {
				pieces, places = pieces[:len(pieces)-1], places[:len(places)-1]
			}
		}
	}
	return strings.Join(pieces, "")
}

// holds fails the test unless every citation is verbatim in its document, and the document is kept.
func (w *fixture) holds(r reply) {
	w.t.Helper()
	if err := w.broken(r); err != nil {
		w.t.Error(err)
	}
}

// broken returns the first defect of a reply's citations and checks.
func (w *fixture) broken(r reply) error {
	for _, c := range r.Citations {
		i := slices.IndexFunc(w.docs, func(d source.Document) bool { return d.ID == c.DocumentID })
		if i < 0 {
			return fmt.Errorf("[%d] cites %s, which is not there", c.N, c.DocumentID)
		}
		text := []rune(w.docs[i].Text)
		if c.Start < 0 || c.End > len(text) || c.Start >= c.End || string(text[c.Start:c.End]) != c.Quote {
			return fmt.Errorf("[%d] is not at %d to %d of its document: %q", c.N, c.Start, c.End, c.Quote)
		}
		if c.Title != w.docs[i].Title || c.CardID != w.docs[i].CardID() {
			return fmt.Errorf("[%d] is named %q, %s", c.N, c.Title, c.CardID)
		}
		w.mu.Lock()
		kept := slices.Contains(w.kept, c.DocumentID)
		w.mu.Unlock()
		if !kept {
			return fmt.Errorf("[%d] cites %s, which nobody keeps", c.N, c.DocumentID)
		}
		if !strings.Contains(r.Text, fmt.Sprintf("[%d]", c.N)) {
			return fmt.Errorf("[%d] is not in %q", c.N, r.Text)
		}
	}
	for _, mark := range regexp.MustCompile(`\[(\d+)\]`).FindAllStringSubmatch(r.Text, -1) {
		if !slices.ContainsFunc(r.Citations, func(c thread.Citation) bool { return strconv.Itoa(c.N) == mark[1] }) {
			return fmt.Errorf("%s has nothing behind it: %q", mark[0], r.Text)
		}
	}
	length := len([]rune(r.Text))
	for _, c := range r.Checks {
		if c.Start < 0 || c.End > length || c.Start >= c.End {
			return fmt.Errorf("a check of %d to %d in a text of %d", c.Start, c.End, length)
		}
	}
	return nil
}

// Find implements research.Search. It ranks by the share of matching words, weighted by rarity.
func (w *fixture) Find(_ context.Context, b source.Buyer, r search.Query) (source.Found, error) {
	w.mu.Lock()
	w.searches, w.buyers = append(w.searches, r), append(w.buyers, b)
	find := w.find
	w.mu.Unlock()
	if find != nil {
		return find(r)
	}
	return w.library(r)
}

func (w *fixture) library(r search.Query) (source.Found, error) {
	a := analysis.New("en")
	terms := termsOf(a, r.Text)
	var hits []source.Card
	for _, d := range w.docs {
		if len(r.Sources) > 0 && !slices.Contains(r.Sources, d.SourceID) || r.FromYear != 0 && d.Year < r.FromYear ||
			r.ToYear != 0 && d.Year > r.ToYear {
			continue
		}
		best := source.Card{Document: d}
		for _, p := range analysis.Passages(d.Text) {
			has := termsOf(a, d.Title+" "+p.Of(d.Text))
			score := 0.0
			for term := range terms {
				if has[term] {
					score += math.Log1p(float64(len(w.docs)) / float64(1+w.holders(a, term)))
				}
			}
			if score > best.Score {
				best.Score, best.Snippet = score, search.Snippet{Start: p.Start, End: p.End, Page: p.Page, Heading: p.Heading}
			}
		}
		if best.Score > 0 {
			hits = append(hits, best)
		}
	}
	slices.SortStableFunc(hits, func(a, b source.Card) int { return cmp.Compare(b.Score, a.Score) })
	return source.Found{Cards: hits[:min(len(hits), r.Limit)]}, nil
}

func (w *fixture) holders(a *analysis.Analyser, term string) int {
	n := 0
	for _, d := range w.docs {
		if termsOf(a, d.Title+" "+d.Text)[term] {
			n++
		}
	}
	return n
}

func termsOf(a *analysis.Analyser, text string) map[string]bool {
	out := map[string]bool{}
	for token := range a.Tokens(text) {
		if !token.Stop {
			out[token.Term] = true
		}
	}
	return out
}

// Statistics implements research.Search.
func (w *fixture) Statistics(_ context.Context, _, terms []string) (search.Statistics, error) {
	if w.counted != nil {
		return *w.counted, nil
	}
	a := analysis.New("en")
	out := search.Statistics{Passages: len(w.docs), Holders: map[string]int{}}
	for _, term := range terms {
		out.Holders[term] = w.holders(a, term)
	}
	return out, nil
}

// Keep implements research.Documents.
func (w *fixture) Keep(_ context.Context, _, _ string, ids []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, ids...)
	return nil
}

// DocumentOf implements research.Documents.
func (w *fixture) DocumentOf(_ context.Context, user, agentID, id string) (source.Document, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.docs {
		if d.ID == id && user == userID && agentID == w.agent.ID {
			return d, nil
		}
	}
	return source.Document{}, core.NotFound("document")
}

// Heads implements research.Documents.
func (w *fixture) Heads(
	_ context.Context, user, agentID string, sources []string, from, to, n int,
) ([]source.Document, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []source.Document
	for _, d := range w.docs {
		if len(sources) > 0 && !slices.Contains(sources, d.SourceID) {
			continue
		}
		if user == userID && agentID == w.agent.ID && len(out) < n && d.Year >= from && (to == 0 || d.Year <= to) {
			out = append(out, d)
		}
	}
	return out, nil
}
