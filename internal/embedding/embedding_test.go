package embedding_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/embedding"
	"carrel/internal/model"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a database with two sources, and an embedding endpoint.
type world struct {
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	endpoint *testkit.Embeddings
	sources  [2]string
	payer    embedding.Payer
}

// onBoth runs a test on an empty SQLite and an empty PostgreSQL database.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	for name, options := range map[string]func(t *testing.T) store.Options{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, options(t)))
		})
	}
}

func onSQLite(t *testing.T) store.Options {
	t.Helper()
	return store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")}
}

func onPostgres(t *testing.T) store.Options {
	t.Helper()
	return store.Options{URL: testkit.PostgresTemplate(t, "embedding", func(url string) error {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			return err
		}
		return db.Close()
	})}
}

func newWorld(t *testing.T, o store.Options) *world {
	t.Helper()
	w := &world{t: t, clock: testkit.NewClock(), endpoint: testkit.NewEmbeddings(t), payer: free{}}
	var err error
	if w.db, err = store.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	now := w.clock.Now()
	w.must(
		w.db.InsertUser(t.Context(), account.User{ID: "usr", Email: "e", Plan: core.PlanOpen, CreatedAt: now}, "none"),
	)
	for i, name := range []string{"one", "two"} {
		w.sources[i] = core.NewID(core.PrefixSource)
		w.must(w.db.InsertAgent(t.Context(), agent.Agent{
			ID: core.NewID(core.PrefixAgent), UserID: "usr", Name: name, CreatedAt: now, UpdatedAt: now,
			Sources: []agent.Source{{ID: w.sources[i], Name: name, Kind: "upload", Default: true, Status: "ready"}},
		}))
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// same fails the test unless both values print alike.
func (w *world) same(what string, got, want any) {
	w.t.Helper()
	if g, h := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != h {
		w.t.Errorf("%s:\n got %s\nwant %s", what, g, h)
	}
}

// put stores documents, given as "title: text", in a source.
func (w *world) put(sourceID string, year int, docs ...string) {
	w.t.Helper()
	batch := make([]source.Document, len(docs))
	for i, d := range docs {
		title, text, _ := strings.Cut(d, ": ")
		batch[i] = source.Document{
			ID: core.NewID(core.PrefixDocument), SourceID: sourceID, ExternalID: title, Title: title, Text: text,
			Year: year,
			Hash: fmt.Append(nil, d, year), CreatedAt: w.clock.Now(), UpdatedAt: w.clock.Now(),
		}
	}
	_, _, err := w.db.PutDocuments(w.t.Context(), sourceID, batch)
	w.must(err)
}

// node is a process of the server.
type node struct {
	*embedding.Service
	w      *world
	engine *task.Engine
	log    *testkit.Log
	stop   func()
}

// logged counts the occurrences of a text in the log.
func (n *node) logged(text string) int { return strings.Count(n.log.String(), text) }

// start runs a node; alone means that earlier nodes are dead. change may wrap the store and set options.
func (w *world) start(alone bool, change ...func(embedding.Store, *model.EmbeddingOptions) embedding.Store) *node {
	w.t.Helper()
	n := &node{w: w, log: &testkit.Log{}}
	log := slog.New(slog.NewTextHandler(n.log, nil))
	n.engine = task.New(
		task.Deps{Store: w.db, Clock: w.clock, Log: log},
		task.Options{SingleNode: alone, Poll: 5 * time.Millisecond, Grace: 200 * time.Millisecond},
	)
	o := model.EmbeddingOptions{URL: w.endpoint.URL(), Key: w.endpoint.Key, Model: w.endpoint.Model}
	var db embedding.Store = w.db
	for _, f := range change {
		db = f(db, &o)
	}
	client := model.NewEmbeddingClient(o, w.clock)
	n.Service = embedding.NewService(embedding.Deps{
		Store: db, Embedder: client, Tasks: n.engine, Payer: w.payer, Clock: w.clock, Log: log,
	}, 0.02)
	n.engine.Register(n.Kind())
	w.must(n.engine.Start(w.t.Context()))
	n.stop = sync.OnceFunc(func() {
		_ = n.engine.Stop(context.Background()) // tasks that can't be released are taken over by another node
		client.Close()
	})
	w.t.Cleanup(n.stop)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the log of a node:\n%s", n.log.String())
		}
	})
	return n
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// active returns the running or queued task.
func (w *world) active() (task.Task, bool) {
	w.t.Helper()
	t, err := w.db.ActiveTask(w.t.Context(), "embed")
	if !core.IsKind(err, core.KindNotFound) {
		w.must(err)
	}
	return t, err == nil
}

// settle submits a task if vectors are missing and waits until none is active.
func (n *node) settle() {
	n.w.t.Helper()
	n.w.must(n.Check(n.w.t.Context()))
	n.w.eventually("no task is left", func() bool {
		_, busy := n.w.active()
		return !busy
	})
}

// paid returns the texts that were embedded, sorted, without probes.
func (w *world) paid() []string {
	paid := slices.DeleteFunc(w.endpoint.Paid(), func(s string) bool { return s == "Carrel" })
	slices.Sort(paid)
	return paid
}

// found returns for each document, by title, how many of its passages have vectors, as an index that reads the whole
// change log sees it.
func (n *node) found() map[string]string {
	w := n.w
	w.t.Helper()
	head, err := w.db.Head(w.t.Context())
	w.must(err)
	changes, err := w.db.Changes(w.t.Context(), 0, head, 1000)
	w.must(err)
	var docs []search.Document
	for _, c := range changes {
		if c.Document.ID != "" {
			docs = append(docs, c.Document)
		}
	}
	vectors, err := n.Vectors(w.t.Context(), docs)
	w.must(err)
	out := map[string]string{}
	for _, d := range docs {
		v, have := vectors[d.ID]
		if !have {
			continue
		}
		made := 0
		for _, p := range v.Passages {
			if p != nil {
				made++
			}
		}
		out[d.Title] = fmt.Sprintf("%d/%d", made, len(v.Passages))
	}
	return out
}

func TestDocumentsGetVectorsThatSayWhatTheyAreAbout(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.start(true)
		n.settle()
		w.same("calls for nothing", w.endpoint.Calls(), 0)
		w.put(w.sources[0], 2020, "Bridges: how rivers are crossed", "Bread: sourdough and patience")
		w.put(w.sources[1], 2020, "Empty: ", ": ")
		before, err := w.db.Head(t.Context())
		w.must(err)
		n.settle()
		w.same(
			"paid", w.paid(), []string{"Bread\nsourdough and patience", "Bridges\nhow rivers are crossed", "Empty\n"},
		)
		w.same("found", n.found(), map[string]string{"Bridges": "1/1", "Bread": "1/1", "Empty": "1/1", "": "0/1"})
		head, err := w.db.Head(t.Context())
		w.must(err)
		w.same("places taken in the log", head-before, 4)

		query, err := n.Query(t.Context(), "crossed rivers")
		w.must(err)
		changes, err := w.db.Changes(t.Context(), 0, head, 10)
		w.must(err)
		score := map[string]float64{}
		for _, c := range changes {
			v, err := n.Vectors(t.Context(), []search.Document{c.Document})
			w.must(err)
			if p := v[c.ID].Passages[0]; p != nil {
				w.same("model", v[c.ID].Model, "words-64")
				w.same("dimensions", v[c.ID].Dims, 64)
				for i := range p {
					score[c.Document.Title] += float64(p[i] * query[i])
				}
			}
		}
		if score["Bridges"] < score["Bread"]+0.2 {
			t.Errorf("cosines with the query: %v", score)
		}
		w.same("logged", n.logged("all documents have vectors"), 1)
	})
}

func TestNothingToDoMakesNoTask(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.start(true)
		w.put(w.sources[0], 1, "a: x", "b: y")
		n.settle()
		done, err := w.db.Tasks(t.Context(), task.StateComplete, 10)
		w.must(err)
		w.same("tasks", len(done), 1)
		w.same("result", string(done[0].Result), `{"documents":2,"passages":2,"tokens":4,"done":true}`)
		n.settle()
		_, err = w.db.DeleteDocuments(t.Context(), w.sources[0], []string{"a"}, w.clock.Now())
		w.must(err)
		n.settle()
		again, err := w.db.Tasks(t.Context(), task.StateComplete, 10)
		w.must(err)
		w.same("tasks later", len(again), 1)
		head, err := w.db.Head(t.Context())
		w.must(err)
		through, err := w.db.EmbeddedThrough(t.Context(), embedding.Space{Model: w.endpoint.Model, Dims: 64})
		w.must(err)
		w.same("looked at", through, head)
	})
}

func TestTheSameTextIsPaidForOnce(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.start(true)
		w.put(w.sources[0], 1, "a: x", "b: y")
		n.settle()
		w.put(w.sources[1], 1, "a: x", "c: z") // in another source
		w.put(w.sources[0], 2, "b: y")         // with another year
		n.settle()
		n.stop()
		w.start(true).settle() // in another process
		w.same("paid", w.paid(), []string{"a\nx", "b\ny", "c\nz"})
		w.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1", "c": "1/1"})
	})
}

func TestAChangedTextGetsAnotherVector(t *testing.T) {
	onBoth(t, func(w *world) {
		n := w.start(true)
		w.put(w.sources[0], 1, "a: old", "b: y")
		n.settle()
		w.put(w.sources[0], 1, "a: new")
		w.same("meanwhile", n.found(), map[string]string{"a": "0/1", "b": "1/1"})
		n.settle()
		w.same("paid", w.paid(), []string{"a\nnew", "a\nold", "b\ny"})
		w.same("then", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
		w.put(w.sources[0], 2, "a: old") // its vector was deleted with the text
		n.settle()
		w.same("paid later", w.paid(), []string{"a\nnew", "a\nold", "a\nold", "b\ny"})
	})
}

func TestAnotherModelOrLengthBeginsAnew(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x")
		first := w.start(true)
		first.settle()
		first.stop()
		w.endpoint.Dims = 32
		shorter := w.start(true, func(db embedding.Store, o *model.EmbeddingOptions) embedding.Store {
			o.Dims = 32
			return db
		})
		w.same("of this length before", shorter.found(), map[string]string{})
		shorter.settle()
		w.same("of this length", shorter.found(), map[string]string{"a": "1/1"})
		w.same("of the other", first.found(), map[string]string{})
		shorter.stop()
		w.endpoint.Model = "other"
		other := w.start(true)
		other.settle()
		w.same("of the other model", other.found(), map[string]string{"a": "1/1"})
		w.same("of the first model", shorter.found(), map[string]string{"a": "1/1"})
		w.same("paid", w.paid(), []string{"a\nx", "a\nx", "a\nx"})
	})
}

func TestALongListTakesManyRequests(t *testing.T) {
	onBoth(t, func(w *world) {
		var docs []string
		for i := range 250 {
			docs = append(docs, fmt.Sprintf("d%03d: text %d", i, i))
		}
		w.put(w.sources[0], 1, docs...)
		n := w.start(true)
		n.settle()
		w.same("paid", len(w.paid()), 250)
		w.same("different", len(slices.Compact(w.paid())), 250)
		w.same("requests", w.endpoint.Calls(), 4) // one is the probe
		w.same("found", len(n.found()), 250)
		done, err := w.db.Tasks(t.Context(), task.StateComplete, 10)
		w.must(err)
		events, err := w.db.TaskEvents(t.Context(), done[0].ID, 0, 100)
		w.must(err)
		var told []string
		for _, e := range events {
			if e.Kind == "progress" {
				told = append(told, string(e.Payload))
			}
		}
		w.same("told", told, []string{
			`{"documents":96,"passages":96,"tokens":288}`, `{"documents":192,"passages":192,"tokens":576}`,
			`{"documents":250,"passages":250,"tokens":750}`,
		})
	})
}

func TestALongDocumentTakesManyRequests(t *testing.T) {
	onBoth(t, func(w *world) {
		var long strings.Builder
		for i := range 3000 {
			fmt.Fprintf(
				&long,
				"Paragraph %d tells of %d things that nobody has counted before, and of the %d people who did not.\n\n",
				i, i*7, i*13,
			)
		}
		w.put(w.sources[0], 1, "Long: "+long.String(), "Short: text")
		n := w.start(true)
		n.settle()
		paid := w.paid()
		w.same("different", len(slices.Compact(slices.Clone(paid))), len(paid))
		w.same("found", n.found(), map[string]string{"Long": fmt.Sprintf("%[1]d/%[1]d", len(paid)-1), "Short": "1/1"})
		if len(paid) < 97 {
			t.Skipf("the text has %d passages", len(paid)-1)
		}
	})
}

func TestWhatIsTooMuchForOneTaskIsLeftToTheNext(t *testing.T) {
	onBoth(t, func(w *world) {
		w.manyDocuments()
		n := w.start(true)
		n.LimitSteps(2)
		n.settle()
		w.same("found", len(n.found()), 3*96)
		done, err := w.db.Tasks(t.Context(), task.StateComplete, 10)
		w.must(err)
		w.same("tasks", len(done), 2)
		w.must(w.db.PruneEmbeddingTasks(t.Context(), w.clock.Now().Add(time.Second)))
		done, err = w.db.Tasks(t.Context(), task.StateComplete, 10)
		w.must(err)
		w.same("tasks later", len(done), 0)
	})
}

func TestAServerLooksForWorkWhenItStarts(t *testing.T) {
	onBoth(t, func(w *world) {
		w.put(w.sources[0], 1, "a: x")
		n := w.start(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		w.eventually("vectors", func() bool { return len(n.found()) == 1 })
		cancel()
		w.must(<-ended)
	})
}

func TestVectorsSurvivePacking(t *testing.T) {
	t.Parallel()
	e := testkit.NewEmbeddings(t)
	e.Dims = 384
	v := e.Vector("some words that lie in a few of the many directions that there are")
	var norm float64
	for i := range v {
		v[i] += float32(math.Sin(float64(i))) / 3
		norm += float64(v[i]) * float64(v[i])
	}
	back := embedding.Unpack(embedding.Pack(v))
	var dot, length float64
	for i := range v {
		dot += float64(v[i]) * float64(back[i])
		length += float64(back[i]) * float64(back[i])
	}
	if cosine := dot / math.Sqrt(norm*length); cosine < 0.9999 || len(embedding.Pack(v)) != 388 {
		t.Errorf("cosine %v in %d bytes", cosine, len(embedding.Pack(v)))
	}
	if again := embedding.Unpack(embedding.Pack(back)); !slices.Equal(again, back) {
		t.Error("packing again changes it")
	}
	for _, packed := range [][]byte{nil, {}, {1, 2, 3, 4}} {
		if got := embedding.Unpack(packed); got != nil {
			t.Errorf("%v became %v", packed, got)
		}
	}
	if got := embedding.Unpack(embedding.Pack(make([]float32, 3))); !slices.Equal(got, make([]float32, 3)) {
		t.Errorf("zeros became %v", got)
	}
}
