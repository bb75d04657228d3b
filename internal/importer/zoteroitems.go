package importer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/format"
	"carrel/internal/zotero"
)

// maxItemDepth is how deep items are nested: an annotation belongs to an attachment, which belongs to an item.
const maxItemDepth = 4

// zoteroItems holds the listed items of a library. Their content is in a temporary file, because a library may be
// larger than the memory.
type zoteroItems struct {
	file  *os.File
	size  int64
	byKey map[string]zoteroEntry
	// children are the keys of the items below an item, oldest first.
	children map[string][]string
}

// zoteroEntry is an item, and where its content is in the file.
type zoteroEntry struct {
	offset          int64
	size            int
	version         int
	parent, kind    string
	added, modified string
	trashed         bool
	collections     []string
}

func newZoteroItems(dir string) (*zoteroItems, error) {
	f, err := os.OpenFile(filepath.Join(dir, "items"), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create a file for items: %w", err)
	}
	return &zoteroItems{file: f, byKey: map[string]zoteroEntry{}}, nil
}

func (z *zoteroItems) close() {
	if z != nil {
		_ = z.file.Close() // a temporary file
	}
}

// reset removes all items.
func (z *zoteroItems) reset() error {
	z.size, z.byKey, z.children = 0, map[string]zoteroEntry{}, nil
	return z.file.Truncate(0)
}

// put adds an item. An item that can't be decoded is kept as one without a parent, so that it is reported.
func (z *zoteroItems) put(i zotero.Item) error {
	e := zoteroEntry{offset: z.size, size: len(i.Data), version: i.Version}
	if data, err := format.ReadZoteroItem(i.Data); err == nil {
		e.added, e.modified, e.trashed = data.DateAdded, data.DateModified, data.Trashed
		e.kind, e.collections = data.ItemType, data.Collections
		if zotero.IsKey(data.ParentItem) {
			e.parent = data.ParentItem
		}
	}
	if _, err := z.file.WriteAt(i.Data, z.size); err != nil {
		return fmt.Errorf("store an item: %w", err)
	}
	z.size += int64(e.size)
	z.byKey[i.Key] = e
	return nil
}

// get returns the content of an item.
func (z *zoteroItems) get(key string) (format.ZoteroItem, error) {
	e := z.byKey[key]
	data := make([]byte, e.size)
	if _, err := z.file.ReadAt(data, e.offset); err != nil {
		return format.ZoteroItem{}, fmt.Errorf("read an item: %w", err)
	}
	i, err := format.ReadZoteroItem(data)
	i.Key = key
	return i, err
}

// index finds the children of all items.
func (z *zoteroItems) index() {
	z.children = map[string][]string{}
	for key, e := range z.byKey {
		if e.parent != "" && !e.trashed {
			z.children[e.parent] = append(z.children[e.parent], key)
		}
	}
	for _, keys := range z.children {
		slices.SortFunc(keys, func(a, b string) int {
			return cmp.Or(cmp.Compare(z.byKey[a].added, z.byKey[b].added), cmp.Compare(a, b))
		})
	}
}

// tops returns the keys of all items without a parent, oldest first.
func (z *zoteroItems) tops() []string {
	var keys []string
	for key, e := range z.byKey {
		if e.parent == "" {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(z.byKey[a].added, z.byKey[b].added), cmp.Compare(a, b))
	})
	return keys
}

// descendants returns the keys of all items below an item.
func (z *zoteroItems) descendants(key string) []string {
	var out []string
	level := []string{key}
	for range maxItemDepth {
		var next []string
		for _, k := range level {
			next = append(next, z.children[k]...)
		}
		out = append(out, next...)
		level = next
	}
	return out
}
