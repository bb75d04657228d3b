package store

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"carrel/internal/core"
)

// TestTokensOutliveTheMigrationOfRefreshes fills the schema that marked replaced refresh tokens. After the migration
// the last token of a grant works, the replaced one does not, and the grant is pruned only when it has expired.
func TestTokensOutliveTheMigrationOfRefreshes(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			ctx, must := t.Context(), failOn(t)
			older := b.plus(t, nil)
			maps.DeleteFunc(older, func(name string, _ *fstest.MapFile) bool { return name >= "00067" })
			must(b.migrate(t, older))
			raw := b.raw(t)
			if b.name == "sqlite" { // as the store has left it
				_, err := raw.ExecContext(ctx, "PRAGMA journal_mode = WAL")
				must(err)
			}
			for _, r := range rowsOfUsers {
				if !slices.Contains([]string{"app_user", "oauth_client", "oauth_grant"}, r.table) {
					continue
				}
				statement := strings.ReplaceAll("INSERT INTO "+r.table+" "+r.insert, "NAME", "a")
				_, err := raw.ExecContext(ctx, statement)
				must(err)
			}
			for _, row := range []struct {
				statement string
				hash      string
			}{
				{`INSERT INTO oauth_refresh (hash, grant_id, created_at, replaced_at) VALUES ($1, 'grt_a', 1, 5)`, "first"},
				{`INSERT INTO oauth_refresh (hash, grant_id, created_at) VALUES ($1, 'grt_a', 5)`, "second"},
				{`INSERT INTO oauth_token (hash, grant_id, scopes, resources, created_at, expires_at)
					VALUES ($1, 'grt_a', '["agents"]', '[]', 5, 9)`, "access"},
			} {
				_, err := raw.ExecContext(ctx, row.statement, []byte(row.hash))
				must(err)
			}
			_, err := raw.ExecContext(ctx, `UPDATE oauth_grant SET expires_at = 100`)
			must(err)
			must(raw.Close())

			db := open(t, b.options)
			last, err := db.RefreshToken(ctx, []byte("second"), []byte("third"))
			if err != nil || last.CreatedAt.UnixMilli() != 5 || last.ExpiresAt.UnixMilli() != 100 {
				t.Errorf("the last token is %+v, %v", last, err)
			}
			if _, err := db.RefreshToken(ctx, []byte("first"), []byte("second")); !core.IsKind(err, core.KindNotFound) {
				t.Errorf("the replaced token: %v", err)
			}
			access, err := db.AccessToken(ctx, []byte("access"))
			if err != nil || !slices.Equal(access.Scopes, []string{"agents"}) || access.ExpiresAt.UnixMilli() != 9 {
				t.Errorf("the access token is %+v, %v", access, err)
			}
			for i, want := range []int{1, 0} {
				traces := at(int64(100 + i))
				must(db.PruneOAuth(ctx, at(1), at(0), traces))
				if n, err := db.Count(ctx, "oauth_grant"); n != want || err != nil {
					t.Errorf("%d grants after pruning those before %v, want %d (%v)", n, traces, want, err)
				}
				var behind int // are looked at again by every pruning
				must(get(ctx, db.read, `SELECT count(*) FROM oauth_grant WHERE prune_at < expires_at`, nil, &behind))
				if behind != 0 {
					t.Errorf("prune_at of %d grants has not followed expires_at", behind)
				}
			}
		})
	}
}
