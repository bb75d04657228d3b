package store

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
	"carrel/internal/store/sqlite"
	"carrel/internal/thread"
)

// accessFixture is one database opened twice, like by a server and a command, with a user, an agent and a key.
type accessFixture struct {
	server, other *DB
	user, agent   string
	key           credential.Key
	now           time.Time
}

func newAccessFixture(t *testing.T) accessFixture {
	t.Helper()
	o := Options{Path: filepath.Join(t.TempDir(), "carrel.db")}
	f := accessFixture{server: open(t, o), other: open(t, o), now: time.Now().Truncate(time.Millisecond)}
	if f.server.wal == nil {
		t.Skip("this platform has no version of the database")
	}
	f.user, f.agent = f.addUser(t, "a@example.org"), core.NewID(core.PrefixAgent)
	f.must(t, f.server.InsertAgent(t.Context(), agent.Agent{
		ID: f.agent, UserID: f.user, Name: "A", CreatedAt: f.now, UpdatedAt: f.now,
		Sources: []agent.Source{
			{ID: core.NewID(core.PrefixSource), Name: "S", Kind: "upload", Default: true, Status: "ready"},
		},
	}))
	f.key = credential.Key{
		ID: core.NewID(core.PrefixCredential), UserID: f.user, Name: "K", Kind: core.CredentialKey, CreatedAt: f.now,
	}
	f.must(t, f.server.InsertKey(t.Context(), f.key, []byte("hash")))
	return f
}

func (f accessFixture) addUser(t *testing.T, email string) string {
	t.Helper()
	u := account.User{
		ID: core.NewID(core.PrefixUser), Email: email, Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: f.now,
	}
	f.must(t, f.server.InsertUser(t.Context(), u, "x"))
	return u.ID
}

func (f accessFixture) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// addThread writes to tables that do not decide about access.
func (f accessFixture) addThread(ctx context.Context, db *DB) error {
	_, err := db.InsertThread(ctx, f.user, thread.Thread{
		ID: core.NewID(core.PrefixThread), AgentID: f.agent, CreatedAt: f.now, UpdatedAt: f.now,
	})
	return err
}

// TestAccessTablesAreThoseThatLookupsRead compares accessTables with what SQLite reads for the cached lookups.
func TestAccessTablesAreThoseThatLookupsRead(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	read := map[string]bool{}
	f.server.read = newSQLiteReader(1, func() (*sqlite.Conn, error) {
		c, err := sqlite.Open(sqliteURI(f.server.path), busyTimeout, &f.server.statements)
		if err == nil {
			c.Watch(func(table string, _ bool) sqlite.Tables { read[table] = true; return 0 })
		}
		return c, err
	})
	period := core.Month(f.now)
	_, err := f.server.KeyByHash(t.Context(), []byte("hash"), period)
	f.must(t, err)
	if _, err = f.server.TokenByHash(t.Context(), []byte("none"), period); !core.IsKind(err, core.KindNotFound) {
		t.Error(err)
	}
	_, err = f.server.AgentGrant(t.Context(), f.user, f.agent)
	f.must(t, err)
	if !maps.Equal(read, accessTables) {
		t.Errorf("lookups read %v, and accessTables are %v", slices.Sorted(maps.Keys(read)),
			slices.Sorted(maps.Keys(accessTables)))
	}
	clear(read)
	if _, err = f.server.Client(t.Context(), "none"); !core.IsKind(err, core.KindNotFound) {
		t.Error(err)
	}
	if !maps.Equal(read, map[string]bool{"oauth_client": true}) {
		t.Errorf("the lookup of a client reads %v", slices.Sorted(maps.Keys(read)))
	}
}

// TestAccessVersionIdentifiesTheContent makes random writes by two processes. Whenever the access version is one that
// was seen before, all accessTables must have the content of that time.
func TestAccessVersionIdentifiesTheContent(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	ctx := t.Context()
	members := []string{f.addUser(t, "b@example.org"), f.addUser(t, "c@example.org")}
	random := rand.New(rand.NewPCG(1, 2))
	writes := []func(db *DB, i int) error{
		func(db *DB, _ int) error { return f.addThread(ctx, db) },
		func(db *DB, _ int) error { return f.addThread(ctx, db) },
		func(db *DB, _ int) error { return db.ShareWithAll(ctx, f.agent, core.GrantViewer, f.now) },
		func(db *DB, _ int) error { return db.DeleteShareWithAll(ctx, f.agent, f.now) },
		func(db *DB, i int) error { return db.SetSpendCap(ctx, members[i%2], new(int64(i))) },
		func(db *DB, i int) error {
			return db.TouchKeys(ctx, map[string]credential.Use{f.key.ID: {At: f.now.Add(time.Duration(i) * time.Hour)}})
		},
		func(db *DB, _ int) error { return db.RevokeKey(ctx, f.user, f.key.ID, f.now) },
		func(db *DB, _ int) error {
			_, err := db.exec(ctx, "DELETE FROM app_user WHERE id = 'usr_none'")
			return err
		},
		func(db *DB, _ int) error { // fails after it has changed a row
			return db.inTx(ctx, func(ctx context.Context, tx querier) error {
				if _, err := tx.exec(ctx, "UPDATE agent SET name = 'B'"); err != nil {
					return err
				}
				return core.NotFound("agent")
			})
		},
	}
	seen := map[uint64]string{}
	kept := 0
	for i := range 400 {
		db := f.server
		if random.IntN(4) == 0 {
			db = f.other
		}
		if err := writes[random.IntN(len(writes))](db, i); err != nil && !core.IsKind(err, core.KindNotFound) {
			t.Fatal(err)
		}
		version, known := f.server.AccessVersion()
		if !known {
			t.Fatalf("after write %d the version is not known", i)
		}
		content := f.content(t)
		if before, ok := seen[version]; ok {
			kept++
			if before != content {
				t.Fatalf("after write %d the version is that of another content", i)
			}
		}
		seen[version] = content
	}
	if kept < 50 {
		t.Errorf("%d of 400 writes kept the version", kept)
	}
}

// content returns all rows of accessTables.
func (f accessFixture) content(t *testing.T) (all string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(accessTables)) {
		var columns, rows string
		f.must(t, get(t.Context(), f.server.read,
			"SELECT group_concat('quote(' || name || ')', '||') FROM pragma_table_info($1)", args{table}, &columns))
		f.must(t, get(t.Context(), f.server.read,
			"SELECT coalesce(group_concat(row), '') FROM (SELECT "+columns+" AS row FROM "+table+" ORDER BY 1)", nil, &rows))
		all += table + ": " + rows + "\n"
	}
	return all
}

// TestAccessIsCurrentWhileOthersWrite takes a grant away and gives it back, in this process and in another, while
// threads are written. Each change must be seen by the next lookup.
func TestAccessIsCurrentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	member := f.addUser(t, "b@example.org")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, db := range []*DB{f.server, f.server, f.other} {
		wg.Go(func() {
			// The pause lets the other process write: SQLite's locks are not given out in order.
			for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
				if err := f.addThread(context.WithoutCancel(ctx), db); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 60 {
		db := f.server
		if i%3 == 0 {
			db = f.other
		}
		f.must(t, db.ShareWithAll(ctx, f.agent, core.GrantViewer, f.now))
		for range 3 {
			if _, err := f.server.AgentGrant(ctx, member, f.agent); err != nil {
				t.Fatalf("after change %d the grant is missing: %v", i, err)
			}
		}
		f.must(t, db.DeleteShareWithAll(ctx, f.agent, f.now))
		for range 3 {
			if g, err := f.server.AgentGrant(ctx, member, f.agent); !core.IsKind(err, core.KindNotFound) {
				t.Fatalf("after change %d the grant is still %v, %v", i, g, err)
			}
		}
	}
	stop()
	wg.Wait()
}

// TestClientIsCurrentWhileOthersWrite changes the name of a client in this process and in another, while threads are
// written. The next lookup must see each change, and needs no statement if only other rows were written since.
func TestClientIsCurrentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	client := oauth.Client{
		ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, AuthMethod: oauth.AuthNone, CreatedAt: f.now,
	}
	f.must(t, f.server.PutClient(t.Context(), client, 100))
	var hits int
	for i := range 40 {
		db := f.server
		if i%3 == 0 {
			db = f.other
		}
		name := fmt.Sprint("App ", i)
		f.must(t, changeName(t.Context(), db, client.ID, name))
		for range 3 {
			before := f.server.Stats().Statements
			got, err := f.server.Client(t.Context(), client.ID)
			if err != nil || got.Name != name {
				t.Fatalf("after change %d the client is %+v, %v", i, got, err)
			}
			if f.server.Stats().Statements == before {
				hits++
			}
			f.must(t, f.addThread(t.Context(), f.server))
		}
	}
	// The first lookup after a change reads the row, and so does the first write after one of the other process.
	if hits < 40 {
		t.Errorf("%d of 120 lookups used the cache", hits)
	}
}

func changeName(ctx context.Context, db *DB, clientID, name string) error {
	_, err := db.exec(ctx, "UPDATE oauth_client SET name = $1 WHERE id = $2", name, clientID)
	return err
}

// TestWritesOfOtherRowsKeepAccessCached counts the statements of lookups between writes.
func TestWritesOfOtherRowsKeepAccessCached(t *testing.T) {
	t.Parallel()
	f := newAccessFixture(t)
	f.must(t, f.addThread(t.Context(), f.server))
	lookup := func() int64 {
		t.Helper()
		before := f.server.Stats().Statements
		_, err := f.server.AgentGrant(t.Context(), f.user, f.agent)
		f.must(t, err)
		return f.server.Stats().Statements - before
	}
	lookup()
	for range 5 {
		f.must(t, f.addThread(t.Context(), f.server))
		if n := lookup(); n != 0 {
			t.Errorf("after a write of another row a lookup needs %d statements", n)
		}
	}
	f.must(t, f.server.ShareWithAll(t.Context(), f.agent, core.GrantViewer, f.now))
	if n := lookup(); n == 0 {
		t.Error("after a change of grants a lookup needs no statement")
	}
}
