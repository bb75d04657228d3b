package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/task"
)

// rowOf inserts a row of a user into a table. NAME stands for the user's name, so that leftovers are found by it, even
// in tables without a reference to users. $1 are bytes that contain the name.
type rowOf struct{ table, insert string }

// rowsOfUsers has a row for every table with user data, in the order of the references.
var rowsOfUsers = []rowOf{
	{"app_user", `(id, email, name, role, plan, password_hash, created_at, pending_email)
		VALUES ('usr_NAME', 'NAME@example.org', 'NAME', 'member', 'open', 'NAME', 1, 'NAME@example.com')`},
	{"credential_key", `(id, user_id, kind, name, hint, hash, scopes, agents, created_at)
		VALUES ('crd_NAME', 'usr_NAME', 'key', 'NAME', 'NAME', $1, '[]', '[]', 1)`},
	{"connect_code", `(id, user_id, hash, created_at, expires_at) VALUES ('cod_NAME', 'usr_NAME', $1, 1, 2)`},
	{"budget", `(user_id, period, reserved, spent) VALUES ('usr_NAME', '2026-11', 0, 7)`},
	{"agent", `(id, user_id, name, description, instructions, model, created_at, updated_at)
		VALUES ('agt_NAME', 'usr_NAME', 'NAME', '', '', '', 1, 1)`},
	{"source", `(id, agent_id, name, kind, is_default, documents, status, created_at, updated_at)
		VALUES ('src_NAME', 'agt_NAME', 'NAME', 'upload', 1, 1, 'ready', 1, 1)`},
	{"document", `(id, source_id, external_id, title, authors, text, url, doi, venue, type, hash, created_at, updated_at)
		VALUES ('doc_NAME', 'src_NAME', 'NAME', 'NAME', '[]', 'NAME', '', '', '', '', $1, 1, 1)`},
	{"document_change", `(seq, document_id, source_id, op) VALUES (length('NAME'), 'doc_NAME', 'src_NAME', 'put')`},
	{"thread", `(id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at)
		VALUES ('thr_NAME', 'usr_NAME', 'agt_NAME', 'NAME', 'idle', 1, 1, 1, 1)`},
	{"message", `(id, thread_id, seq, role, text, status, turn_id, created_at)
		VALUES ('msg_NAME', 'thr_NAME', 1, 'user', 'NAME', 'complete', 'trn_NAME', 1)`},
	{"thread_link", `(id, user_id, thread_id, hash, messages, created_at)
		VALUES ('lnk_NAME', 'usr_NAME', 'thr_NAME', $1, '["msg_NAME"]', 1)`},
	{"memory", `(user_id, agent_id, id, text, folded_hash, origin, created_at, updated_at)
		VALUES ('usr_NAME', 'agt_NAME', 'mem_NAME', 'NAME', $1, 'user', 1, 1)`},
	{"bin_item", `(id, user_id, agent_id, kind, item_id, title, bytes, deleted_at, content)
		VALUES ('bin_NAME', 'usr_NAME', 'agt_NAME', 'document', 'doc_NAME', 'NAME', 1, 1, '')`},
	{"bin_document", `(bin_id, file_name, file_size, id, source_id, external_id, title, authors, text, url, doi, venue, type,
		hash, created_at, updated_at, published_at, open_access_url, file, original_name, original_size, edits, tags,
		completed)
		VALUES ('bin_NAME', 'NAME', 1, 'doc_NAME', 'src_NAME', 'NAME', 'NAME', '[]', 'NAME', '', '', '', '', $1, 1, 1, '', '',
			'', '', 0, '', '[]', '')`},
	{"saved_search", `(user_id, agent_id, id, name, search, created_at, updated_at)
		VALUES ('usr_NAME', 'agt_NAME', 'sav_NAME', 'NAME', '{}', 1, 1)`},
	{"favourite", `(user_id, agent_id, card_id, card, created_at, updated_at)
		VALUES ('usr_NAME', 'agt_NAME', 'NAME', '{}', 1, 1)`},
	{"collection", `(id, user_id, name, folded, created_at, updated_at)
		VALUES ('col_NAME', 'usr_NAME', 'NAME', 'NAME', 1, 1)`},
	{"collection_favourite", `(collection_id, user_id, agent_id, card_id)
		VALUES ('col_NAME', 'usr_NAME', 'agt_NAME', 'NAME')`},
	{"idempotency", `(user_id, key, hash, seed, status, body, locked_until, created_at)
		VALUES ('usr_NAME', 'NAME', $1, '', 200, $1, 1, 1)`},
	{"task", `(id, kind, key, number, user_id, input, state, attempt, crashes, run_at, deadline_at, error_code,
		error_detail, created_at, finished_at)
		VALUES ('trn_NAME', 'turn', 'thr_NAME', 1, 'usr_NAME', $1, 'complete', 1, 0, 1, 2, '', '', 1, 2)`},
	{"task_step", `(task_id, n, kind, label, state, output, last_seq, started_at)
		VALUES ('trn_NAME', 1, 'x', 'NAME', 'finished', $1, 1, 1)`},
	{"task_event", `(task_id, seq, attempt, kind, payload) VALUES ('trn_NAME', 1, 1, 'done', $1)`},
	{"webhook", `(id, user_id, url, events, secret, created_at)
		VALUES ('whk_NAME', 'usr_NAME', 'https://NAME.example', '[]', $1, 1)`},
	{"webhook_delivery", `(id, webhook_id, message_id, event) VALUES ('trn_NAME', 'whk_NAME', 'NAME', 'turn.completed')`},
	{"usage_day", `(user_id, day, kind, count, micros) VALUES ('usr_NAME', '2026-11-03', 'search', 1, 0)`},
	{"embedding", `(document_id, model, text_hash, dims, vector, created_at) VALUES ('doc_NAME', 'm', 'NAME', 1, $1, 1)`},
	{"embedding_document", `(document_id, model, dims, seq) VALUES ('doc_NAME', 'm', 1, 1)`},
	{"oauth_client", `(id, kind, name, uri, redirect_uris, auth_method, created_at)
		VALUES ('cli_NAME', 'registered', 'NAME', '', '[]', 'none', 1)`},
	{"oauth_grant", `(id, user_id, client_id, scopes, resources, auth_time, created_at, expires_at)
		VALUES ('grt_NAME', 'usr_NAME', 'cli_NAME', '[]', '[]', 1, 1, 2)`},
	{"oauth_code", `(hash, grant_id, user_id, client_id, redirect_uri, challenge, nonce, scopes, resources, auth_time,
		expires_at)
		VALUES ($1, 'grt_NAME', 'usr_NAME', 'cli_NAME', '', '', '', '[]', '[]', 1, 2)`},
	{"oauth_token", `(hash, grant_id, scopes, resources, created_at, expires_at)
		VALUES ($1, 'grt_NAME', '[]', '[]', 1, 2)`},
	{"oauth_refresh", `(hash, grant_id, created_at) VALUES ($1, 'grt_NAME', 1)`},
	{"web_session", `(id, user_id, hash, address, agent, created_at, authenticated_at, seen_at, expires_at)
		VALUES ('ses_NAME', 'usr_NAME', $1, '', '', 1, 1, 1, 2)`},
	{"signin_pending", `(hash, kind, user_id, session_id, data, expires_at) VALUES ($1, 'factor', 'usr_NAME', '', $1, 2)`},
	{"signin_browser", `(hash, user_id, expires_at) VALUES ($1, 'usr_NAME', 2)`},
	{"password_reset", `(user_id, hash, clear_factors, created_at, expires_at) VALUES ('usr_NAME', $1, 0, 1, 2)`},
	{"account_invitation", `(id, hash, email, role, plan, created_by, created_at, expires_at)
		VALUES ('inv_NAME', $1, '', 'member', '', 'usr_NAME', 1, 2)`},
	{"totp", `(user_id, secret, last_step, created_at) VALUES ('usr_NAME', $1, 1, 1)`},
	{"recovery_code", `(user_id, hash) VALUES ('usr_NAME', $1)`},
	{"passkey", `(id, user_id, credential_id, name, record, created_at)
		VALUES ('pky_NAME', 'usr_NAME', $1, 'NAME', $1, 1)`},
	{"upstream_identity", `(issuer, subject, user_id, created_at)
		VALUES ('https://login.example', 'NAME', 'usr_NAME', 1)`},
	{"oauth_attempt", `(id, user_id, client_id, client_name, stage, problem, wrong, address, program, count, first_at,
		last_at)
		VALUES ('try_NAME', 'usr_NAME', 'cli_NAME', 'NAME', 'token', 'x', '', '', '', 1, 1, 1)`},
	{"source_file", `(id, source_id, name, size, version, hash, documents, skipped, error, created_at, updated_at)
		VALUES ('fil_NAME', 'src_NAME', 'NAME', 1, '', $1, 1, 0, '', 1, 1)`},
	{"zotero_item", `(source_id, library, card_id, item_key) VALUES ('src_NAME', 'users/1', 'NAME', 'ABCD2345')`},
	{"upload", `(id, source_id, name, size, received, ready, created_at, updated_at)
		VALUES ('upl_NAME', 'src_NAME', 'NAME', 1, 1, 1, 1, 1)`},
	{"upload_chunk", `(upload_id, start, data) VALUES ('upl_NAME', 0, $1)`},
	{"source_import", `(id, source_id, state, report, created_at, updated_at)
		VALUES ('imp_NAME', 'src_NAME', 'complete', '{}', 1, 1)`},
	{"subscription", `(user_id, plan, status, starts_at, cancel_at_end, source, external_id, event_at, updated_at)
		VALUES ('usr_NAME', 'open', 'active', 1, 0, 'admin', 'NAME', 1, 1)`},
	{"billing_customer", `(user_id, customer_id) VALUES ('usr_NAME', 'NAME')`},
	{"spend_row", `(id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state, reserved,
		micros, estimated, created_at, settled_at)
		VALUES ('spd_NAME', 'usr_NAME', '2026-11-03', 'trn_NAME', 'crd_NAME', 'agt_NAME', 'model', 'm', '', 'settled', 0,
			7, 0, 1, 2)`},
	{"credential_cap", `(credential_id, user_id, micros) VALUES ('crd_NAME', 'usr_NAME', 9)`},
	{"credential_budget", `(credential_id, period, user_id, reserved, spent)
		VALUES ('crd_NAME', '2026-11', 'usr_NAME', 0, 7)`},
	{"agent_grant", `(agent_id, user_id, role, created_at) VALUES ('agt_stays', 'usr_NAME', 'user', 1)`},
	{"agent_invitation", `(agent_id, invitee, user_id, role, created_at)
		VALUES ('agt_stays', 'usr_NAME', 'usr_NAME', 'user', 1), ('agt_stays', 'NAME@example.org', NULL, 'user', 1)`},
	{"invitation_decline", `(user_id, owner_id, declined_at) VALUES ('usr_NAME', 'usr_stays', 1)`},
	{"account_export", `(id, user_id, status, attempt, done, total, bytes, error_code, error_detail, created_at)
		VALUES ('exp_NAME', 'usr_NAME', 'complete', 1, 1, 1, 1, '', '', 1)`},
	{"account_export_part", `(export_id, attempt, n, data) VALUES ('exp_NAME', 1, 0, $1)`},
}

// otherTables contain no user data, or are checked separately.
var otherTables = map[string]string{
	"blob":         "hashes and sizes of files; Sweep deletes a file without a document with its row",
	"installation": "of all", "node": "of servers", "document_change_head": "a number", "search_index": "of servers",
	"lease":              "of servers",
	"embedding_progress": "of models", "oauth_key": "of the server", "plan": "of all",
	"billing_event":  "ids of events, which expire",
	"schema_version": "of the schema", "goose_db_version": "of the schema", "sqlite_sequence": "of SQLite",
	"live_answer": "cached replies of catalogues, by hash", "audit": "filled by the log itself",
	"audit_head":   "of the log",
	"write_check":  "of servers",
	"signin_limit": "counts by keyed hash, which expire", "rate_limit": "counts by keyed hash, which expire",
	"setup": "has one row, which a test inserts itself",
}

func fill(t *testing.T, db *DB, name string) {
	t.Helper()
	for _, r := range rowsOfUsers {
		statement := strings.ReplaceAll("INSERT INTO "+r.table+" "+r.insert, "NAME", name)
		var a []any
		if strings.Contains(statement, "$1") {
			a = []any{[]byte("bytes of " + name)}
		}
		if _, err := db.exec(t.Context(), statement, a...); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}

// tables lists the tables of the schema.
func tables(t *testing.T, db *DB) []string {
	t.Helper()
	names, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// mentions counts the rows of a table that contain a word in any column, as text or bytes.
func mentions(t *testing.T, db *DB, table, word string) (n int) {
	t.Helper()
	query := fmt.Sprintf(
		`SELECT count(*) FROM %s WHERE CAST(%s AS TEXT) LIKE '%%%s%%' OR CAST(%[2]s AS TEXT) LIKE '%%%x%%'`,
		table, table, word, word,
	)
	if !db.onPostgres() {
		columns, err := readIDs(t.Context(), db.read, `SELECT name FROM pragma_table_info('`+table+`')`, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range columns {
			columns[i] = `CAST("` + c + `" AS TEXT) LIKE '%` + word + `%'`
		}
		query = `SELECT count(*) FROM ` + table + ` WHERE ` + strings.Join(columns, " OR ")
	}
	if err := get(t.Context(), db.read, query, nil, &n); err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	return n
}

// deletionFixture is a database with a user who is deleted and a user who stays.
type deletionFixture struct {
	db        *DB
	log       *audit.Log
	engine    *task.Engine
	deletions *accountdata.Deletions
}

func newDeletionFixture(t *testing.T, b backend) deletionFixture {
	t.Helper()
	db := open(t, b.options)
	fill(t, db, "stays")
	fill(t, db, "leaves")
	quiet := slog.New(slog.DiscardHandler)
	l := deletionFixture{db: db, log: audit.New(audit.Deps{
		Store: db, Clock: core.SystemClock{}, Log: quiet,
		Address: func(context.Context) string { return "203.0.113.7" },
	})}
	clock := core.SystemClock{}
	l.engine = task.New(task.Deps{Store: db, Clock: clock, Log: quiet}, task.Options{SingleNode: b.name == "sqlite"})
	l.deletions = accountdata.NewDeletions(accountdata.DeletionDeps{
		Store: db, Tasks: l.engine, Clock: clock, Log: quiet,
	})
	l.engine.Register(l.deletions.Kind())
	if err := l.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.engine.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, r := range []audit.Record{
		{Event: audit.SignedIn, UserID: "usr_leaves"},
		{Event: audit.SteppedUp, UserID: "usr_leaves", Actor: "ses_of_old"}, // a session already pruned
		{Event: audit.RoleChanged, UserID: "usr_stays", Actor: "ses_of_old"},
		{Event: audit.UserDisabled, UserID: "usr_leaves", Actor: "crd_stays"},
		{Event: audit.UserEnabled, UserID: "usr_stays", Actor: "crd_leaves", Detail: map[string]string{"n": "1"}},
		{Event: audit.AgentShared, UserID: "usr_stays", Actor: "crd_stays", Detail: map[string]string{"with": "usr_leaves"}},
		{Event: audit.ClientRegistered, Actor: "cli_leaves", Detail: map[string]string{"id": "cli_leaves", "name": "leaves"}},
		{Event: audit.SignedIn, UserID: "usr_stays"},
	} {
		if err := l.log.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l deletionFixture) delete(t *testing.T, userID string) {
	t.Helper()
	started, err := l.deletions.DeleteUser(t.Context(), core.Operator(""), userID)
	if err != nil {
		t.Fatal(err)
	}
	ended, err := l.engine.Wait(t.Context(), started.ID)
	if err != nil || ended.State != task.StateComplete {
		t.Fatalf("%+v, %v", ended, err)
	}
}

func TestDeletedAccountLeavesNoRowsBehind(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := newDeletionFixture(t, b)
			if _, err := l.db.exec(t.Context(), `INSERT INTO setup (id, user_id, at) VALUES (1, 'usr_leaves', 1)`); err != nil {
				t.Fatal(err)
			}
			filled := map[string]bool{}
			for _, r := range rowsOfUsers {
				filled[r.table] = true
				if mentions(t, l.db, r.table, "leaves") == 0 {
					t.Errorf("the row of %s has no name, so that leftovers would not be found", r.table)
				}
			}
			l.delete(t, "usr_leaves")
			all := tables(t, l.db)
			for _, name := range all {
				if !filled[name] && otherTables[name] == "" {
					t.Errorf("table %s is new: add its user data to rowsOfUsers, so that the deletion is tested", name)
				}
				if n := mentions(t, l.db, name, "leaves"); n > 0 && name != "document_change" {
					t.Errorf("%d rows of %s still mention the deleted user", n, name)
				}
				if filled[name] && mentions(t, l.db, name, "stays") == 0 {
					t.Errorf("rows of another user were deleted from %s", name)
				}
			}
			if len(all) < len(rowsOfUsers) {
				t.Errorf("only %d tables were found", len(all))
			}
			drops, err := readIDs(t.Context(), l.db.read,
				`SELECT op || ' ' || document_id FROM document_change WHERE document_id LIKE '%leaves%'`, nil)
			if err != nil || !slices.Equal(drops, []string{"drop src_leaves"}) {
				t.Errorf("the change log has %q, %v", drops, err)
			}
		})
	}
}

func TestAuditLogStaysValidAndAnonymousAfterADeletion(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := newDeletionFixture(t, b)
			before, err := l.log.Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			l.delete(t, "usr_leaves")
			if _, err := l.log.Verify(t.Context(), &before); err != nil {
				t.Errorf("the end that was noted before: %v", err)
			}
			entries, err := l.db.AuditFrom(t.Context(), 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprintf("%s of %q by %q from %q %v",
					e.Event, e.UserID, e.Actor, e.Address, e.RedactedBy != 0))
			}
			want := []string{
				`sign_in of "" by "" from "" true`,
				`step_up of "" by "" from "" true`,
				`role_changed of "usr_stays" by "" from "" true`,
				`user_disabled of "" by "" from "" true`,
				`user_enabled of "usr_stays" by "" from "" true`,
				`agent_shared of "usr_stays" by "crd_stays" from "203.0.113.7" true`,
				`client_registered of "" by "" from "" true`,
				`sign_in of "usr_stays" by "usr_stays" from "203.0.113.7" false`,
				`account_deleted of "" by "operator" from "" false`,
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			l.delete(t, "usr_stays") // some of its entries are already redacted
			if _, err := l.log.Verify(t.Context(), &before); err != nil {
				t.Errorf("after a second deletion: %v", err)
			}
			if n := mentions(t, l.db, "audit", "stays"); n > 0 {
				t.Errorf("%d entries still mention the deleted user", n)
			}
		})
	}
}

func TestRedactionWithoutADeletionIsDetected(t *testing.T) {
	t.Parallel()
	b := backends(t)[0]
	for name, tamper := range map[string]string{
		"one more":             `UPDATE audit SET redacted_by = 9, detail = '{"n":"x"}' WHERE seq = 8`,
		"one less":             `UPDATE audit SET redacted_by = 0 WHERE seq = 1`,
		"another event":        `UPDATE audit SET event = 'sign_out' WHERE seq = 1`,
		"by an entry to come":  `UPDATE audit SET redacted_by = 10, detail = '{}' WHERE seq = 8`,
		"by another entry":     `UPDATE audit SET redacted_by = 8 WHERE seq = 7`,
		"by the one before it": `UPDATE audit SET redacted_by = 7, detail = '{}' WHERE seq = 8`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newDeletionFixture(t, backend{b.name, Options{Path: t.TempDir() + "/carrel.db"}, b.dialect})
			l.delete(t, "usr_leaves")
			if _, err := l.db.exec(t.Context(), tamper); err != nil {
				t.Fatal(err)
			}
			var broken *audit.BrokenError
			if _, err := l.log.Verify(t.Context(), nil); !errors.As(err, &broken) {
				t.Errorf("not detected: %v", err)
			}
		})
	}
}

func TestClosedAccountIsHiddenAndEventuallyDeleted(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := newDeletionFixture(t, b)
			// The state after a crash between closing the account and the end of the deletion.
			allow := func(account.User, bool) error { return nil }
			_, err := l.engine.SubmitWith(t.Context(), task.Spec{
				ID: "del_lost", Kind: "account_deletion", Key: "usr_leaves", RunAt: time.Now().Add(time.Hour),
			}, func(ctx context.Context, t task.Task) (task.Task, error) {
				return l.db.CloseUser(ctx, "usr_leaves", time.Now(), t, allow)
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, look := range map[string]func() error{
				"by id":    func() error { _, err := l.db.UserByID(t.Context(), "usr_leaves"); return err },
				"by email": func() error { _, err := l.db.UserByEmail(t.Context(), "leaves@example.org"); return err },
				"to change": func() error {
					_, err := l.db.AdjustUser(t.Context(), "usr_leaves", func(*account.User) error { return nil })
					return err
				},
				"to delete it": func() error {
					_, err := l.deletions.DeleteUser(t.Context(), core.Operator(""), "usr_leaves")
					return err
				},
			} {
				if err := look(); !core.IsKind(err, core.KindNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := l.engine.Cancel(t.Context(), "del_lost"); err != nil {
				t.Fatal(err)
			}
			if _, err := l.engine.Wait(t.Context(), "del_lost"); err != nil {
				t.Fatal(err)
			}
			if err := l.deletions.RunHousekeeping(t.Context()); err != nil {
				t.Fatal(err)
			}
			again, err := l.db.ActiveTask(t.Context(), "usr_leaves")
			if err == nil {
				_, err = l.engine.Wait(t.Context(), again.ID)
			}
			if err != nil && !core.IsKind(err, core.KindNotFound) { // the task may already have ended
				t.Fatal(err)
			}
			for table := range maps.Keys(map[string]bool{"app_user": true, "task": true}) {
				if n := mentions(t, l.db, table, "leaves"); n > 0 {
					t.Errorf("%d rows of %s still mention the deleted user", n, table)
				}
			}
		})
	}
}
