package store

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/source"
)

func TestFileDocumentsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	if _, err := db.FileDocuments(t.Context(), "s", "f", "", 10); err != nil {
		t.Fatal(err)
	}
	_, _ = db.DeleteFile(t.Context(), "s", "f", time.Now()) // not found; only the statements matter
	raw := backends(t)[0]
	raw.options.Path = db.path
	conn := raw.raw(t)
	checked := 0
	for _, query := range *seen {
		if !strings.Contains(query, "document") || !strings.Contains(query, "file = ") {
			continue
		}
		checked++
		var id, parent, unused int
		var step string
		if err := conn.QueryRow("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "$"))...).Scan(&id,
			&parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(step, "document_file (source_id=? AND file=?") {
			t.Errorf("%s: %s", step, query)
		}
	}
	if checked == 0 {
		t.Error("no statement was checked")
	}
}

func TestUndatedDocumentsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	if _, err := db.CountUndated(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	undated := source.DocumentFilter{Status: source.StatusNoYear}
	if _, err := db.ListDocuments(t.Context(), "s", undated, "", 10); err != nil {
		t.Fatal(err)
	}
	raw := backends(t)[0]
	raw.options.Path = db.path
	conn := raw.raw(t)
	checked := 0
	for _, query := range *seen {
		if !strings.Contains(query, "year IS NULL AND") && !strings.Contains(query, "AND year IS NULL") {
			continue
		}
		checked++
		var id, parent, unused int
		var step string
		if err := conn.QueryRow("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "$"))...).Scan(&id,
			&parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(step, "document_undated (source_id=?") {
			t.Errorf("%s: %s", step, query)
		}
	}
	if checked != 2 {
		t.Errorf("%d statements were checked", checked)
	}
}

func TestDocumentLanguagesUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	if _, err := db.ListDocuments(t.Context(), "s", source.DocumentFilter{Language: "de"}, "", 10); err != nil {
		t.Fatal(err)
	}
	if _, err := db.UndetectedDocuments(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if len(*seen) != 2 {
		t.Fatalf("statements: %q", *seen)
	}
	for i, want := range []string{
		"document_language (language=? AND source_id=? AND id<?", "document_language (language=?",
	} {
		var id, parent, unused int
		var step string
		query := (*seen)[i]
		err := db.read.each(t.Context(), "EXPLAIN QUERY PLAN "+query, parameters(query),
			[]any{&id, &parent, &unused, &step}, func() error {
				if !strings.Contains(step, want) {
					t.Errorf("%s: %s", step, query)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
}
