package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en" // the analyser of the mapping
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

const (
	bleveTitleBoost = 2
	// bleveYears exceeds the number of distinct years, so that the facet is complete.
	bleveYears = 500
)

// bleveFields is the layout of a document in Bleve.
type bleveFields struct {
	texts []string
	// layout returns the texts of a document by field.
	layout func(p paper) map[string]any
	// match returns the query for a text.
	match func(text string) query.Query
}

// oneField puts everything into one field, with the title twice. It ranks better than several fields, whose scores
// Bleve adds up, and is faster.
var oneField = bleveFields{
	texts: []string{"all"},
	layout: func(p paper) map[string]any {
		return map[string]any{"all": strings.Join([]string{p.Title, p.Title, p.Text, strings.Join(p.Authors, " ")}, " ")}
	},
	match: func(text string) query.Query {
		return bleveMatch("all", strings.Join(contentWords(text, true), " "), 1)
	},
}

// severalFields is the layout of Bleve's documentation.
var severalFields = bleveFields{
	texts: []string{"title", "text", "authors"},
	layout: func(p paper) map[string]any {
		return map[string]any{"title": p.Title, "text": p.Text, "authors": strings.Join(p.Authors, "; ")}
	},
	match: func(text string) query.Query {
		return bleve.NewDisjunctionQuery(bleveMatch("title", text, bleveTitleBoost),
			bleveMatch("text", text, 1), bleveMatch("authors", text, 1))
	},
}

func bleveMatch(field, text string, boost float64) query.Query {
	q := bleve.NewMatchQuery(text)
	q.SetField(field)
	q.SetBoost(boost)
	return q
}

// bleveEngine is Bleve with its scorch index and BM25.
type bleveEngine struct {
	index  bleve.Index
	fields bleveFields
	last   *bleve.Batch // the newest batch, delayed so that finish can wait for it
}

func makeBleve(fields bleveFields) func(dir string) (engine, error) {
	return func(dir string) (engine, error) {
		// Bleve creates the folder itself.
		if err := os.Remove(dir); err != nil {
			return nil, err
		}
		// An unsafe batch does not wait for the disk.
		index, err := bleve.NewUsing(dir, fields.mapping(), scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true})
		if err != nil {
			return nil, err
		}
		return &bleveEngine{index: index, fields: fields}, nil
	}
}

func openBleve(fields bleveFields) func(dir string) (engine, error) {
	return func(dir string) (engine, error) {
		index, err := bleve.Open(dir)
		if err != nil {
			return nil, err
		}
		return &bleveEngine{index: index, fields: fields}, nil
	}
}

// mapping indexes all fields and stores none, because texts come from elsewhere.
func (f bleveFields) mapping() mapping.IndexMapping {
	document := bleve.NewDocumentStaticMapping()
	for _, name := range f.texts {
		text := bleve.NewTextFieldMapping()
		text.Analyzer = "en"
		text.Store, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = false, false, false, false
		document.AddFieldMappingsAt(name, text)
	}
	year := bleve.NewNumericFieldMapping()
	year.Store, year.IncludeInAll = false, false
	document.AddFieldMappingsAt("year", year)
	// A facet counts terms. A number has many terms, a keyword has one.
	counted := bleve.NewTextFieldMapping()
	counted.Analyzer, counted.Store, counted.IncludeInAll, counted.IncludeTermVectors = keyword.Name, false, false, false
	document.AddFieldMappingsAt("counted", counted)

	m := bleve.NewIndexMapping()
	m.ScoringModel = "bm25"
	m.DefaultAnalyzer = "en"
	m.DefaultMapping = document
	return m
}

func (e *bleveEngine) add(_ context.Context, papers []paper) error {
	if e.last != nil {
		if err := e.index.Batch(e.last); err != nil {
			return err
		}
	}
	e.last = e.index.NewBatch()
	for _, p := range papers {
		document := e.fields.layout(p)
		document["year"], document["counted"] = float64(p.Year), strconv.Itoa(p.Year)
		if err := e.last.Index(p.ID, document); err != nil {
			return err
		}
	}
	return nil
}

// finish waits until the last batch is on disk, because closing would lose it.
func (e *bleveEngine) finish(ctx context.Context) error {
	if e.last == nil {
		return nil
	}
	persisted := make(chan error, 1)
	e.last.SetPersistedCallback(func(err error) { persisted <- err })
	if err := e.index.Batch(e.last); err != nil {
		return err
	}
	e.last = nil
	select {
	case err := <-persisted:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *bleveEngine) search(ctx context.Context, r request) ([]string, error) {
	q := e.fields.match(r.text)
	if r.from > 0 {
		from, before := float64(r.from), float64(r.to)+1
		years := bleve.NewNumericRangeQuery(&from, &before)
		years.SetField("year")
		years.SetBoost(0)
		q = bleve.NewConjunctionQuery(q, years)
	}
	wanted := bleve.NewSearchRequestOptions(q, r.limit, 0, false)
	if r.counts {
		wanted.AddFacet("years", bleve.NewFacetRequest("counted", bleveYears))
	}
	result, err := e.index.SearchInContext(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if r.counts && result.Total > 0 && len(result.Facets["years"].Terms.Terms()) == 0 {
		return nil, fmt.Errorf("bleve counted no years of %d hits", result.Total)
	}
	ids := make([]string, len(result.Hits))
	for i, hit := range result.Hits {
		ids[i] = hit.ID
	}
	return ids, nil
}

func (e *bleveEngine) close() error { return e.index.Close() }
