package main

import (
	"context"
	"slices"
)

// engine is a search engine with an index in its own folder.
type engine interface {
	// add indexes a batch. Documents need not be searchable before finish returns.
	add(ctx context.Context, batch []paper) error
	// finish returns when all documents are on disk and searchable.
	finish(ctx context.Context) error
	// search returns the ids of the best documents, best first.
	search(ctx context.Context, r request) ([]string, error)
	close() error
}

// request is one search.
type request struct {
	text     string
	language string // English if empty
	limit    int
	from, to int  // inclusive years; 0 is unbounded
	counts   bool // also count all hits by year
}

// kind creates and opens engines.
type kind struct {
	key   string // in flags
	title string
	make  func(dir string) (engine, error) // on an empty folder
	open  func(dir string) (engine, error) // on an existing index
	// ranksOnly marks a variant whose quality is measured, and whose latency only if it is selected explicitly.
	ranksOnly bool
	// counts describes the meaning of its counts for readers.
	counts string
}

// ours is the key of the engine in the denominator of all ratios.
const ours = "carrel"

// wordsOnly is the key of Carrel's engine without vectors.
const wordsOnly = "carrel-words"

// kinds lists all engines, ours first.
var kinds = []kind{
	{key: ours, title: "Carrel", make: openBuiltIn, open: openBuiltIn, counts: "total, years and sources"},
	{
		key:       wordsOnly,
		title:     "Carrel, words only",
		make:      openWords,
		open:      openWords,
		counts:    "total, years and sources",
		ranksOnly: true,
	},
	{key: "bleve", title: "Bleve", make: makeBleve(oneField), open: openBleve(oneField), counts: "total, facet of years"},
	{
		key:       "bleve-fields",
		title:     "Bleve, several fields",
		make:      makeBleve(severalFields),
		open:      openBleve(severalFields),
		counts:    "total, facet of years",
		ranksOnly: true,
	},
	{key: "fts5", title: "SQLite FTS5", make: makeFTS5, open: openFTS5, counts: "a second statement: count by year"},
}

func kindOf(key string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.key == key })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}
