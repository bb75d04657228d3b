package zoteroexport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/secretbox"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/testkit/zoterofake"
	"carrel/internal/zoteroexport"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// testService is a service with a user, whose agent has a Zotero source.
type testService struct {
	*zoteroexport.Service
	fixture.Users
	t          *testing.T
	db         *store.DB
	zotero     *zoterofake.Server
	favourites *favourite.Service
	sources    *source.Service
	src        source.Source
}

type noEngine struct{ source.Engine }

type noThreads struct{}

func (noThreads) CheckThread(context.Context, core.Actor, string, string) error { return nil }

func newService(t *testing.T) *testService {
	t.Helper()
	w := &testService{t: t, db: fixture.OpenStore(t), zotero: zoterofake.New(t)}
	w.Users = fixture.NewUsers(t, w.db, core.PlanOpen)
	box, err := secretbox.New(make([]byte, 32), "test")
	w.must(err)
	w.sources = source.NewService(source.Deps{
		Store: w.db, Agents: w.Agents, Engine: noEngine{}, Clock: w.Clock, Sealer: box,
	})
	w.favourites = favourite.NewService(favourite.Deps{
		Store: w.db, Agents: w.Agents, Threads: noThreads{}, Documents: w.sources, Clock: w.Clock,
	})
	w.Service = zoteroexport.NewService(zoteroexport.Deps{
		Store: w.db, Sources: w.sources, Favourites: w.favourites, Clock: w.Clock,
		Client: outbound.NewClient(outbound.Options{Private: true}), Version: importer.ZoteroVersion,
	})
	w.src, err = w.sources.Add(t.Context(), w.Ada, w.Agent, source.New{
		Name: "Library", Kind: source.KindZotero, Secret: zoterofake.Key, Settings: source.Settings{URL: w.zotero.URL},
	})
	w.must(err)
	return w
}

func (w *testService) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *testService) save(card string) {
	w.t.Helper()
	_, err := w.favourites.Save(w.t.Context(), w.Ada, w.Agent, json.RawMessage(card), "")
	w.must(err)
}

func (w *testService) write(r zoteroexport.Request) zoteroexport.Reply {
	w.t.Helper()
	reply, err := w.Write(w.t.Context(), w.Ada, w.Agent, w.src.ID, r)
	w.must(err)
	return reply
}

// outcomes returns the outcomes by card id.
func outcomes(r zoteroexport.Reply) map[string]zoteroexport.Outcome {
	out := map[string]zoteroexport.Outcome{}
	for _, f := range r.Favourites {
		out[f.CardID] = f.Outcome
	}
	return out
}

func (w *testService) same(what string, got, want any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

const codd = `{"cardId":"codd","title":"A Relational Model","authors":["Edgar F. Codd"],"year":1970,"venue":"CACM",
	"volume":13,"issue":6,"pages":"377-387","doi":"10.1145/362384.362685","url":"https://dl.acm.org/","type":"article",
	"publishedAt":"1970-06-01","abstract":"Future users."}`

func TestFavouritesBecomeItemsOfACollection(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.save(`{"cardId":"book","title":"A Book","authors":["NASA"],"type":"book","doi":"10.1000/182","year":2001,
		"publisher":"P","venue":"Series"}`)
	for i, kind := range []string{
		"conference-paper", "chapter", "report", "thesis", "dataset", "web", "preprint", "poem",
	} {
		w.save(fmt.Sprintf(`{"cardId":"%s","title":"Title %d","type":%q,"venue":"V","volume":"1","issue":"2","pages":"3",
			"publisher":"P","doi":"10.1000/x%d"}`, kind, i, kind, i))
	}
	_, err := w.favourites.Change(t.Context(), w.Ada, w.Agent, "codd", favourite.Change{
		Tags: &[]string{"databases"}, Note: new("Read it."),
	})
	w.must(err)
	reply := w.write(zoteroexport.Request{})
	w.same("collection", []any{reply.Collection, reply.Created, reply.Library}, []any{"Carrel", true, "users/475425"})
	keys := map[string]string{}
	for _, f := range reply.Favourites {
		if f.Outcome != zoteroexport.OutcomeAdded || f.AgentID != w.Agent {
			t.Errorf("%+v", f)
		}
		keys[f.CardID] = f.ItemKey
	}
	w.same("items", len(w.zotero.In(reply.CollectionKey)), 10)
	got := w.zotero.Data(keys["codd"])
	for field, want := range map[string]any{
		"itemType": "journalArticle", "title": "A Relational Model", "publicationTitle": "CACM", "volume": "13", "issue": "6",
		"pages": "377-387", "DOI": "10.1145/362384.362685", "url": "https://dl.acm.org/", "date": "1970-06-01",
		"abstractNote": "Future users.", "extra": "Read it.", "tags": []any{map[string]any{"tag": "databases"}},
		"creators": []any{map[string]any{"creatorType": "author", "firstName": "Edgar F.", "lastName": "Codd"}},
	} {
		w.same(field, got[field], want)
	}
	got = w.zotero.Data(keys["book"])
	w.same("DOI of a type without the field", got["extra"], "DOI: 10.1000/182")
	w.same("an institution", got["creators"], []any{map[string]any{"creatorType": "author", "name": "NASA"}})

	again := w.write(zoteroexport.Request{})
	w.same("created", again.Created, false)
	for card, outcome := range outcomes(again) {
		w.same(card, outcome, zoteroexport.OutcomeUnchanged)
	}
	w.same("items after a repetition", len(w.zotero.In(reply.CollectionKey)), 10)
}

func TestWorksOfTheLibraryAreNotCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.zotero.PutCollection("MINE2345", "Mine", "")
	w.zotero.Put(map[string]any{
		"key": "HAVE2345", "itemType": "journalArticle", "title": "Relational Model, A", "DOI": "10.1145/362384.362685",
		"collections": []any{"MINE2345"},
	})
	w.zotero.Put(map[string]any{
		"key": "TITL2345", "itemType": "book", "title": "On Computable Numbers!", "date": "1936",
		"creators": []any{map[string]any{"creatorType": "author", "firstName": "A. M.", "lastName": "Turing"}},
	})
	w.zotero.Put(map[string]any{"key": "GONE2345", "itemType": "book", "title": "Trashed", "date": "1999", "deleted": 1})
	w.save(codd)
	w.save(`{"cardId":"turing","title":"On computable numbers","authors":["Alan Turing"],"year":1936}`)
	w.save(`{"cardId":"trashed","title":"Trashed","year":1999}`)
	reply := w.write(zoteroexport.Request{Collection: "From Carrel"})
	w.same("outcomes", outcomes(reply), map[string]zoteroexport.Outcome{
		"codd": "linked", "turing": "linked", "trashed": "added",
	})
	w.same("collections", w.zotero.Data("HAVE2345")["collections"], []any{"MINE2345", reply.CollectionKey})

	// An item that was deleted in Zotero is created again.
	for _, f := range reply.Favourites {
		if f.CardID == "trashed" {
			w.zotero.Delete(f.ItemKey)
		}
	}
	w.same("deleted there", outcomes(w.write(zoteroexport.Request{Collection: reply.CollectionKey}))["trashed"], "added")
}

func TestOnlyTheSelectedFavouritesAreWritten(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.save(`{"cardId":"other","title":"Other"}`)
	c, err := w.favourites.CreateCollection(t.Context(), w.Ada, "Thesis")
	w.must(err)
	_, err = w.favourites.Change(t.Context(), w.Ada, w.Agent, "other", favourite.Change{Collections: &[]string{c.ID}})
	w.must(err)
	selection := favourite.ZoteroSelection{Filter: favourite.Filter{Collection: c.ID}}
	reply := w.write(zoteroexport.Request{Selection: selection})
	w.same("a collection", outcomes(reply), map[string]zoteroexport.Outcome{"other": "added"})
	reply = w.write(zoteroexport.Request{Selection: favourite.ZoteroSelection{Cards: []string{"codd", "nothing"}}})
	w.same("ids", outcomes(reply), map[string]zoteroexport.Outcome{"codd": "added", "nothing": "failed"})
}

func TestTagsAndWordsSelectFavourites(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.save(`{"cardId":"sea","title":"Harbours of the sea"}`)
	w.save(`{"cardId":"lake","title":"Harbours of the lake"}`)
	_, err := w.favourites.Change(t.Context(), w.Ada, w.Agent, "lake", favourite.Change{Tags: &[]string{"Water"}})
	w.must(err)
	for name, c := range map[string]struct {
		selection favourite.ZoteroSelection
		want      []string
	}{
		"a tag":         {favourite.ZoteroSelection{Filter: favourite.Filter{Tag: "water"}}, []string{"lake"}},
		"words":         {favourite.ZoteroSelection{Filter: favourite.Filter{Query: "harbours sea"}}, []string{"sea"}},
		"both":          {favourite.ZoteroSelection{Filter: favourite.Filter{Query: "sea", Tag: "water"}}, nil},
		"the agent":     {favourite.ZoteroSelection{AgentID: w.Agent}, []string{"codd", "lake", "sea"}},
		"another agent": {favourite.ZoteroSelection{AgentID: core.NewID(core.PrefixAgent)}, nil},
	} {
		reply := w.write(zoteroexport.Request{Selection: c.selection})
		w.same(name, slices.Sorted(maps.Keys(outcomes(reply))), c.want)
	}
	for pointer, f := range map[string]favourite.Filter{
		"/tag": {Tag: strings.Repeat("x", 101)}, "/q": {Query: strings.Repeat("x", 501)},
	} {
		_, err := w.Write(t.Context(), w.Ada, w.Agent, w.src.ID,
			zoteroexport.Request{Selection: favourite.ZoteroSelection{Filter: f}})
		var refused *core.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, err)
		}
	}
}

func TestManyFavouritesAreWrittenInBatches(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for i := range 120 {
		w.save(fmt.Sprintf(`{"cardId":"c%d","title":"Title %d","year":2001}`, i, i))
	}
	w.save(`{"cardId":"again","title":"Title 7","year":2001}`) // the same work as c7
	reply := w.write(zoteroexport.Request{})
	w.same("favourites", len(reply.Favourites), 121)
	w.same("items", len(w.zotero.In(reply.CollectionKey)), 120)
}

func TestALostReplyDoesNotWriteTwice(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.save(`{"cardId":"other","title":"Other","year":2001}`)
	w.zotero.PutCollection("CARR2345", "Carrel", "")
	// The key, the collections and the items; then the reply to the write is lost.
	w.zotero.Fail(nil, nil, nil, w.zotero.AfterWrite())
	w.same("outcomes", outcomes(w.write(zoteroexport.Request{})),
		map[string]zoteroexport.Outcome{"codd": "added", "other": "added"})
	w.same("items", len(w.zotero.In("CARR2345")), 2)
	w.same("again", outcomes(w.write(zoteroexport.Request{})),
		map[string]zoteroexport.Outcome{"codd": "unchanged", "other": "unchanged"})
}

func TestAnItemThatChangesAtTheSameTimeIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.zotero.PutCollection("CARR2345", "Carrel", "")
	w.zotero.Put(map[string]any{
		"key": "HAVE2345", "itemType": "journalArticle", "title": "X", "DOI": "10.1145/362384.362685", "collections": []any{},
	})
	// The key, the collections, the list and the item are read; then somebody changes the item.
	w.zotero.Fail(nil, nil, nil, nil, func(rw http.ResponseWriter, _ *http.Request) {
		w.zotero.Change("HAVE2345", map[string]any{"title": "Y"})
		_, _ = rw.Write([]byte(`{"successful":{},"success":{},"unchanged":{},
			"failed":{"0":{"key":"HAVE2345","code":412,"message":"Item has been modified"}}}`))
	})
	w.same("outcome", outcomes(w.write(zoteroexport.Request{})), map[string]zoteroexport.Outcome{"codd": "linked"})
	w.same("title", w.zotero.Data("HAVE2345")["title"], "Y")
	w.same("items", w.zotero.In("CARR2345"), []string{"HAVE2345"})
}

func TestRefusalsOfZoteroSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	fails := func(what, code, want string) {
		t.Helper()
		_, err := w.Write(t.Context(), w.Ada, w.Agent, w.src.ID, zoteroexport.Request{})
		if e := core.AsError(err); err == nil || e.Code != code || !strings.Contains(e.Detail, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.zotero.Allow(zoterofake.Rights{Library: true})
	fails("a key without write access", "zotero_not_writable", "Allow write access")
	w.zotero.Fail(zoterofake.Refuse(http.StatusForbidden))
	fails("a wrong key", "zotero_not_writable", "not valid")
	w.zotero.Fail(zoterofake.Refuse(http.StatusTooManyRequests, "Retry-After", "3600"))
	fails("a busy server", "unavailable", "Try again")
	w.zotero.Allow(zoterofake.Rights{Library: true, Write: true})
	// The first of two favourites is refused.
	w.save(`{"cardId":"other","title":"Other","year":2001}`)
	w.zotero.PutCollection("CARR2345", "Carrel", "")
	w.zotero.Fail(nil, nil, nil, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`{"successful":{"1":{"key":"NEWW2345","version":1,"data":{}}},"success":{"1":"NEWW2345"},
			"unchanged":[],"failed":{"0":{"key":"","code":413,"message":"Too long"}}}`))
	})
	got := w.write(zoteroexport.Request{})
	w.same("results", len(got.Favourites), 2)
	if a, b := got.Favourites[0], got.Favourites[1]; a.Outcome != "failed" || a.Detail == "" || b.ItemKey != "NEWW2345" {
		t.Errorf("%+v %+v", a, b)
	}

	upload, err := w.sources.Default(t.Context(), w.Ada, w.Agent)
	w.must(err)
	_, err = w.Write(t.Context(), w.Ada, w.Agent, upload.ID, zoteroexport.Request{})
	w.same("another kind", core.IsKind(err, core.KindConflict), true)
	_, err = w.Write(t.Context(), w.Bob, w.Agent, w.src.ID, zoteroexport.Request{})
	w.same("another user", core.IsKind(err, core.KindNotFound), true)
	_, err = w.Write(t.Context(), w.Ada, w.Agent, w.src.ID, zoteroexport.Request{Collection: strings.Repeat("x", 256)})
	w.same("a long name", core.IsKind(err, core.KindInvalid), true)
}

func TestOnlyChangesSinceTheLastImportAreListed(t *testing.T) {
	t.Parallel()
	w := newService(t)
	w.save(codd)
	w.zotero.Put(map[string]any{
		"key": "HAVE2345", "itemType": "book", "title": "X", "extra": "DOI: 10.1145/362384.362685",
	})
	docs := func(yield func(source.Document, error) bool) {
		yield(source.Document{ExternalID: "HAVE2345", Title: "X", DOI: "10.1145/362384.362685"}, nil)
	}
	_, err := w.sources.AddDocuments(t.Context(), w.src, docs, nil)
	w.must(err)
	w.must(w.db.SetSyncState(t.Context(), w.src.ID, `{"scope":"s","library":"users/475425","version":101}`))
	w.same("outcome", outcomes(w.write(zoteroexport.Request{})), map[string]zoteroexport.Outcome{"codd": "linked"})
	for _, asked := range w.zotero.Asked() {
		if strings.Contains(asked, "/items/top") && !strings.Contains(asked, "since=101") {
			t.Errorf("the whole library was listed: %s", asked)
		}
	}
}
