package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

func (w *fixture) head() uint64 {
	w.t.Helper()
	head, err := w.db.Head(w.ctx)
	w.must(err)
	return head
}

// since returns the changes with a sequence number above after.
func (w *fixture) since(after uint64) []search.Change {
	w.t.Helper()
	changes, err := w.db.Changes(w.ctx, after, w.head(), 10_000)
	w.must(err)
	return changes
}

// summary formats the changes after a sequence number.
func (w *fixture) summary(after uint64) []string {
	w.t.Helper()
	out := []string{}
	for _, c := range w.since(after) {
		out = append(out, fmt.Sprint(map[search.Op]string{
			search.Put: "put", search.Delete: "delete",
			search.Drop: "drop",
		}[c.Op], " ", c.ID))
	}
	return out
}

func (w *fixture) deleteDocuments(sourceID string, want int, externalIDs ...string) {
	w.t.Helper()
	n, err := w.db.DeleteDocuments(w.ctx, sourceID, externalIDs, w.after(9))
	w.must(err)
	w.same("deleted", n, want)
}

var changeTests = []test{
	{"AnEmptyLogHasNoHead", func(w *fixture) {
		w.same("head", w.head(), uint64(0))
		w.same("changes", w.since(0), []search.Change{})
	}},
	{"AChangeCarriesItsDocument", func(w *fixture) {
		before := w.head()
		full, bare := w.doc("full", "text"), w.doc("bare", "")
		full.Authors, full.Year, full.DOI = []string{"Ada", "Grace \"H\""}, 1936, "10.1/a"
		w.put(w.ada.source, 2, 0, full, bare)
		_, err := w.db.SetSourceLanguage(w.ctx, w.bert.source, "fr", false, w.now)
		w.must(err)
		theirs := w.doc("theirs", "texte")
		w.put(w.bert.source, 1, 0, theirs)
		w.same("changes", w.since(before), []search.Change{
			{Seq: before + 1, Op: search.Put, ID: full.ID, Document: search.Document{
				ID: full.ID, SourceID: w.ada.source, Title: full.Title, Text: "text", DOI: "10.1/a",
				Authors: full.Authors, Year: 1936,
			}},
			{
				Seq: before + 2, Op: search.Put, ID: bare.ID,
				Document: search.Document{ID: bare.ID, SourceID: w.ada.source, Title: bare.Title},
			},
			{Seq: before + 3, Op: search.Put, ID: theirs.ID, Document: search.Document{
				ID: theirs.ID, SourceID: w.bert.source, Title: theirs.Title, Text: "texte", Language: "fr",
			}},
		})
	}},
	{"DocumentIsLoggedOnceWithItsLatestChange", func(w *fixture) {
		before := w.head()
		x, y := w.doc("x", "one"), w.doc("y", "one")
		w.put(w.ada.source, 2, 0, x, y)
		w.put(w.ada.source, 0, 0, w.doc("x", "one"), w.doc("y", "one"))
		w.same("unchanged", w.head(), before+2)
		w.put(w.ada.source, 0, 1, w.doc("x", "two"), w.doc("y", "one"))
		w.same("updated", w.summary(before), []string{"put " + y.ID, "put " + x.ID})
		changes := w.since(before)
		w.same("numbers", []uint64{changes[0].Seq, changes[1].Seq}, []uint64{before + 2, before + 3})
		w.same("text", changes[1].Document.Text, "two")
		// A document that occurs twice in a batch is one change.
		w.put(w.ada.source, 0, 2, w.doc("x", "three"), w.doc("x", "four"))
		w.same("twice", w.summary(before), []string{"put " + y.ID, "put " + x.ID})
		w.same("head", w.head(), before+4)
	}},
	{"FailedBatchLogsNothing", func(w *fixture) {
		taken := w.doc("taken", "x")
		w.put(w.bert.source, 1, 0, taken)
		before := w.head()
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.doc("good", "x"), taken})
		w.wantKind(err, core.KindConflict, "")
		w.same("head", w.head(), before)
	}},
	{"TheLogIsReadInBatches", func(w *fixture) {
		before := w.head()
		var want []string
		docs := make([]source.Document, 10)
		for i := range docs {
			docs[i] = w.doc(strconv.Itoa(i), "text")
			want = append(want, docs[i].ID)
		}
		w.put(w.ada.source, 10, 0, docs...)
		var got []string
		var sizes []int
		for after, through := before, w.head(); ; {
			batch, err := w.db.Changes(w.ctx, after, through, 4)
			w.must(err)
			sizes = append(sizes, len(batch))
			for _, c := range batch {
				got = append(got, c.ID)
			}
			if len(batch) < 4 {
				break
			}
			after = batch[3].Seq
		}
		w.same("ids", got, want)
		w.same("batches", sizes, []int{4, 4, 2})
		inner, err := w.db.Changes(w.ctx, before+2, before+5, 100)
		w.must(err)
		w.same("a span has its end and not its start", []uint64{inner[0].Seq, inner[len(inner)-1].Seq},
			[]uint64{before + 3, before + 5})
		for _, span := range [][2]uint64{
			{before + 5, before + 5},
			{before + 6, before + 5},
			{w.head(), w.head() + 100},
		} {
			none, err := w.db.Changes(w.ctx, span[0], span[1], 100)
			w.must(err)
			w.same("an empty span", none, []search.Change{})
		}
	}},
	{"DeletedDocumentsAreLoggedAndCounted", func(w *fixture) {
		before := w.head()
		x, y, z := w.doc("x", "one"), w.doc("y", "one"), w.doc("z", "one")
		w.put(w.ada.source, 3, 0, x, y, z)
		w.put(w.bert.source, 1, 0, w.doc("x", "theirs"))
		w.deleteDocuments(w.ada.source, 2, "x", "z", "never there")
		w.same("count", w.documents(w.ada), 1)
		w.same("count of others", w.documents(w.bert), 1)
		w.same("rows", len(w.scan(w.ada.source)), 1)
		w.same("logged", w.summary(before)[2:], []string{"delete " + x.ID, "delete " + z.ID})
		w.same("first", w.summary(before)[0], "put "+y.ID)
		head := w.head()
		w.deleteDocuments(w.ada.source, 0, "x")
		w.deleteDocuments(w.ada.source, 0)
		w.same("head", w.head(), head)
		// A document that is added again gets a new id.
		again := w.doc("x", "one")
		w.put(w.ada.source, 1, 0, again)
		w.same("again", w.summary(head), []string{"put " + again.ID})
		_, err := w.db.DeleteDocuments(w.ctx, "src_none", []string{"x"}, w.now)
		w.wantMissing(err, "source")
	}},
	{"DeletingAnAgentLogsItsSourcesAsDropped", func(w *fixture) {
		before := w.head()
		more, empty := w.newSource(w.ada.agent, "More", false), w.newSource(w.ada.agent, "Empty", false)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, more))
		w.must(w.db.InsertSource(w.ctx, w.ada.id, empty))
		kept := w.doc("x", "theirs")
		w.put(w.ada.source, 2, 0, w.doc("x", "one"), w.doc("y", "one"))
		w.put(w.bert.source, 1, 0, kept)
		w.put(more.ID, 1, 0, w.doc("x", "one"))
		w.deleteDocuments(w.ada.source, 1, "y")
		w.wantMissing(w.db.DeleteAgent(w.ctx, w.bert.id, w.ada.agent), "agent")
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		w.same("logged", w.summary(before), []string{"put " + kept.ID, "drop " + w.ada.source, "drop " + more.ID})
		head := w.head()
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.second))
		w.same("an agent without documents", w.head(), head)
	}},
	{"ChangingTheLanguageLogsAllDocumentsAgain", func(w *fixture) {
		x, y := w.doc("x", "one"), w.doc("y", "one")
		w.put(w.ada.source, 2, 0, x, y)
		w.put(w.bert.source, 1, 0, w.doc("x", "theirs"))
		set := func(language string, guessed bool, want string, again bool) {
			w.t.Helper()
			head := w.head()
			holds, err := w.db.SetSourceLanguage(w.ctx, w.ada.source, language, guessed, w.now)
			w.must(err)
			w.same("holds", holds, want)
			logged := []string{}
			if again {
				logged = []string{"put " + x.ID, "put " + y.ID}
			}
			w.same("logged after "+language, w.summary(head), logged)
			if again {
				w.same("language", w.since(head)[0].Document.Language, want)
			}
			sources, err := w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
			w.must(err)
			w.same("language", sources[0].Language, want)
			a, err := w.db.Agent(w.ctx, w.ada.id, w.ada.agent)
			w.must(err)
			w.same("language in the agent", a.Sources[0].Language, want)
		}
		set("de", true, "de", true)
		set("fr", true, "de", false)
		set("de", false, "de", false)
		set("fr", false, "fr", true)
		_, err := w.db.SetSourceLanguage(w.ctx, "src_none", "de", false, w.now)
		w.wantMissing(err, "source")
	}},
	{"FollowerOfTheLogMissesNoChange", followed},
	{"DeletingAnAgentDuringImportsLeavesNothing", func(w *fixture) {
		for range 10 {
			a := w.newAgent(w.ada.id, "Short-lived")
			src := a.Sources[0].ID
			f := follower{w: w, at: w.head(), texts: map[string]string{}, sources: map[string]string{}}
			var stored atomic.Int32
			testkit.Concurrently(4, func(i int) {
				if i == 0 {
					for stored.Load() < 3 { // while the imports are running
						f.step()
					}
					if err := w.db.DeleteAgent(w.ctx, w.ada.id, a.ID); err != nil {
						w.t.Error(err)
					}
					return
				}
				for round := 0; ; round++ {
					_, _, err := w.db.PutDocuments(w.ctx, src, []source.Document{w.doc(strconv.Itoa(i),
						strconv.Itoa(round)), w.doc("shared", fmt.Sprint(i, round))})
					if err != nil {
						w.wantMissing(err, "source")
						return
					}
					stored.Add(1)
				}
			})
			f.step()
			w.same("left", f.texts, map[string]string{})
			w.same("last change", w.summary(w.head()-1), []string{"drop " + src})
		}
	}},
}

// followed imports, updates, deletes and drops documents concurrently, and follows the log like an index: from head to
// head, without going back. In the end the follower must have the documents of the database.
func followed(w *fixture) {
	const writers, rounds, batch = 4, 25, 7
	agents, sources := make([]string, writers), make([]string, writers)
	for i := range writers {
		a := w.newAgent(w.ada.id, strconv.Itoa(i))
		agents[i], sources[i] = a.ID, a.Sources[0].ID
	}
	f := follower{w: w, at: w.head(), texts: map[string]string{}, sources: map[string]string{}}
	var done atomic.Bool
	var follow sync.WaitGroup
	follow.Go(func() {
		for !done.Load() {
			f.step()
		}
	})
	testkit.Concurrently(writers, func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		for round := range rounds {
			// Every goroutine also writes into the first source, so that one source has several writers.
			src := sources[[]int{i, 0}[round%2]]
			var err error
			if random.IntN(4) == 0 {
				_, err = w.db.DeleteDocuments(w.ctx, src,
					[]string{strconv.Itoa(random.IntN(30)), strconv.Itoa(random.IntN(30))}, w.now)
			} else {
				docs := make([]source.Document, batch)
				for k := range docs {
					docs[k] = w.doc(strconv.Itoa(random.IntN(30)), fmt.Sprint(i, round, k))
				}
				_, _, err = w.db.PutDocuments(w.ctx, src, docs)
			}
			if err != nil {
				w.t.Error(err)
				return
			}
		}
		if i == writers-1 {
			if err := w.db.DeleteAgent(w.ctx, w.ada.id, agents[i]); err != nil {
				w.t.Error(err)
			}
		}
	})
	done.Store(true)
	follow.Wait()
	f.step()
	want := map[string]string{}
	for _, src := range sources {
		for _, d := range w.scan(src) {
			want[d.ID] = d.Text
		}
	}
	if len(want) == 0 || f.steps < 10 {
		w.t.Errorf("%d documents in %d steps prove nothing", len(want), f.steps)
	}
	w.same("documents of the follower", f.texts, want)
}

// follower applies the changes of the log.
type follower struct {
	w       *fixture
	at      uint64
	steps   int
	texts   map[string]string // by document id
	sources map[string]string // by document id
}

// step applies the new changes, in small batches.
func (f *follower) step() {
	head, err := f.w.db.Head(f.w.ctx)
	if err != nil {
		f.w.t.Error(err)
		return
	}
	for f.at < head {
		changes, err := f.w.db.Changes(f.w.ctx, f.at, head, 5)
		if err != nil {
			f.w.t.Error(err)
			return
		}
		f.steps++
		f.at = head
		if len(changes) == 5 {
			f.at = changes[4].Seq
		}
		for _, c := range changes {
			f.take(c)
		}
	}
}

func (f *follower) take(c search.Change) {
	switch c.Op {
	case search.Put:
		f.texts[c.ID], f.sources[c.ID] = c.Document.Text, c.Document.SourceID
	case search.Delete:
		delete(f.texts, c.ID)
	case search.Drop:
		for id, src := range f.sources {
			if src == c.ID {
				delete(f.texts, id)
			}
		}
	}
}
