package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/bin"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/source"
	"carrel/internal/thread"
)

func TestStatementsOfTheBinUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h"))
	library := agent.Source{ID: "s", Kind: "upload", Default: true}
	must(db.InsertAgent(ctx, agent.Agent{ID: "a", UserID: "u", Sources: []agent.Source{library}}))
	must(errorOf(db.InsertThread(ctx, "u", thread.Thread{ID: "t", AgentID: "a"})))
	_, err := db.InsertMemory(ctx, "u", memory.Memory{ID: "m", AgentID: "a", Status: memory.StatusActive}, "f")
	must(err)
	_, err = db.SaveFavourite(ctx, "u", "a", favourite.Favourite{CardID: "c", Card: []byte("{}")})
	must(err)
	_, _, err = db.PutDocuments(ctx, "s", []source.Document{{ID: "d", ExternalID: "d", Hash: []byte("h")}})
	must(err)
	*seen = nil
	for range 2 { // deleted, restored, and deleted again
		must(db.DeleteThread(ctx, "u", "a", "t", now))
		must(db.DeleteMemory(ctx, "u", "a", "m", now))
		must(db.DeleteFavourite(ctx, "u", "a", "c", now))
		_, err = db.DeleteDocumentsByID(ctx, "u", "s", []string{"d"}, now)
		must(err)
		items, err := db.BinItems(ctx, "u", "a", "", "", 10)
		must(err)
		if len(items) != 4 {
			t.Fatalf("the bin has %v", items)
		}
		for _, i := range items {
			_, err := db.BinItem(ctx, "u", "a", i.ID)
			must(err)
			_, err = db.BinContent(ctx, "u", "a", i.ID)
			must(err)
			must(db.RestoreBinItem(ctx, "u", "a", i.ID, now))
		}
	}
	_, err = db.BinItems(ctx, "u", "a", bin.KindThread, "z", 10)
	must(err)
	must(db.DeleteThread(ctx, "u", "a", "t", now))
	must(db.EmptyBin(ctx, "u", "a", []bin.Kind{bin.KindMemory}))
	must(db.PruneBin(ctx, now))
	_, err = db.StorageOf(ctx, "u")
	must(err)
	_, err = db.ClaimBlobs(ctx, now, now, now, 10)
	must(err)
	statements := slices.Compact(slices.Sorted(slices.Values(*seen)))
	checkPlans(t, db, statements, func(step, _ string) bool {
		values := strings.HasPrefix(step, "SCAN json_each") || strings.HasPrefix(step, "SCAN listed") ||
			strings.HasPrefix(step, "SCAN binned") || strings.Contains(step, "CONSTANT ROW")
		// The sweep looks at all files once an hour, as it did before.
		return values || step == "SCAN b" || strings.HasPrefix(step, "SCAN old")
	})
}

// TestTheBinHasTheColumnsOfDocuments fails for a new column of document that a restored document would lose.
func TestTheBinHasTheColumnsOfDocuments(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			query := `SELECT name FROM pragma_table_info($1)`
			if db.onPostgres() {
				query = `SELECT column_name::text FROM information_schema.columns
					WHERE table_schema = current_schema() AND table_name = $1`
			}
			columns := func(table string) []string {
				names, err := readIDs(t.Context(), db.read, query, args{table})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(names)
				return names
			}
			want := slices.Sorted(slices.Values(strings.Split(storedColumns, ", ")))
			if got := columns("document"); !slices.Equal(got, want) {
				t.Errorf("document has %v, storedColumns %v", got, want)
			}
			own := func(name string) bool { return name == "bin_id" || name == "file_name" || name == "file_size" }
			if got := slices.DeleteFunc(columns("bin_document"), own); !slices.Equal(got, want) {
				t.Errorf("bin_document has %v, storedColumns %v", got, want)
			}
		})
	}
}
