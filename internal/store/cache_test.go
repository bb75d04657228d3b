package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// TestCachedRowsReflectEveryWrite changes rows through a second set of connections, like another process, and reads
// them through one that has cached them.
func TestCachedRowsReflectEveryWrite(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "carrel.db")
	open := func() *store.DB {
		db, err := store.Open(ctx, store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	server, other := open(), open()
	now := testkit.NewClock().Now()
	u := account.User{
		ID: core.NewID(core.PrefixUser), Email: "a@example.org", Role: core.RoleMember,
		Plan: core.PlanOpen, CreatedAt: now,
	}
	if err := server.InsertUser(ctx, u, "x"); err != nil {
		t.Fatal(err)
	}
	a := agent.Agent{
		ID: core.NewID(core.PrefixAgent), Name: "A", CreatedAt: now, UpdatedAt: now,
		Sources: []agent.Source{{
			ID: core.NewID(core.PrefixSource), Name: "Library", Kind: "upload", Default: true,
			Status: "ready",
		}},
	}
	if _, err := server.AgentGrant(ctx, u.ID, a.ID); !core.IsKind(err, core.KindNotFound) {
		t.Fatalf("agent before the insert: %v", err)
	}
	a.UserID = u.ID
	if err := server.InsertAgent(ctx, a); err != nil {
		t.Fatal(err)
	}
	th := thread.Thread{ID: core.NewID(core.PrefixThread), AgentID: a.ID, Title: "0", CreatedAt: now, UpdatedAt: now}
	if _, err := server.InsertThread(ctx, u.ID, th); err != nil {
		t.Fatal(err)
	}
	for i, writer := range []*store.DB{other, server, other, other, server} {
		title := "title " + string(rune('a'+i))
		if _, err := writer.ChangeThread(ctx, u.ID, a.ID, th.ID, thread.Change{Title: &title},
			now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := server.Thread(ctx, u.ID, a.ID, th.ID)
			if err != nil || got.Title != title {
				t.Fatalf("after write %d the thread's title is %q, %v, want %q", i, got.Title, err, title)
			}
		}
	}
	for range 2 {
		if _, err := server.AgentGrant(ctx, u.ID, a.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.DeleteAgent(ctx, u.ID, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := server.AgentGrant(ctx, u.ID, a.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a deleted agent is still there: %v", err)
	}
	if _, err := server.Thread(ctx, u.ID, a.ID, th.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a deleted agent's thread is still there: %v", err)
	}
	if _, err := server.Sources(ctx, u.ID, a.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a deleted agent's sources are still there: %v", err)
	}
}
