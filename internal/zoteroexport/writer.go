package zoteroexport

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/format"
	"carrel/internal/source"
	"carrel/internal/zotero"
)

// writer writes the works of one request.
type writer struct {
	service *Service
	src     source.Source
	library *zotero.Library
	// since is the version up to which the documents of the source are all items of the library; 0 means none.
	since          int
	collection     string
	collectionName string
	newCollection  bool
	works          []favourite.ZoteroWork
	results        []result
	// items are the items of the library that works were found in.
	items map[string]item
}

// result is the result of a work. The zero value means that it has no item yet.
type result struct {
	key     string
	outcome Outcome
	detail  string
}

// item is an item of the library.
type item struct {
	version     int
	collections []string
}

const (
	// conflictAttempts limits the attempts to change an item that others change at the same time.
	conflictAttempts = 3
	userAgent        = "Carrel"
)

// open finds the library and checks that the key may write to it.
func (w *writer) open(ctx context.Context) error {
	s := w.service
	w.results = make([]result, len(w.works))
	set, err := w.src.SettingsOf()
	if err != nil {
		return err
	}
	key, err := s.Sources.Secret(w.src)
	if err != nil {
		return err
	}
	if key == "" {
		return errWrite("Writing needs an API key with write access. Enter one in the settings of the source.", nil)
	}
	library, rights, err := zotero.Open(zotero.Options{
		Client: s.Client, Address: set.URL, Key: key, Name: set.Library, Now: s.Clock.Now, Wait: pause,
		UserAgent: userAgent,
	}).Resolve(ctx)
	if err != nil {
		return err
	}
	if !rights.Write {
		return errWrite(
			"The key may not change this library. Allow write access at https://www.zotero.org/settings/keys.", nil,
		)
	}
	w.library = library
	state, err := s.Store.SyncState(ctx, w.src.ID)
	w.since = s.Version(state, library.Name(), set)
	return err
}

// pause waits for d or until the request ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// findCollection finds the collection by its key or name, collections at the top first, or creates it.
func (w *writer) findCollection(ctx context.Context, name string) error {
	list, err := w.library.Collections(ctx)
	if err != nil {
		return err
	}
	w.collectionName = name
	pick := func(matches func(zotero.Collection) bool) bool {
		at := slices.IndexFunc(list, matches)
		if at >= 0 {
			w.collection, w.collectionName = list[at].Key, list[at].Data.Name
		}
		return at >= 0
	}
	if pick(func(c zotero.Collection) bool { return c.Key == name }) ||
		pick(func(c zotero.Collection) bool {
			return c.ParentKey() == "" && core.Fold(c.Data.Name) == core.Fold(name)
		}) ||
		pick(func(c zotero.Collection) bool { return core.Fold(c.Data.Name) == core.Fold(name) }) {
		return nil
	}
	collection := []any{map[string]any{"name": name, "parentCollection": false}}
	written, err := w.library.Create(ctx, "collections", randomToken(), collection)
	if zotero.StatusOf(err) == http.StatusPreconditionFailed {
		// The reply to the first attempt was lost.
		if list, err = w.library.Collections(ctx); err != nil {
			return err
		}
		if pick(func(c zotero.Collection) bool { return c.Data.Name == name }) {
			w.newCollection = true
			return nil
		}
		return &zotero.Error{Status: http.StatusServiceUnavailable}
	}
	if err != nil {
		return err
	}
	if w.collection = written.Keys[0]; w.collection == "" {
		return errWrite(fmt.Sprintf("Zotero refuses the collection with status %d.", written.Failed[0]), nil)
	}
	w.newCollection = true
	return nil
}

// findItems finds the works that the library has: written before, imported from it, or with the same DOI or the same
// title, year and first author.
func (w *writer) findItems(ctx context.Context) error {
	candidates := make([][]string, len(w.works))
	before, err := w.service.Store.ZoteroItems(ctx, w.src.ID, w.library.Name())
	if err != nil {
		return err
	}
	for i, work := range w.works {
		for _, f := range work.Favourites {
			if key := before[f.CardID]; key != "" {
				candidates[i] = append(candidates[i], key)
			}
		}
		if len(work.DocumentIDs) == 0 {
			continue
		}
		docs, err := w.service.Store.DocumentsByID(ctx, []string{w.src.ID}, work.DocumentIDs)
		if err != nil {
			return err
		}
		for _, d := range docs {
			candidates[i] = append(candidates[i], d.ExternalID)
		}
	}
	if err := w.readCandidates(ctx, candidates); err != nil {
		return err
	}
	if !slices.ContainsFunc(w.results, func(r result) bool { return r.key == "" }) {
		return nil
	}
	index, err := w.index(ctx)
	if err != nil {
		return err
	}
	clear(candidates)
	for i, work := range w.works {
		if w.results[i].key == "" {
			candidates[i] = index.Find(work)
		}
	}
	return w.readCandidates(ctx, candidates)
}

// readCandidates reads items and sets the keys of the works that have one. An item in the trash counts as deleted.
func (w *writer) readCandidates(ctx context.Context, candidates [][]string) error {
	var keys []string
	for _, list := range candidates {
		for _, key := range list {
			if _, known := w.items[key]; !known && zotero.IsKey(key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if err := w.readItems(ctx, keys); err != nil {
		return err
	}
	for i, list := range candidates {
		for _, key := range list {
			if _, exists := w.items[key]; exists && w.results[i].key == "" {
				w.results[i].key = key
			}
		}
	}
	return nil
}

// readItems reads the current version and the collections of items.
func (w *writer) readItems(ctx context.Context, keys []string) error {
	for _, key := range keys {
		delete(w.items, key)
	}
	for batch := range slices.Chunk(keys, zotero.MaxObjects) {
		err := w.library.ItemsByKey(ctx, batch, func(i zotero.Item) error {
			data, err := format.ReadZoteroItem(i.Data)
			if err == nil && !data.Trashed && data.ParentItem == "" {
				w.items[i.Key] = item{version: i.Version, collections: data.Collections}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// index returns all items of the library: the documents of the source, and the items that have changed since its last
// import. Without a complete import, the whole library is listed.
func (w *writer) index(ctx context.Context) (*favourite.WorkIndex, error) {
	index := favourite.NewWorkIndex()
	add := func(key string, d source.Document) {
		index.Add(key, favourite.Indexed{Title: d.Title, Authors: d.Authors, Year: d.Year, DOI: d.DOI})
	}
	for before := ""; w.since > 0; {
		page, err := w.service.Store.ListDocuments(ctx, w.src.ID, source.DocumentFilter{}, before, core.MaxLimit)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			add(d.ExternalID, d)
			before = d.ID
		}
		if len(page) < core.MaxLimit {
			break
		}
	}
	err := w.library.TopItems(ctx, w.since, func(i zotero.Item) error {
		if data, err := format.ReadZoteroItem(i.Data); err == nil {
			add(i.Key, data.Document())
		}
		return nil
	})
	return index, err
}

// link adds the items of the library to the collection.
func (w *writer) link(ctx context.Context) error {
	var todo []string
	for i := range w.results {
		r := &w.results[i]
		switch {
		case r.key == "":
		case slices.Contains(w.items[r.key].collections, w.collection):
			r.outcome = OutcomeUnchanged
		default:
			r.outcome = OutcomeLinked
			if !slices.Contains(todo, r.key) {
				todo = append(todo, r.key)
			}
		}
	}
	failed := map[string]string{}
	for batch := range slices.Chunk(todo, zotero.MaxObjects) {
		w.linkBatch(ctx, batch, failed)
	}
	keys := map[string]string{}
	for i := range w.results {
		if detail, bad := failed[w.results[i].key]; bad {
			w.results[i] = result{outcome: OutcomeFailed, detail: detail}
		}
		for _, f := range w.works[i].Favourites {
			if w.results[i].key != "" {
				keys[f.CardID] = w.results[i].key
			}
		}
	}
	return w.service.Store.PutZoteroItems(ctx, w.src.ID, w.library.Name(), keys)
}

// linkBatch adds items to the collection. An item that somebody else changes at the same time is read again.
func (w *writer) linkBatch(ctx context.Context, keys []string, failed map[string]string) {
	for range conflictAttempts {
		objects := make([]any, len(keys))
		for i, key := range keys {
			e := w.items[key]
			objects[i] = map[string]any{
				"key": key, "version": e.version, "collections": append(slices.Clone(e.collections), w.collection),
			}
		}
		written, err := w.library.Update(ctx, objects)
		if err != nil {
			for _, key := range keys {
				failed[key] = failure(zotero.StatusOf(err))
			}
			return
		}
		var again []string
		for i, key := range keys {
			switch status := written.Failed[i]; status {
			case 0:
				delete(failed, key)
			case http.StatusPreconditionFailed:
				again = append(again, key)
				failed[key] = failure(status)
			default:
				failed[key] = failure(status)
			}
		}
		if len(again) == 0 || w.readItems(ctx, again) != nil {
			return
		}
		keys = slices.DeleteFunc(again, func(key string) bool { _, exists := w.items[key]; return !exists })
		if len(keys) == 0 {
			return
		}
	}
}

// failure describes a refused object by its status.
func failure(status int) string {
	switch status {
	case http.StatusPreconditionFailed:
		return "The item was changed or deleted in Zotero at the same time. Try again."
	case http.StatusForbidden:
		return "The key may not change this library. Allow write access at https://www.zotero.org/settings/keys."
	case http.StatusRequestEntityTooLarge:
		return "A field is too long for Zotero, or the storage of the account is full."
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "Zotero can't be reached or is busy. Try again; nothing is written twice."
	}
	return fmt.Sprintf("Zotero refuses the item with status %d.", status)
}

// create creates the items of the works that the library does not have. Works that are equal get one item.
func (w *writer) create(ctx context.Context) error {
	var todo []int
	same := map[int]int{}
	index := favourite.NewWorkIndex()
	for i, work := range w.works {
		if w.results[i].outcome != "" {
			continue
		}
		if found := index.Find(work); len(found) > 0 {
			same[i], _ = strconv.Atoi(found[0]) // the keys of this index are positions
			continue
		}
		d := documentOf(work)
		index.Add(strconv.Itoa(i), favourite.Indexed{Title: d.Title, Authors: d.Authors, Year: d.Year, DOI: d.DOI})
		todo = append(todo, i)
	}
	for batch := range slices.Chunk(todo, zotero.MaxObjects) {
		if err := w.createBatch(ctx, batch); err != nil {
			return err
		}
	}
	for i, first := range same {
		w.results[i] = w.results[first]
	}
	return nil
}

// documentOf returns a work as the document that an import of its item would be.
func documentOf(work favourite.ZoteroWork) source.Document {
	data, _ := json.Marshal(work.Data)     // has only texts and lists
	item, _ := format.ReadZoteroItem(data) // it was just encoded
	return item.Document()
}

// createBatch creates items. The token depends on the content alone, so that a request that is repeated after a lost
// reply is not executed twice; its items are found in the library.
func (w *writer) createBatch(ctx context.Context, batch []int) error {
	token := w.token(batch)
	for range conflictAttempts {
		objects := make([]any, len(batch))
		for n, i := range batch {
			data := map[string]any{"collections": []string{w.collection}}
			for name, value := range w.works[i].Data {
				data[name] = value
			}
			objects[n] = data
		}
		written, err := w.library.Create(ctx, "items", token, objects)
		if err == nil {
			return w.note(ctx, batch, written)
		}
		if zotero.StatusOf(err) != http.StatusPreconditionFailed {
			return w.fail(ctx, batch, err)
		}
		if batch, err = w.findWritten(ctx, batch); err != nil || len(batch) == 0 {
			return err
		}
		token = randomToken() // the rest was written and deleted, or never written
	}
	return w.fail(ctx, batch, &zotero.Error{Status: http.StatusPreconditionFailed})
}

// note stores the results of a create request.
func (w *writer) note(ctx context.Context, batch []int, written zotero.Written) error {
	keys := map[string]string{}
	for n, i := range batch {
		key := written.Keys[n]
		if key == "" {
			w.results[i] = result{outcome: OutcomeFailed, detail: failure(written.Failed[n])}
			continue
		}
		w.results[i] = result{key: key, outcome: OutcomeAdded}
		for _, f := range w.works[i].Favourites {
			keys[f.CardID] = key
		}
	}
	return w.service.Store.PutZoteroItems(context.WithoutCancel(ctx), w.src.ID, w.library.Name(), keys)
}

// fail sets the results of works that could not be written. A cancelled request is an error.
func (w *writer) fail(ctx context.Context, batch []int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, i := range batch {
		w.results[i] = result{outcome: OutcomeFailed, detail: failure(zotero.StatusOf(err))}
	}
	return nil
}

// findWritten finds the works of an earlier request with the same token, and returns the others.
func (w *writer) findWritten(ctx context.Context, batch []int) ([]int, error) {
	index, err := w.index(ctx)
	candidates := make([][]string, len(w.works))
	if err == nil {
		for _, i := range batch {
			candidates[i] = index.Find(w.works[i])
		}
		err = w.readCandidates(ctx, candidates)
	}
	if err != nil {
		return nil, w.fail(ctx, batch, err)
	}
	var rest []int
	keys := map[string]string{}
	for _, i := range batch {
		key := w.results[i].key
		if key == "" || !slices.Contains(w.items[key].collections, w.collection) {
			w.results[i].key = ""
			rest = append(rest, i)
			continue
		}
		w.results[i].outcome = OutcomeAdded
		for _, f := range w.works[i].Favourites {
			keys[f.CardID] = key
		}
	}
	return rest, w.service.Store.PutZoteroItems(ctx, w.src.ID, w.library.Name(), keys)
}

// token returns the write token of a batch.
func (w *writer) token(batch []int) string {
	parts := []string{w.src.ID, w.library.Name(), w.collection}
	for _, i := range batch {
		data, _ := json.Marshal(w.works[i].Data) // has only texts and lists
		parts = append(parts, string(data))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// randomToken returns a write token for a request that no other request repeats.
func randomToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
