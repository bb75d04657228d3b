package main

import (
	"context"
	"slices"
)

// engine is one that is measured. It is made or opened on a folder of its own.
type engine interface {
	// add indexes a batch. It need not be found before finish returns.
	add(ctx context.Context, batch []paper) error
	// finish returns when all that was added is on the disk and can be found.
	finish(ctx context.Context) error
	// search returns the ids of the best documents, the best first.
	search(ctx context.Context, r request) ([]string, error)
	close() error
}

// request is one search.
type request struct {
	text     string
	limit    int
	from, to int  // years, both included; 0 is no bound
	counts   bool // count all hits, by year, too
}

// kind is a way to make engines.
type kind struct {
	key   string // in flags
	title string
	make  func(dir string) (engine, error) // on an empty folder
	open  func(dir string) (engine, error) // on what was made before
	// ranksOnly is set for a variant whose speed is not of interest: its results
	// are judged, its latency is measured only when it is asked for by name.
	ranksOnly bool
	// counts says what its counts are, for the reader of the latencies.
	counts string
}

// ours is the key of the engine that all are divided by.
const ours = "carrel"

// kinds are all engines, ours first.
var kinds = []kind{
	{key: ours, title: "Carrel", make: makeCarrel, open: openCarrel, counts: "total, years and sources"},
	{key: "bleve", title: "Bleve", make: makeBleve(oneField), open: openBleve(oneField), counts: "total, facet of years"},
	{key: "bleve-fields", title: "Bleve, several fields", make: makeBleve(severalFields), open: openBleve(severalFields), counts: "total, facet of years", ranksOnly: true},
	{key: "fts5", title: "SQLite FTS5", make: makeFTS5, open: openFTS5, counts: "a second statement: count by year"},
}

func kindOf(key string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.key == key })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}
