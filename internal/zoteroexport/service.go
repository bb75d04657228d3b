// Package zoteroexport writes favourites to collections of Zotero libraries. A work that the library has is added to
// the collection and never created again.
package zoteroexport

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/source"
	"carrel/internal/zotero"
)

// Outcome is the result of writing a favourite.
type Outcome string

// The outcomes. A linked favourite was in the library and is now in the collection.
const (
	OutcomeAdded     Outcome = "added"
	OutcomeLinked    Outcome = "linked"
	OutcomeUnchanged Outcome = "unchanged"
	OutcomeFailed    Outcome = "failed"
)

// Request says which favourites are written where.
type Request struct {
	// Collection is the name or the key of a collection of the library; empty means DefaultCollection.
	Collection string
	Selection  favourite.ZoteroSelection
}

// DefaultCollection is the name of the collection for requests that name none.
const DefaultCollection = "Carrel"

// Limits of a request.
const (
	maxCards      = 500
	maxFavourites = 2000
)

// Reply is the result of a request.
type Reply struct {
	Library       string
	CollectionKey string
	Collection    string
	// Created is set if the collection is new.
	Created    bool
	Favourites []Written
}

// Written is the result of one favourite.
type Written struct {
	AgentID, CardID string
	// ItemKey is the key of the item in the library; empty if it failed.
	ItemKey string
	Outcome Outcome
	// Detail is the reason of a failure.
	Detail string
}

// Store remembers the items that were written, and has the documents and the state of sources.
type Store interface {
	// ZoteroItems returns the keys of the items that were written to a library, by card id.
	ZoteroItems(ctx context.Context, sourceID, library string) (map[string]string, error)
	PutZoteroItems(ctx context.Context, sourceID, library string, keys map[string]string) error
	// SyncState returns the state of the last complete import.
	SyncState(ctx context.Context, sourceID string) (string, error)
	// DocumentsByID returns the documents with these ids in the sources.
	DocumentsByID(ctx context.Context, sources, ids []string) ([]source.Document, error)
	// ListDocuments returns up to n documents of a source, newest first, starting after the document with the id before.
	ListDocuments(
		ctx context.Context, sourceID string, f source.DocumentFilter, before string, n int,
	) ([]source.Document, error)
}

// Sources authorizes requests and has the keys of libraries.
type Sources interface {
	For(ctx context.Context, actor core.Actor, op core.Operation, agentID, sourceID string) (source.Source, error)
	Secret(src source.Source) (string, error)
}

// Favourites returns the works to write.
type Favourites interface {
	ZoteroWorks(ctx context.Context, actor core.Actor, s favourite.ZoteroSelection) ([]favourite.ZoteroWork, error)
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store      Store
	Sources    Sources
	Favourites Favourites
	Client     *http.Client
	Clock      core.Clock
	// Version returns the version up to which a source contains all items of a library, from the state of the source.
	Version func(state, library string, set source.Settings) int
}

// Service writes favourites to Zotero libraries.
type Service struct {
	Deps
	// locks has a chan struct{} of size 1 for each source, so that two requests do not create the same work. Nodes are
	// protected from each other by the write tokens.
	locks sync.Map
}

// NewService returns a Service. It panics when a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{Deps: d}
}

var (
	collectionRule = core.TextRule{Max: 255}
	tagRule        = core.TextRule{Max: 100}
	queryRule      = core.TextRule{Max: 500}
)

func (r *Request) check() error {
	var bad []core.FieldError
	if r.Collection = strings.TrimSpace(r.Collection); r.Collection == "" {
		r.Collection = DefaultCollection
	}
	if detail := collectionRule.Check(r.Collection); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/collection", Detail: detail})
	}
	if detail := tagRule.Check(r.Selection.Tag); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/tag", Detail: detail})
	}
	if detail := queryRule.Check(r.Selection.Query); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/q", Detail: detail})
	}
	if id := r.Selection.Collection; id != "" && !core.IsID(core.PrefixCollection, id) {
		bad = append(bad, core.FieldError{Pointer: "/collectionId", Detail: "Must be the id of a collection."})
	}
	if len(r.Selection.Cards) > maxCards {
		bad = append(bad, core.FieldError{Pointer: "/cardIds", Detail: "Must have at most 500 ids."})
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Write writes favourites to a collection of the library of a source. Repeating a request changes nothing.
func (s *Service) Write(
	ctx context.Context, actor core.Actor, agentID, sourceID string, r Request,
) (Reply, error) {
	src, err := s.Sources.For(ctx, actor, core.OpWriteFavouritesToZotero, agentID, sourceID)
	if err != nil {
		return Reply{}, err
	}
	if err := r.check(); err != nil {
		return Reply{}, err
	}
	if src.Kind != source.KindZotero {
		return Reply{}, core.Conflict("conflict", "This source is no Zotero library. Choose a source of kind zotero.")
	}
	works, err := s.Favourites.ZoteroWorks(ctx, actor, r.Selection)
	if err != nil {
		return Reply{}, err
	}
	if len(works) > maxFavourites {
		return Reply{}, core.Conflict(
			"conflict", "At most 2000 favourites are written at once. Select some with collectionId, tag, q or cardIds.",
		)
	}
	unlock, err := s.lock(ctx, src.ID)
	if err != nil {
		return Reply{}, err
	}
	defer unlock()
	w := &writer{service: s, src: src, works: works, items: map[string]item{}}
	if err := w.open(ctx); err != nil {
		return Reply{}, readError(ctx, err)
	}
	if err := w.findCollection(ctx, r.Collection); err != nil {
		return Reply{}, readError(ctx, err)
	}
	if err := w.findItems(ctx); err != nil {
		return Reply{}, readError(ctx, err)
	}
	if err := w.link(ctx); err != nil {
		return Reply{}, err
	}
	if err := w.create(ctx); err != nil {
		return Reply{}, err
	}
	return w.reply(r.Selection.Cards), nil
}

// lock waits until no other request writes to the library of the source.
func (s *Service) lock(ctx context.Context, sourceID string) (unlock func(), err error) {
	value, _ := s.locks.LoadOrStore(sourceID, make(chan struct{}, 1))
	taken := value.(chan struct{})
	select {
	case taken <- struct{}{}:
		return func() { <-taken }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readError describes why nothing could be written, without quoting the server.
func readError(ctx context.Context, err error) error {
	var told *core.Error
	status := zotero.StatusOf(err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &told):
		return err
	case errors.Is(err, source.ErrSecretUnreadable):
		return errWrite("The key can't be used with this address. Enter it again in the settings of the source.", err)
	case errors.Is(err, zotero.ErrNoUser):
		return errWrite("The server does not say whose key this is. Set the library in the settings of the source.", err)
	case status == http.StatusForbidden:
		return errWrite("The key is not valid, or it may not change this library. Allow write access at "+
			"https://www.zotero.org/settings/keys.", err)
	case status == http.StatusNotFound:
		return errWrite("There is no such library. Check the settings of the source.", err)
	case status != 0 || errors.Is(err, zotero.ErrUnreadable), errors.Is(err, zotero.ErrMoving):
		return (&core.Error{
			Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Minute,
			Detail: "Zotero can't be reached or is busy. Try again; nothing is written twice.",
		}).Because(err)
	}
	return err
}

func errWrite(detail string, cause error) error {
	return core.Conflict("zotero_not_writable", detail).Because(cause)
}

// reply returns the results in the order of the favourites, and a failure for each requested card without a favourite.
func (w *writer) reply(requested []string) Reply {
	out := Reply{
		Library: w.library.Name(), CollectionKey: w.collection, Collection: w.collectionName, Created: w.newCollection,
		Favourites: []Written{},
	}
	for i, work := range w.works {
		for _, f := range work.Favourites {
			out.Favourites = append(out.Favourites, Written{
				AgentID: f.AgentID, CardID: f.CardID, ItemKey: w.results[i].key, Outcome: w.results[i].outcome,
				Detail: w.results[i].detail,
			})
		}
	}
	for _, id := range requested {
		if !slices.ContainsFunc(out.Favourites, func(f Written) bool { return f.CardID == id }) {
			out.Favourites = append(out.Favourites, Written{
				CardID: id, Outcome: OutcomeFailed, Detail: "There is no favourite with this card.",
			})
		}
	}
	return out
}
