package store

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/search"
	"carrel/internal/source"
)

// callSearch calls every method of the change log, the node indexes and the usage once, for the user and source of
// callEverything.
func callSearch(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	if _, _, err := db.PutDocuments(ctx, "s",
		[]source.Document{{ID: "d2", ExternalID: "gone", Hash: []byte("h")}}); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"head":     func() error { _, err := db.Head(ctx); return err },
		"changes":  func() error { _, err := db.Changes(ctx, 0, 10, 10); return err },
		"delete":   func() error { _, err := db.DeleteDocuments(ctx, "s", []string{"gone"}, now); return err },
		"language": func() error { _, err := db.SetSourceLanguage(ctx, "s", "en", false, now); return err },
		"index":    func() error { return db.SetNodeIndex(ctx, "n", 1) },
		"indexes":  func() error { _, err := db.NodeIndexes(ctx, time.Minute); return err },
		"forget":   func() error { return db.DeleteNodeIndex(ctx, "n") },
		"searches": func() error { return db.AddSearches(ctx, []source.Searches{{UserID: "u", Day: "d", Count: 1}}) },
		"usage":    func() error { _, err := db.SearchesOf(ctx, "u", "d"); return err },
	} {
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// before returns the engine's migrations up to a version, exclusive.
func (b backend) before(t *testing.T, version string) fs.FS {
	t.Helper()
	files := b.plus(t, nil)
	for name := range files {
		if name >= version {
			delete(files, name)
		}
	}
	return files
}

func TestMigrationLogsExistingDocuments(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if err := b.migrate(t, b.before(t, "00004")); err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{
				`INSERT INTO app_user VALUES ('u', 'e', 'n', 'member', 'open', NULL, 'h', NULL, 0)`,
				`INSERT INTO agent VALUES ('a', 'u', 'n', '', '', '', 0, 0)`,
				`INSERT INTO source VALUES ('s', 'a', 'n', 'upload', 1, 2, 'ready', 0, 0)`,
				`INSERT INTO document VALUES ('d2', 's', '2', 'Two', '["B"]', 'x', NULL, '', '', '', '', '\x00', 0, 0)`,
				`INSERT INTO document VALUES ('d1', 's', '1', 'One', '[]', 'y', 1970, '', '', '', '', '\x00', 0, 0)`,
			} {
				if b.name == "sqlite" { // SQLite has another syntax for bytes
					statement = strings.ReplaceAll(statement, `'\x00'`, `x'00'`)
				}
				if _, err := b.raw(t).Exec(statement); err != nil {
					t.Fatalf("%v in %s", err, statement)
				}
			}
			db := open(t, b.options)
			head, err := db.Head(t.Context())
			if err != nil || head != 2 {
				t.Errorf("the head is %d, %v", head, err)
			}
			got, err := db.Changes(t.Context(), 0, head, 10)
			want := []search.Change{
				{
					Seq: 1, Op: search.Put, ID: "d1",
					Document: search.Document{ID: "d1", SourceID: "s", Title: "One", Text: "y", Year: 1970},
				},
				{Seq: 2, Op: search.Put, ID: "d2", Document: search.Document{
					ID: "d2", SourceID: "s", Title: "Two",
					Text: "x", Authors: []string{"B"},
				}},
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the log has %+v, %v\nwant %+v", got, err, want)
			}
			docs, err := db.DocumentsByID(t.Context(), []string{"s"}, []string{"d1"})
			if err != nil || docs[0].PublishedAt != "" || docs[0].CitationCount != nil || docs[0].OpenAccessURL != "" {
				t.Errorf("the document is %+v, %v", docs, err)
			}
		})
	}
}

// A cascade without a log entry must not put a document without text into an index.
func TestUnloggedDeletionIsReadAsDelete(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			callEverything(t, db)
			if _, err := db.exec(t.Context(), "DELETE FROM app_user"); err != nil {
				t.Fatal(err)
			}
			changes, err := db.Changes(t.Context(), 0, 1000, 1000)
			if err != nil || len(changes) != 3 ||
				slices.ContainsFunc(changes, func(c search.Change) bool { return c.Op != search.Delete }) {
				t.Errorf("the log has %+v, %v", changes, err)
			}
		})
	}
}

func TestPostgresReadsTheChangeLogByIndex(t *testing.T) {
	t.Parallel()
	b := backends(t)[1]
	db := open(t, b.options)
	callEverything(t, db)
	var seen []string
	db.read = recordingReader{recorder{db.read, &seen}}
	if _, err := db.Changes(t.Context(), 0, 10, 10); err != nil {
		t.Fatal(err)
	}
	raw := b.raw(t)
	for _, statement := range []string{
		`INSERT INTO document SELECT 'x' || n, 's', 'x' || n, 't', '[]', repeat('text ', 100), 1970, '', '', '', '', '', 0, 0
			FROM generate_series(1, 20000) n`,
		`INSERT INTO document_change SELECT 1000 + n, 'x' || n, 's', 'put' FROM generate_series(1, 20000) n`,
		`ANALYZE`, `SET plan_cache_mode = force_generic_plan`,
		`PREPARE reading (bigint, bigint, bigint) AS ` + seen[0],
	} {
		if _, err := raw.Exec(statement); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
	// The generic plan must not scan whole tables.
	rows, err := raw.Query("EXPLAIN EXECUTE reading (5000, 20000, 1000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	uses := func(what string) bool {
		return slices.ContainsFunc(plan, func(line string) bool { return strings.Contains(line, what) })
	}
	if !uses("document_change_seq_key") || !uses("document_pkey") || uses("Seq Scan on document") {
		t.Errorf("the plan is\n%s", strings.Join(plan, "\n"))
	}
}

func TestListRoundTrips(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		{},
		{""},
		{"", ""},
		{"a"},
		{"Ada Lovelace", "Grace Hopper"},
		{`a","b`},
		{`"`},
		{`\`},
		{",", "[", `"]`},
		{"Gödel", "李", "a\nb", "<&>", "\u2028"},
	} {
		got, err := decodeList[string](encodeList(words))
		if err != nil || !slices.Equal(got, words) {
			t.Errorf("%q came back as %q, %v", words, got, err)
		}
	}
	// JSON with white space is valid too.
	for _, list := range []string{`[ "a" , "b" ]`, `["a", "b"]`, `["a" ,"b"]`} {
		if got, err := decodeList[string](list); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s is read as %q, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "[", `"a"`, `["a`, `["a"b"]`} {
		if got, err := decodeList[string](list); err == nil {
			t.Errorf("%s is read as %q", list, got)
		}
	}
}
