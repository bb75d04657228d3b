package store_test

import (
	"strconv"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// newSource returns an unsaved source.
func (w *fixture) newSource(agentID, name string, isDefault bool) source.Source {
	return source.Source{
		ID: core.NewID(core.PrefixSource), AgentID: agentID, Name: name, Kind: "upload", Default: isDefault,
		Status: "ready", CreatedAt: w.now, UpdatedAt: w.now,
	}
}

// defaults returns the ids of the agent's default sources.
func (w *fixture) defaults(p person) (ids []string) {
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
	{"SourcesAreListedOldestFirst", func(w *fixture) {
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
	{"NewDefaultReplacesTheOld", func(w *fixture) {
		other := w.newSource(w.ada.agent, "New default", true)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other))
		w.same("default", w.defaults(w.ada), []string{other.ID})
		later := w.newSource(w.ada.agent, "Later default", true)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, later))
		w.must(w.db.InsertSource(w.ctx, w.ada.id, other)) // repeated: unchanged
		w.same("default", w.defaults(w.ada), []string{later.ID})
		a, err := w.db.Agent(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("default of the agent", a.DefaultSource(), later.ID)
	}},
	{"SourcesAreHiddenFromOtherUsers", func(w *fixture) {
		_, err := w.db.Sources(w.ctx, w.bert.id, w.ada.agent)
		w.wantMissing(err, "agent")
		w.wantMissing(w.db.InsertSource(w.ctx, w.bert.id, w.newSource(w.ada.agent, "Theirs", true)), "agent")
		stolen := w.newSource(w.bert.agent, "Same id", true)
		stolen.ID = w.ada.source
		w.wantMissing(w.db.InsertSource(w.ctx, w.bert.id, stolen), "source")
		w.same("default", w.defaults(w.ada), []string{w.ada.source})
		w.same("default", w.defaults(w.bert), []string{w.bert.source})
	}},
	{"ASourceIsChanged", func(w *fixture) {
		next := w.after(60_000)
		s := w.newSource(w.ada.agent, "Feed", false)
		s.Kind, s.Settings, s.Sealed, s.NextSyncAt = "feed", `{"url":"https://a"}`, []byte{1, 2}, &next
		w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
		got, err := w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("after the insert", got[1], s)
		s.Name, s.Settings, s.Sealed, s.NextSyncAt, s.UpdatedAt = "Renamed", "", nil, nil, w.after(5)
		w.must(w.db.UpdateSource(w.ctx, s))
		got, err = w.db.Sources(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("after the change", got[1], s)
		s.AgentID = w.bert.agent
		w.wantMissing(w.db.UpdateSource(w.ctx, s), "source")
	}},
	{"SecretIsReplacedUnlessTheSourceChanged", func(w *fixture) {
		s := w.newSource(w.ada.agent, "Wiki", false)
		s.Kind, s.Settings, s.Sealed = "mcp", `{"url":"https://a"}`, []byte{1, 2}
		w.must(w.db.InsertSource(w.ctx, w.ada.id, s))
		sealed, err := w.db.SealedSources(w.ctx)
		w.must(err)
		w.same("sources with a secret", sealed, []source.Source{s})
		w.must(w.db.ReplaceSecret(w.ctx, s, []byte{3}))
		for _, stale := range []func(*source.Source){
			func(*source.Source) {}, // the previous secret
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
	{"DefaultSourceIsDeletedOnlyWithASuccessor", func(w *fixture) {
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
	{"ConcurrentInsertsLeaveOneDefault", func(w *fixture) {
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
		testkit.Concurrently(writers, func(i int) {
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
