package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/zotero"
)

// zoteroQueue holds the top-level items of a Zotero library that are new or changed. A file of the source is an item
// with its notes, attachments and annotations. Its version lists them with their versions, so that a change of a note
// leads to its item.
type zoteroQueue struct {
	syncQueue
	library *zotero.Library
	items   *zoteroItems
	// known are the stored files of the source, owners the top-level items of all other items in their versions.
	known  map[string]File
	owners map[string]string
	work   []zoteroWork
	// state is stored after the last item; nil if only some documents are read again.
	state *zoteroState
	// collections are the names of the collections by key, wanted the keys of those that are imported; nil means all.
	collections map[string]string
	wanted      map[string]bool
	// local is set for an address on this machine, whose replies may name files of it.
	local bool
	// readsFiles is set if the key may read files.
	readsFiles bool
	// filesRefused counts the attachments that the key may not read.
	filesRefused int
	dir          string
}

// zoteroWork is an item to import, with its version.
type zoteroWork struct{ key, version string }

// zoteroState is the state of the last complete import. Another scope makes its version meaningless.
type zoteroState struct {
	Scope   string `json:"scope"`
	Library string `json:"library"`
	Version int    `json:"version"`
}

// ZoteroVersion returns the version of a library up to which a source contains all its items, from the state of the
// source; 0 means none.
func ZoteroVersion(state, library string, set source.Settings) int {
	var s zoteroState
	if json.Unmarshal([]byte(state), &s) != nil || s.Library != library || set.Collection != "" {
		return 0
	}
	return s.Version
}

// newZoteroQueue compares a library with the stored files. With only, it reads these items again.
func (s *Service) newZoteroQueue(
	ctx context.Context, src source.Source, set source.Settings, only []string,
) (_ fileQueue, err error) {
	secret, err := s.sources.Secret(src)
	if errors.Is(err, source.ErrSecretUnreadable) {
		return nil, errZotero("The key can't be used with this address. Enter it again in the settings of the source.").
			Because(err)
	}
	if err != nil {
		return nil, err
	}
	q := &zoteroQueue{
		syncQueue: syncQueue{service: s, src: src}, owners: map[string]string{},
		local: source.IsLoopback(set.URL),
		library: zotero.Open(zotero.Options{
			Client: s.options.Client, Address: set.URL, Key: secret, Name: set.Library,
			Now: s.clock.Now, Wait: pause, UserAgent: userAgent,
		}),
	}
	if q.dir, err = os.MkdirTemp(s.options.Scratch, "carrel-zotero-"); err != nil {
		return nil, fmt.Errorf("create a folder for attachments: %w", err)
	}
	q.cleanup = func() {
		q.items.close()
		_ = os.RemoveAll(q.dir) // the system cleans its temporary folder
	}
	if q.items, err = newZoteroItems(q.dir); err == nil {
		err = q.prepare(ctx, set, only)
	}
	if err != nil {
		q.close()
		return nil, zoteroError(ctx, err, secret != "")
	}
	return q, nil
}

// prepare finds the library and fills the queue.
func (q *zoteroQueue) prepare(ctx context.Context, set source.Settings, only []string) error {
	library, rights, err := q.library.Resolve(ctx)
	if err != nil {
		return err
	}
	q.library, q.readsFiles = library, rights.Files
	if err := q.readCollections(ctx, set.Collection); err != nil {
		return err
	}
	if q.known, err = q.service.filesByName(ctx, q.src.ID); err != nil {
		return err
	}
	for name, f := range q.known {
		for _, key := range zoteroKeys(f.Version) {
			if key != name {
				q.owners[key] = name
			}
		}
	}
	if len(only) > 0 {
		return q.readAgain(ctx, only)
	}
	stored, err := q.service.store.SyncState(ctx, q.src.ID)
	if err != nil {
		return err
	}
	var before zoteroState
	_ = json.Unmarshal([]byte(stored), &before) // an unreadable state means a full pass
	q.state = &zoteroState{Scope: q.scope(set), Library: q.library.Name()}
	if before.Scope == q.state.Scope && before.Version > 0 && q.library.Name() != zotero.LocalLibrary {
		done, err := q.readChanges(ctx, before.Version)
		if done || err != nil {
			return err
		}
	}
	return q.readAll(ctx)
}

// readCollections reads the names of all collections and finds the one to import, by its key or name, with the
// collections below it.
func (q *zoteroQueue) readCollections(ctx context.Context, wanted string) error {
	list, err := q.library.Collections(ctx)
	if err != nil {
		return err
	}
	q.collections = make(map[string]string, len(list))
	below := map[string][]string{}
	var found []string
	for _, c := range list {
		q.collections[c.Key] = cleanLine(c.Data.Name)
		below[c.ParentKey()] = append(below[c.ParentKey()], c.Key)
		if c.Key == wanted || core.Fold(c.Data.Name) == core.Fold(wanted) {
			found = append(found, c.Key)
		}
	}
	switch {
	case wanted == "":
		return nil
	case len(found) == 0:
		return errZotero("The library has no such collection. Check settings.collection. The documents are kept.")
	case len(found) > 1 && !slices.Contains(found, wanted):
		return errZotero("Several collections have this name. Set settings.collection to the key of the collection, " +
			"which is the last part of its address on zotero.org.")
	case slices.Contains(found, wanted):
		found = []string{wanted}
	}
	q.wanted = map[string]bool{}
	for len(found) > 0 {
		key := found[0]
		found = found[1:]
		if !q.wanted[key] {
			q.wanted[key] = true
			found = append(found, below[key]...)
		}
	}
	return nil
}

// scope names everything beside the version that the selection of items and their documents depend on. A renamed
// collection changes the tags of its items, whose versions stay the same.
func (q *zoteroQueue) scope(set source.Settings) string {
	names := make([]string, 0, len(q.collections))
	for key, name := range q.collections {
		names = append(names, fmt.Sprint(key, " ", name, " ", q.wanted[key]))
	}
	slices.Sort(names)
	return hashText(append(names, set.URL, q.library.Name(), set.Collection, strconv.FormatBool(q.readsFiles))...)
}

// hashText returns a short hash of texts.
func hashText(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// readAll lists the whole library. Files without an item are missing.
func (q *zoteroQueue) readAll(ctx context.Context) error {
	listing, err := q.library.Items(ctx, 0, q.items.reset, q.items.put)
	if err != nil {
		return err
	}
	q.work, q.missing, q.state.Version = nil, nil, listing.Version
	q.items.index()
	for key, f := range q.known {
		if !q.selects(key) {
			q.missing = append(q.missing, f)
		}
	}
	q.compareItems(q.items.tops())
	return nil
}

// readChanges lists the items that have changed since a version, and the rest of the items that they belong to. It
// returns false if a full pass is needed: the server has lost the version, has no log of deletions, or the changes are
// so many that listing everything takes fewer requests.
func (q *zoteroQueue) readChanges(ctx context.Context, since int) (bool, error) {
	listing, err := q.library.Items(ctx, since, q.items.reset, q.items.put)
	switch {
	case err != nil:
		return false, err
	case listing.Version < since:
		return false, nil
	}
	q.state.Version = listing.Version
	var deleted []string
	if !listing.Unchanged {
		if deleted, err = q.library.Deleted(ctx, since); lacksEndpoint(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	touched, complete := q.touched(deleted)
	if !complete || len(touched) > max(20, len(q.known)/50) {
		return false, nil
	}
	if complete, err = q.readRest(ctx, touched, deleted); !complete || err != nil {
		return false, err
	}
	q.items.index()
	for _, key := range touched {
		if f, is := q.known[key]; is && !q.selects(key) {
			q.missing = append(q.missing, f)
		}
	}
	q.compareItems(touched)
	return true, nil
}

// lacksEndpoint reports whether an error means that the server does not have an operation, as the local API.
func lacksEndpoint(err error) bool {
	switch zotero.StatusOf(err) {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// touched returns the top-level items that the listed changes and deletions concern, and those whose last import was
// incomplete. It returns false if one can't be found.
func (q *zoteroQueue) touched(deleted []string) ([]string, bool) {
	set := map[string]bool{}
	for key := range q.items.byKey {
		top := q.topOf(key)
		if top == "" {
			return nil, false
		}
		set[top] = true
		if before := q.owners[key]; before != "" {
			set[before] = true // the item may have moved
		}
		if _, is := q.known[key]; is {
			set[key] = true // the item may have got a parent
		}
	}
	for _, key := range deleted {
		if top := q.owners[key]; top != "" {
			set[top] = true
		}
		if _, is := q.known[key]; is {
			set[key] = true
		}
	}
	for key, f := range q.known {
		if f.Version == "" || strings.HasPrefix(f.Version, retryPrefix) {
			set[key] = true
		}
	}
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, true
}

// topOf returns the top-level item that an item belongs to, or "".
func (q *zoteroQueue) topOf(key string) string {
	for range maxItemDepth {
		e, listed := q.items.byKey[key]
		switch {
		case listed && e.parent == "":
			return key
		case listed:
			key = e.parent
		case q.owners[key] != "":
			return q.owners[key]
		default:
			if _, is := q.known[key]; is {
				return key
			}
			return ""
		}
	}
	return ""
}

// readRest reads the unchanged items that belong to the touched ones. It returns false if they are not known: an import
// was interrupted, or a touched item is missing without having been deleted.
func (q *zoteroQueue) readRest(ctx context.Context, touched, deleted []string) (bool, error) {
	gone := map[string]bool{}
	for _, key := range deleted {
		gone[key] = true
	}
	var rest []string
	for _, top := range touched {
		if f, is := q.known[top]; is && f.Version == "" {
			return false, nil
		}
		for _, key := range append(zoteroKeys(q.known[top].Version), top) {
			if _, listed := q.items.byKey[key]; !listed && !gone[key] && !slices.Contains(rest, key) {
				rest = append(rest, key)
			}
		}
	}
	for keys := range slices.Chunk(rest, zotero.MaxObjects) {
		if err := q.library.ItemsByKey(ctx, keys, q.items.put); lacksEndpoint(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	for _, top := range touched {
		if _, listed := q.items.byKey[top]; !listed && !gone[top] {
			return false, nil
		}
	}
	if err := q.readChildren(ctx); lacksEndpoint(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// readChildren reads the unchanged items below items that are new to the source. An item may be older than its import:
// it was in the trash or in another collection.
func (q *zoteroQueue) readChildren(ctx context.Context) error {
	var todo []string
	add := func(key string) {
		e := q.items.byKey[key]
		_, top := q.known[key]
		if !top && q.owners[key] == "" && !e.trashed && e.kind != "note" && e.kind != "annotation" &&
			(e.parent != "" || q.selects(key)) {
			todo = append(todo, key)
		}
	}
	for key := range q.items.byKey {
		add(key)
	}
	for len(todo) > 0 {
		key := todo[0]
		todo = todo[1:]
		err := q.library.Children(ctx, key, func(i zotero.Item) error {
			if _, listed := q.items.byKey[i.Key]; listed {
				return nil
			}
			err := q.items.put(i)
			add(i.Key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readAgain fills the queue with items whose documents are read again.
func (q *zoteroQueue) readAgain(ctx context.Context, keys []string) error {
	if complete, err := q.readRest(ctx, keys, nil); err != nil || !complete {
		return cmp.Or(err, error(errZotero("The library no longer has all of these items. Sync the source.")))
	}
	q.items.index()
	for _, key := range keys {
		q.work = append(q.work, zoteroWork{key, q.versionOf(key)})
	}
	return nil
}

// selects reports whether an item is imported: it exists, is not in the trash, and is in a wanted collection.
func (q *zoteroQueue) selects(key string) bool {
	e, listed := q.items.byKey[key]
	if !listed || e.trashed || e.parent != "" {
		return false
	}
	return q.wanted == nil || slices.ContainsFunc(e.collections, func(c string) bool { return q.wanted[c] })
}

// compareItems adds the items that are new or changed to the queue.
func (q *zoteroQueue) compareItems(keys []string) {
	for _, key := range keys {
		if !q.selects(key) {
			continue
		}
		version := q.versionOf(key)
		if q.known[key].Version == version {
			q.unchanged++
			continue
		}
		q.work = append(q.work, zoteroWork{key, version})
	}
}

// versionOf returns the version of a file: whether attachments could be read, the names of the collections, and the
// versions of the item and of all that belongs to it. Items of the local API keep their version until they are synced,
// so that the time of the last change is part of it.
func (q *zoteroQueue) versionOf(top string) string {
	e := q.items.byKey[top]
	entry := func(key string) string {
		e := q.items.byKey[key]
		return fmt.Sprintf("%s:%d:%s", key, e.version, strings.ReplaceAll(e.modified, ",", ""))
	}
	list := []string{entry(top)}
	for _, key := range q.items.descendants(top) {
		list = append(list, entry(key))
	}
	slices.Sort(list[1:])
	return fmt.Sprintf("%t %s %s", q.readsFiles, hashText(q.tagsOf(e.collections)...), strings.Join(list, ","))
}

// retryVersion returns the version of a file that the next sync reads again. It still names the items of the file.
func retryVersion(version string) string {
	_, rest, _ := strings.Cut(version, " ")
	return retryPrefix + rest
}

const retryPrefix = "retry "

// zoteroKeys returns the keys of the items in a version.
func zoteroKeys(version string) []string {
	parts := strings.SplitN(version, " ", 3)
	if len(parts) < 3 {
		return nil
	}
	list := strings.Split(parts[2], ",")
	for i, entry := range list {
		list[i], _, _ = strings.Cut(entry, ":")
	}
	return list
}

// tagsOf returns the names of collections.
func (q *zoteroQueue) tagsOf(keys []string) []string {
	var names []string
	for _, key := range keys {
		if name := q.collections[key]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (q *zoteroQueue) size() (int, int64) { return len(q.work) + len(q.missing), 0 }

func (q *zoteroQueue) skip(done map[string]bool) {
	q.syncQueue.skip(done)
	q.work = slices.DeleteFunc(q.work, func(w zoteroWork) bool { return done[w.key] })
}

func (q *zoteroQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	switch {
	case len(q.missing) > 0:
		return q.syncQueue.next(ctx, t)
	case len(q.work) > 0:
		o, err := q.importItem(ctx, q.work[0])
		if err == nil {
			q.work = q.work[1:]
		}
		return o, zoteroError(ctx, err, true)
	case q.filesRefused > 0:
		o := fileResult{Name: q.src.Name, Error: fmt.Sprintf("The key may not read the files of %d attachments. "+
			"Allow file access at https://www.zotero.org/settings/keys, then sync again.", q.filesRefused)}
		q.filesRefused = 0
		return o, nil
	case q.state != nil:
		state, err := json.Marshal(q.state)
		if err == nil {
			err = q.service.store.SetSyncState(ctx, q.src.ID, string(state))
		}
		return fileResult{End: true}, err
	}
	return fileResult{End: true}, nil
}

// errZotero ends an import; the documents of the source are kept.
func errZotero(detail string) *core.Error { return core.Conflict("zotero_unreadable", detail) }

// zoteroError describes why a library can't be read, without quoting the server.
func zoteroError(ctx context.Context, err error, hasKey bool) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fault, refused := errors.AsType[*zotero.Error](err)
	switch {
	case errors.Is(err, zotero.ErrEndless):
		return errZotero("The library has more than a million items.").Because(err)
	case errors.Is(err, zotero.ErrNoUser):
		return errZotero("The server does not say whose key this is. Set settings.library.").Because(err)
	case errors.Is(err, zotero.ErrMoving):
		return errZotero("The library changes while it is read. The next import continues.").Because(err)
	case errors.Is(err, zotero.ErrUnreadable):
		return errZotero("Zotero can't be read: " + fetchErrorText(err) + ". Check settings.url.").Because(err)
	case !refused:
		return err
	case fault.Busy():
		return errZotero("Zotero is busy. The imported items are kept, and the next import continues.").Because(err)
	case fault.Status == http.StatusForbidden && hasKey:
		return errZotero("The key is not valid, or it may not read this library. Check the key and its permissions at " +
			"https://www.zotero.org/settings/keys.").Because(err)
	case fault.Status == http.StatusForbidden:
		return errZotero("The library is not public. Enter an API key that may read it; in the Zotero program, allow " +
			"other applications on this computer to communicate with Zotero.").Because(err)
	case fault.Status == http.StatusNotFound:
		return errZotero("There is no such library, or the key is not known. Check settings.library and the key.").
			Because(err)
	}
	return errZotero(
		fmt.Sprintf("Zotero answers with status %d. Check the address and settings.library.", fault.Status),
	).Because(err)
}
