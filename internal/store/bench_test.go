package store_test

import (
	"fmt"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/memory"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/thread"
)

const (
	benchUser  = "usr_06d5v3kq1x7m8n9p0r2s4t6v8w"
	benchAgent = "agt_06d5v3kq1x7m8n9p0r2s4t6v8w"
)

// benchDB returns a database with a user, a key, an agent, a thread, 200 memories and 1000 documents.
func benchDB(b *testing.B, e engine) (db *store.DB, hash []byte, threadID string) {
	b.Helper()
	db = e.open(b)
	ctx, now := b.Context(), time.Now()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	hash = []byte("0123456789abcdef0123456789abcdef")
	must(db.InsertUser(ctx, account.User{
		ID: benchUser, Email: "a@example.org", Name: "Ada", Role: "member",
		Plan: "open", CreatedAt: now,
	}, "h"))
	must(db.InsertKey(ctx, credential.Key{
		ID: core.NewID("crd"), UserID: benchUser, Kind: "key", Name: "laptop", Hint: "abcd",
		Scopes: []core.Scope{"agents", "manage"}, CreatedAt: now,
	}, hash))
	must(db.InsertAgent(ctx, agent.Agent{
		ID: benchAgent, UserID: benchUser, Name: "Landmarks", CreatedAt: now,
		Sources: []agent.Source{{ID: "src", Name: "Library", Kind: "upload", Default: true, Status: "ready"}},
	}))
	for i := range 200 {
		text := fmt.Sprintf("Fact number %d: the user prefers primary sources over surveys.", i)
		_, err := db.InsertMemory(ctx, benchUser, memory.Memory{
			Status: memory.StatusActive, ID: core.NewID("mem"), AgentID: benchAgent, Text: text, Origin: "client",
			CreatedAt: now, UpdatedAt: now,
		}, text)
		must(err)
	}
	docs := make([]source.Document, 1000)
	for i := range docs {
		docs[i] = source.Document{
			ID: core.NewID("doc"), ExternalID: fmt.Sprint(i), Title: "A title of a work",
			Authors: []string{"A. Author", "B. Author"},
			Text:    fmt.Sprintf("%01000d", i), Year: 1990, Hash: []byte("0123456789abcdef"),
		}
	}
	_, _, err := db.PutDocuments(ctx, "src", docs)
	must(err)
	threadID = core.NewID("thr")
	_, err = db.InsertThread(ctx, benchUser, thread.Thread{
		ID: threadID, AgentID: benchAgent, Title: "A title",
		Status: "idle", CreatedAt: now, UpdatedAt: now,
	})
	must(err)
	return db, hash, threadID
}

func BenchmarkReads(b *testing.B) {
	for _, e := range engines {
		db, hash, threadID := benchDB(b, e)
		for _, op := range []struct {
			name string
			run  func() error
		}{
			{"KeyByHash", func() error { _, err := db.KeyByHash(b.Context(), hash, "2026-11"); return err }},
			{"AgentGrant", func() error { _, err := db.AgentGrant(b.Context(), benchUser, benchAgent); return err }},
			{"Thread", func() error { _, err := db.Thread(b.Context(), benchUser, benchAgent, threadID); return err }},
			{"Memories50", func() error {
				_, err := db.Memories(b.Context(), benchUser, benchAgent, memory.StatusActive, "", 51)
				return err
			}},
			{"Agents", func() error {
				_,
					err := db.Agents(b.Context(), benchUser, nil, agent.Position{}, 51)
				return err
			}},
			{"Scan1000", func() error {
				for _, err := range db.ScanDocuments(b.Context(), "src") {
					if err != nil {
						return err
					}
				}
				return nil
			}},
			{"Changes1000", func() error { _, err := db.Changes(b.Context(), 0, 1000, 1000); return err }},
		} {
			b.Run(e.name+"/"+op.name+"/serial", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := op.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(e.name+"/"+op.name+"/parallel32", func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := op.run(); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}

func BenchmarkWrites(b *testing.B) {
	for _, e := range engines {
		db, _, _ := benchDB(b, e)
		for _, op := range []struct {
			name string
			run  func() error
		}{
			{"InsertThread", func() error {
				now := time.Now()
				_, err := db.InsertThread(b.Context(), benchUser, thread.Thread{
					ID: core.NewID("thr"), AgentID: benchAgent, Title: "A title", Status: "idle", CreatedAt: now,
					UpdatedAt: now,
				})
				return err
			}},
		} {
			b.Run(e.name+"/"+op.name+"/serial", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := op.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(e.name+"/"+op.name+"/parallel32", func(b *testing.B) {
				b.ReportAllocs()
				before := db.Stats()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := op.run(); err != nil {
							b.Error(err)
						}
					}
				})
				after := db.Stats()
				b.ReportMetric(float64(after.Writes-before.Writes)/float64(after.Commits-before.Commits),
					"writes/commit")
			})
		}
	}
}
