package storetest

import (
	"slices"
	"strconv"

	"carrel/internal/core"
	"carrel/internal/source"
)

// newSource is a source as the service makes it.
func (w *world) newSource(agentID, name string, isDefault bool) source.Source {
	return source.Source{
		ID: core.NewID(core.PrefixSource), AgentID: agentID, Name: name, Kind: "upload", Default: isDefault,
		Status: "ready", CreatedAt: w.now, UpdatedAt: w.now,
	}
}

// defaults returns the ids of the agent's default sources.
func (w *world) defaults(p person) (ids []string) {
	w.t.Helper()
	sources, err := w.db.Sources(w.ctx, p.id, p.agent)
	w.must(err)
	for _, s := range sources {
		if s.Default {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

var sourceTests = []test{
	{"SourcesAreListedOldestFirst", func(w *world) {
		more := w.newSource(w.ada.agent, "More", false)
		more.Language = "de"
		w.must(w.db.InsertSource(w.ctx, w.ada.id, more))
		got, err := w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("number", len(got), 2)
		w.same("first", got[0].ID, w.ada.source)
		w.same("second", got[1], more)
		w.same("default", w.defaults(w.ada), []string{w.ada.source})
	}},
	{"ANewDefaultTakesThePlaceOfTheOld", func(w *world) {
		other := w.newSource(w.ada.agent, "New default", true)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		w.same("default", w.defaults(w.ada), []string{other.ID})
		later := w.newSource(w.ada.agent, "Later default", true)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, later))
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other)) // sent again: as it is
		w.same("default", w.defaults(w.ada), []string{later.ID})
		a, err := w.db.Agent(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("default of the agent", a.DefaultSource(), later.ID)
	}},
	{"SourcesAreTheUsersAlone", func(w *world) {
		_, err := w.db.Sources(w.ctx, w.bert.id, w.ada.agent)
		w.wantMissing(err, "agent")
		w.wantMissing(w.db.InsertSource(w.ctx, w.bert.id, w.newSource(w.ada.agent, "Theirs", true)), "agent")
		stolen := w.newSource(w.bert.agent, "Same id", true)
		stolen.ID = w.ada.source
		w.wantMissing(w.db.InsertSource(w.ctx, w.bert.id, stolen), "source")
		w.same("default", w.defaults(w.ada), []string{w.ada.source})
		w.same("default", w.defaults(w.bert), []string{w.bert.source})
	}},
	{"ASourceIsChanged", func(w *world) {
		next := w.after(60_000)
		s := w.newSource(w.ada.agent, "Feed", false)
		s.Kind, s.Settings, s.Sealed, s.NextSyncAt = "feed", `{"url":"https://a"}`, []byte{1, 2}, &next
		w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
		got, err := w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("as it was made", got[1], s)
		s.Name, s.Settings, s.Sealed, s.NextSyncAt, s.UpdatedAt = "Renamed", "", nil, nil, w.after(5)
		w.must(w.db.UpdateSource(w.ctx, s))
		got, err = w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("as it was changed", got[1], s)
		s.AgentID = w.bert.agent
		w.wantMissing(w.db.UpdateSource(w.ctx, s), "source")
	}},
	{"ASecretIsReplacedUnlessItsSourceChangedMeanwhile", func(w *world) {
		s := w.newSource(w.ada.agent, "Wiki", false)
		s.Kind, s.Settings, s.Sealed = "mcp", `{"url":"https://a"}`, []byte{1, 2}
		w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
		sealed, err := w.db.SealedSources(w.ctx)
		w.must(err)
		w.same("sources with a secret", sealed, []source.Source{s})
		w.must(w.db.ReplaceSecret(w.ctx, s, []byte{3}))
		for _, stale := range []func(*source.Source){
			func(*source.Source) {}, // of the secret that was replaced
			func(s *source.Source) { s.Sealed, s.Settings = []byte{3}, "" },
		} {
			before := s
			stale(&before)
			w.must(w.db.ReplaceSecret(w.ctx, before, []byte{4}))
		}
		s.Sealed = []byte{3}
		sealed, err = w.db.SealedSources(w.ctx)
		w.must(err)
		w.same("sources with a secret", sealed, []source.Source{s})
	}},
	{"ADefaultGoesOnlyWhenAnotherTakesItsPlace", func(w *world) {
		other := w.newSource(w.ada.agent, "Other", false)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		w.put(w.ada.source, 1, 0, w.doc("x", "one"))
		w.wantKind(w.db.DeleteSource(w.ctx, w.ada.agent, w.ada.source, ""), core.KindConflict, "")
		w.wantMissing(w.db.DeleteSource(w.ctx, w.ada.agent, w.ada.source, w.bert.source), "source")
		w.wantMissing(w.db.DeleteSource(w.ctx, w.bert.agent, w.ada.source, w.bert.source), "source")
		w.same("default", w.defaults(w.ada), []string{w.ada.source})
		w.same("documents", len(w.scan(w.ada.source)), 1)
		w.must(w.db.DeleteSource(w.ctx, w.ada.agent, w.ada.source, other.ID))
		w.same("default", w.defaults(w.ada), []string{other.ID})
		w.same("documents", len(w.scan(w.ada.source)), 0)
		w.wantMissing(w.db.DeleteSource(w.ctx, w.ada.agent, w.ada.source, other.ID), "source")
	}},
	{"ThereIsOneDefaultHoweverManyAreAddedAtOnce", func(w *world) {
		const writers = 16
		stop := make(chan struct{})
		watched := make(chan int)
		go func() {
			bad := 0
			for {
				select {
				case <-stop:
					watched <- bad
					return
				default:
					if len(w.defaults(w.ada)) != 1 {
						bad++
					}
				}
			}
		}()
		together(writers, func(i int) {
			if err := w.db.InsertSource(w.ctx, w.ada.id, w.newSource(w.ada.agent, strconv.Itoa(i), true)); err != nil {
				w.t.Error(err)
			}
		})
		close(stop)
		w.same("times that there was not one default", <-watched, 0)
		sources, err := w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("sources", len(sources), writers+1)
	}},
}

// doc is a document as an import makes it.
func (w *world) doc(externalID, text string) source.Document {
	return source.Document{
		ID: core.NewID(core.PrefixDocument), ExternalID: externalID, Title: "On " + externalID, Text: text, Hash: []byte(text),
		CreatedAt: w.now, UpdatedAt: w.now,
	}
}

func (w *world) put(sourceID string, added, updated int, docs ...source.Document) {
	w.t.Helper()
	a, u, err := w.db.PutDocuments(w.ctx, sourceID, docs)
	w.must(err)
	w.same("added and updated", [2]int{a, u}, [2]int{added, updated})
}

func (w *world) scan(sourceID string) []source.Document {
	w.t.Helper()
	docs := []source.Document{}
	for d, err := range w.db.ScanDocuments(w.ctx, sourceID) {
		w.must(err)
		docs = append(docs, d)
	}
	return docs
}

// documents is the count that the source's record tells.
func (w *world) documents(p person) int {
	w.t.Helper()
	sources, err := w.db.Sources(w.ctx, p.id, p.agent)
	w.must(err)
	return sources[0].Documents
}

var documentTests = []test{
	{"ADocumentComesBackAsItWas", func(w *world) {
		full := w.doc("full", "text")
		full.Authors, full.Year, full.URL, full.DOI, full.Venue, full.Type = []string{"Ada", "Grace \"H\""}, 1936, "https://a", "10.1/a", "J", "article"
		full.PublishedAt, full.CitationCount, full.OpenAccessURL = "1936-05-28", new(int), "https://a/free"
		bare := w.doc("bare", "")
		bare.Hash = []byte{0, 1}
		w.put(w.ada.source, 2, 0, full, bare)
		full.SourceID, bare.SourceID = w.ada.source, w.ada.source
		w.same("scanned", w.scan(w.ada.source), []source.Document{full, bare})
		got, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{full.ID})
		w.must(err)
		w.same("by id", got, []source.Document{full})
	}},
	{"AChangedDocumentKeepsItsId", func(w *world) {
		first := w.doc("x", "one")
		w.put(w.ada.source, 1, 0, first)
		again := w.doc("x", "one")
		again.Title = "not looked at: the hash is the same"
		w.put(w.ada.source, 0, 0, again)
		w.same("count", w.documents(w.ada), 1)
		second := w.doc("x", "two")
		cited := 3
		second.Year, second.UpdatedAt = 1999, w.after(7)
		second.PublishedAt, second.CitationCount, second.OpenAccessURL = "1999-12-31", &cited, "https://b/free"
		w.put(w.ada.source, 1, 1, second, w.doc("y", "one"))
		w.same("count", w.documents(w.ada), 2)
		got := w.scan(w.ada.source)[0]
		second.ID, second.SourceID, second.CreatedAt = first.ID, w.ada.source, first.CreatedAt
		w.same("updated", got, second)
	}},
	{"TheSameDocumentTwiceInABatchIsOne", func(w *world) {
		w.put(w.ada.source, 1, 1, w.doc("x", "one"), w.doc("x", "two"))
		w.same("count", w.documents(w.ada), 1)
		w.same("text", w.scan(w.ada.source)[0].Text, "two")
	}},
	{"ABatchIsStoredWholeOrNotAtAll", func(w *world) {
		bad := w.doc("bad", "x")
		bad.ID = "doc_taken"
		w.put(w.bert.source, 1, 0, bad)
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.doc("good", "x"), bad})
		w.wantKind(err, core.KindConflict, "")
		w.same("stored", w.scan(w.ada.source), []source.Document{})
		w.same("count", w.documents(w.ada), 0)
	}},
	{"AMissingSourceIsNotFound", func(w *world) {
		_, _, err := w.db.PutDocuments(w.ctx, "src_none", []source.Document{w.doc("x", "x")})
		w.wantMissing(err, "source")
		w.same("scanned", w.scan("src_none"), []source.Document{})
	}},
	{"DocumentsBelongToTheirSource", func(w *world) {
		mine, theirs := w.doc("x", "mine"), w.doc("x", "theirs")
		w.put(w.ada.source, 1, 0, mine)
		w.put(w.bert.source, 1, 0, theirs)
		got, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{mine.ID, theirs.ID, "doc_none"})
		w.must(err)
		w.same("number", len(got), 1)
		w.same("id", got[0].ID, mine.ID)
		got, err = w.db.DocumentsByID(w.ctx, []string{w.ada.source}, nil)
		w.must(err)
		w.same("none asked for", got, []source.Document{})
	}},
	{"AScanWalksInOrderAndCanBeLeft", func(w *world) {
		const n = 150 // more than two of the pages it reads
		docs := make([]source.Document, n)
		for i := range docs {
			docs[i] = w.doc(strconv.Itoa(i), "text")
		}
		w.put(w.ada.source, n, 0, docs...)
		w.same("count", w.documents(w.ada), n)
		var ids []string
		for _, d := range w.scan(w.ada.source) {
			ids = append(ids, d.ID)
		}
		if len(ids) != n || !slices.IsSorted(ids) {
			w.t.Errorf("%d ids, sorted %v", len(ids), slices.IsSorted(ids))
		}
		// Many that are left half way, each with other reads and a write inside: none may starve the others.
		together(12, func(int) {
			seen := 0
			for d, err := range w.db.ScanDocuments(w.ctx, w.ada.source) {
				if err != nil {
					w.t.Error(err)
				}
				if _, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{d.ID}); err != nil {
					w.t.Error(err)
				}
				if seen++; seen == 70 {
					break
				}
			}
			if _, _, err := w.db.PutDocuments(w.ctx, w.ada.source, docs[:1]); err != nil {
				w.t.Error(err)
			}
		})
	}},
	{"ParallelImportsCountRight", func(w *world) {
		const n = 20
		together(4, func(i int) {
			docs := make([]source.Document, n)
			for k := range docs {
				docs[k] = w.doc(strconv.Itoa((k+i*n/2)%(2*n)), "text") // overlapping halves, in different order
			}
			if _, _, err := w.db.PutDocuments(w.ctx, w.ada.source, docs); err != nil {
				w.t.Error(err)
			}
		})
		w.same("count", w.documents(w.ada), 2*n)
		w.same("rows", len(w.scan(w.ada.source)), 2*n)
	}},
}
