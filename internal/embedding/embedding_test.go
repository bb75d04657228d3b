package embedding_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
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
	kit "carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fixture is a database with two sources, and an embedding endpoint.
type fixture struct {
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	endpoint *testkit.Embeddings
	sources  [2]string
	payer    embedding.Payer
	// grace is how long a node waits for its runs when it stops. By default it is short, because runs may hang.
	grace time.Duration
}

// onBoth runs a test on an empty SQLite and an empty PostgreSQL database.
func onBoth(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	for name, options := range map[string]func(t *testing.T) store.Options{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, options(t)))
		})
	}
}

func onSQLite(t *testing.T) store.Options {
	t.Helper()
	return store.Options{Path: kit.SQLite(t)}
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

func newFixture(t *testing.T, o store.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: testkit.NewClock(), endpoint: testkit.NewEmbeddings(t), payer: free{}}
	var err error
	if f.db, err = store.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.db.Close() })
	now := f.clock.Now()
	f.must(
		f.db.InsertUser(t.Context(), account.User{ID: "usr", Email: "e", Plan: core.PlanOpen, CreatedAt: now}, "none"),
	)
	for i, name := range []string{"one", "two"} {
		f.sources[i] = core.NewID(core.PrefixSource)
		f.must(f.db.InsertAgent(t.Context(), agent.Agent{
			ID: core.NewID(core.PrefixAgent), UserID: "usr", Name: name, CreatedAt: now, UpdatedAt: now,
			Sources: []agent.Source{{ID: f.sources[i], Name: name, Kind: "upload", Default: true, Status: "ready"}},
		}))
	}
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// same fails the test unless both values print alike.
func (f *fixture) same(what string, got, want any) {
	f.t.Helper()
	if g, h := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != h {
		f.t.Errorf("%s:\n got %s\nwant %s", what, g, h)
	}
}

// put stores documents, given as "title: text", in a source.
func (f *fixture) put(sourceID string, year int, docs ...string) {
	f.t.Helper()
	batch := make([]source.Document, len(docs))
	for i, d := range docs {
		title, text, _ := strings.Cut(d, ": ")
		batch[i] = source.Document{
			ID: core.NewID(core.PrefixDocument), SourceID: sourceID, ExternalID: title, Title: title, Text: text,
			Year: year,
			Hash: fmt.Append(nil, d, year), CreatedAt: f.clock.Now(), UpdatedAt: f.clock.Now(),
		}
	}
	_, _, err := f.db.PutDocuments(f.t.Context(), sourceID, batch)
	f.must(err)
}

// node is a process of the server.
type node struct {
	*embedding.Service
	f      *fixture
	engine *task.Engine
	log    *testkit.Log
	stop   func()
}

// logged counts the occurrences of a text in the log.
func (n *node) logged(text string) int { return strings.Count(n.log.String(), text) }

// start runs a node; alone means that earlier nodes are dead. change may wrap the store and set options.
func (f *fixture) start(alone bool, change ...func(embedding.Store, *model.EmbeddingOptions) embedding.Store) *node {
	f.t.Helper()
	n := &node{f: f, log: &testkit.Log{}}
	log := slog.New(slog.NewTextHandler(n.log, nil))
	n.engine = task.New(
		task.Deps{Store: f.db, Clock: f.clock, Log: log},
		task.Options{SingleNode: alone, Poll: 5 * time.Millisecond, Grace: cmp.Or(f.grace, 200*time.Millisecond)},
	)
	o := model.EmbeddingOptions{URL: f.endpoint.URL(), Key: f.endpoint.Key, Model: f.endpoint.Model}
	var db embedding.Store = f.db
	for _, configure := range change {
		db = configure(db, &o)
	}
	client := model.NewEmbeddingClient(o, f.clock)
	n.Service = embedding.NewService(embedding.Deps{
		Store: db, Embedder: client, Tasks: n.engine, Payer: f.payer, Clock: f.clock, Log: log,
	}, 0.02)
	n.engine.Register(n.Kind())
	f.must(n.engine.Start(f.t.Context()))
	n.stop = sync.OnceFunc(func() {
		_ = n.engine.Stop(context.Background()) // tasks that can't be released are taken over by another node
		client.Close()
	})
	f.t.Cleanup(n.stop)
	f.t.Cleanup(func() {
		if f.t.Failed() {
			f.t.Logf("the log of a node:\n%s", n.log.String())
		}
	})
	return n
}

// eventually waits until a condition holds.
func (f *fixture) eventually(what string, holds func() bool) {
	f.t.Helper()
	for end := time.Now().Add(4 * time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// active returns the running or queued task.
func (f *fixture) active() (task.Task, bool) {
	f.t.Helper()
	t, err := f.db.ActiveTask(f.t.Context(), "embed")
	if !core.IsKind(err, core.KindNotFound) {
		f.must(err)
	}
	return t, err == nil
}

// settle submits a task if vectors are missing and waits until none is active.
func (n *node) settle() {
	n.f.t.Helper()
	n.f.must(n.Check(n.f.t.Context()))
	n.f.eventually("no task is left", func() bool {
		_, busy := n.f.active()
		return !busy
	})
}

// paid returns the texts that were embedded, sorted, without probes.
func (f *fixture) paid() []string {
	paid := slices.DeleteFunc(f.endpoint.Paid(), func(s string) bool { return s == "Carrel" })
	slices.Sort(paid)
	return paid
}

// found returns for each document, by title, how many of its passages have vectors, as an index that reads the whole
// change log sees it.
func (n *node) found() map[string]string {
	f := n.f
	f.t.Helper()
	head, err := f.db.Head(f.t.Context())
	f.must(err)
	changes, err := f.db.Changes(f.t.Context(), 0, head, 1000)
	f.must(err)
	var docs []search.Document
	for _, c := range changes {
		if c.Document.ID != "" {
			docs = append(docs, c.Document)
		}
	}
	vectors, err := n.Vectors(f.t.Context(), docs)
	f.must(err)
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

func TestVectorsOfDocumentsMatchRelatedQueries(t *testing.T) {
	onBoth(t, func(f *fixture) {
		n := f.start(true)
		n.settle()
		f.same("calls for nothing", f.endpoint.Calls(), 0)
		f.put(f.sources[0], 2020, "Bridges: how rivers are crossed", "Bread: sourdough and patience")
		f.put(f.sources[1], 2020, "Empty: ", ": ")
		before, err := f.db.Head(t.Context())
		f.must(err)
		n.settle()
		f.same(
			"paid", f.paid(), []string{"Bread\nsourdough and patience", "Bridges\nhow rivers are crossed", "Empty\n"},
		)
		f.same("found", n.found(), map[string]string{"Bridges": "1/1", "Bread": "1/1", "Empty": "1/1", "": "0/1"})
		head, err := f.db.Head(t.Context())
		f.must(err)
		f.same("numbers used in the log", head-before, 4)

		query, err := n.Query(t.Context(), "crossed rivers")
		f.must(err)
		changes, err := f.db.Changes(t.Context(), 0, head, 10)
		f.must(err)
		score := map[string]float64{}
		for _, c := range changes {
			v, err := n.Vectors(t.Context(), []search.Document{c.Document})
			f.must(err)
			if p := v[c.ID].Passages[0]; p != nil {
				f.same("model", v[c.ID].Model, "words-64")
				f.same("dimensions", v[c.ID].Dims, 64)
				for i := range p {
					score[c.Document.Title] += float64(p[i] * query[i])
				}
			}
		}
		if score["Bridges"] < score["Bread"]+0.2 {
			t.Errorf("cosines with the query: %v", score)
		}
		f.same("logged", n.logged("all documents have vectors"), 1)
	})
}

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	f := newFixture(t, onSQLite(t))
	client := model.NewEmbeddingClient(model.EmbeddingOptions{URL: f.endpoint.URL(), Model: f.endpoint.Model}, f.clock)
	t.Cleanup(client.Close)
	testkit.RequiresDeps(t, embedding.Deps{
		Store: f.db, Embedder: client, Tasks: f.start(true).engine, Payer: free{}, Clock: f.clock,
		Log: slog.New(slog.DiscardHandler),
	}, func(d embedding.Deps) { embedding.NewService(d, 0) })
}

func TestNoTaskIsCreatedWithoutMissingVectors(t *testing.T) {
	onBoth(t, func(f *fixture) {
		n := f.start(true)
		f.put(f.sources[0], 1, "a: x", "b: y")
		n.settle()
		done, err := f.db.Tasks(t.Context(), task.StateComplete, 10)
		f.must(err)
		f.same("tasks", len(done), 1)
		f.same("result", string(done[0].Result), `{"documents":2,"passages":2,"tokens":4,"done":true}`)
		n.settle()
		_, err = f.db.DeleteDocuments(t.Context(), f.sources[0], []string{"a"}, f.clock.Now())
		f.must(err)
		n.settle()
		again, err := f.db.Tasks(t.Context(), task.StateComplete, 10)
		f.must(err)
		f.same("tasks later", len(again), 1)
		head, err := f.db.Head(t.Context())
		f.must(err)
		through, err := f.db.EmbeddedThrough(t.Context(), embedding.Space{Model: f.endpoint.Model, Dims: 64})
		f.must(err)
		f.same("checked through", through, head)
	})
}

func TestSameTextIsEmbeddedOnce(t *testing.T) {
	onBoth(t, func(f *fixture) {
		n := f.start(true)
		f.put(f.sources[0], 1, "a: x", "b: y")
		n.settle()
		f.put(f.sources[1], 1, "a: x", "c: z") // in another source
		f.put(f.sources[0], 2, "b: y")         // with another year
		n.settle()
		n.stop()
		f.start(true).settle() // in another process
		f.same("paid", f.paid(), []string{"a\nx", "b\ny", "c\nz"})
		f.same("found", n.found(), map[string]string{"a": "1/1", "b": "1/1", "c": "1/1"})
	})
}

func TestChangedTextGetsANewVector(t *testing.T) {
	onBoth(t, func(f *fixture) {
		n := f.start(true)
		f.put(f.sources[0], 1, "a: old", "b: y")
		n.settle()
		f.put(f.sources[0], 1, "a: new")
		f.same("meanwhile", n.found(), map[string]string{"a": "0/1", "b": "1/1"})
		n.settle()
		f.same("paid", f.paid(), []string{"a\nnew", "a\nold", "b\ny"})
		f.same("then", n.found(), map[string]string{"a": "1/1", "b": "1/1"})
		f.put(f.sources[0], 2, "a: old") // its vector was deleted with the text
		n.settle()
		f.same("paid later", f.paid(), []string{"a\nnew", "a\nold", "a\nold", "b\ny"})
	})
}

func TestAnotherModelOrDimensionEmbedsAllDocumentsAgain(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x")
		first := f.start(true)
		first.settle()
		first.stop()
		f.endpoint.Dims = 32
		shorter := f.start(true, func(db embedding.Store, o *model.EmbeddingOptions) embedding.Store {
			o.Dims = 32
			return db
		})
		f.same("of this length before", shorter.found(), map[string]string{})
		shorter.settle()
		f.same("of this length", shorter.found(), map[string]string{"a": "1/1"})
		f.same("of the other", first.found(), map[string]string{})
		shorter.stop()
		f.endpoint.Model = "other"
		other := f.start(true)
		other.settle()
		f.same("of the other model", other.found(), map[string]string{"a": "1/1"})
		f.same("of the first model", shorter.found(), map[string]string{"a": "1/1"})
		f.same("paid", f.paid(), []string{"a\nx", "a\nx", "a\nx"})
	})
}

func TestManyDocumentsAreSplitIntoRequests(t *testing.T) {
	onBoth(t, func(f *fixture) {
		var docs []string
		for i := range 250 {
			docs = append(docs, fmt.Sprintf("d%03d: text %d", i, i))
		}
		f.put(f.sources[0], 1, docs...)
		n := f.start(true)
		n.settle()
		f.same("paid", len(f.paid()), 250)
		f.same("different", len(slices.Compact(f.paid())), 250)
		f.same("requests", f.endpoint.Calls(), 4) // one is the probe
		f.same("found", len(n.found()), 250)
		done, err := f.db.Tasks(t.Context(), task.StateComplete, 10)
		f.must(err)
		events, err := f.db.TaskEvents(t.Context(), done[0].ID, 0, 100)
		f.must(err)
		var reported []string
		for _, e := range events {
			if e.Kind == "progress" {
				reported = append(reported, string(e.Payload))
			}
		}
		f.same("reported", reported, []string{
			`{"documents":96,"passages":96,"tokens":288}`, `{"documents":192,"passages":192,"tokens":576}`,
			`{"documents":250,"passages":250,"tokens":750}`,
		})
	})
}

func TestLongDocumentIsSplitIntoRequests(t *testing.T) {
	onBoth(t, func(f *fixture) {
		var long strings.Builder
		for i := range 3000 {
			fmt.Fprintf(
				&long,
				"Paragraph %d tells of %d things that nobody has counted before, and of the %d people who did not.\n\n",
				i, i*7, i*13,
			)
		}
		f.put(f.sources[0], 1, "Long: "+long.String(), "Short: text")
		n := f.start(true)
		n.settle()
		paid := f.paid()
		f.same("different", len(slices.Compact(slices.Clone(paid))), len(paid))
		f.same("found", n.found(), map[string]string{"Long": fmt.Sprintf("%[1]d/%[1]d", len(paid)-1), "Short": "1/1"})
		if len(paid) < 97 {
			t.Errorf("the text has only %d passages, which fit into one request", len(paid)-1)
		}
	})
}

func TestTaskWithTooManyStepsIsContinuedByAnother(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.manyDocuments()
		n := f.start(true)
		n.LimitSteps(2)
		n.settle()
		f.same("found", len(n.found()), 3*96)
		done, err := f.db.Tasks(t.Context(), task.StateComplete, 10)
		f.must(err)
		f.same("tasks", len(done), 2)
		f.must(f.db.PruneEmbeddingTasks(t.Context(), f.clock.Now().Add(time.Second)))
		done, err = f.db.Tasks(t.Context(), task.StateComplete, 10)
		f.must(err)
		f.same("tasks later", len(done), 0)
	})
}

func TestMissingVectorsAreComputedAtStart(t *testing.T) {
	onBoth(t, func(f *fixture) {
		f.put(f.sources[0], 1, "a: x")
		n := f.start(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		f.eventually("vectors", func() bool { return len(n.found()) == 1 })
		cancel()
		f.must(<-ended)
	})
}

func TestPackedVectorsKeepTheirDirection(t *testing.T) {
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
