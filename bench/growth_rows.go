package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// growthDatabase is the name of the PostgreSQL database.
const growthDatabase = "growth"

// rowCopy copies rows of a table. set has the SQL expressions of the columns that differ; in them, #n is the number of
// the copy, which is never used twice. All other columns are copied unchanged.
type rowCopy struct {
	table, where string
	set          map[string]string
}

// newID returns the expression for the id of a copy, and for a reference to a row that is copied too.
func newID(column string) string { return column + ` || '-' || #n` }

// idHash returns the expression for the hash of a copied key or memory. It is unique, and no credential has it.
func (g *growthData) idHash() string {
	if g.postgres != nil {
		return "convert_to(" + newID("id") + ", 'UTF8')"
	}
	return "CAST(" + newID("id") + " AS BLOB)"
}

// text returns an SQL literal. Ids have no quotes.
func text(id string) string { return "'" + id + "'" }

// untilMark is the condition for rows that existed at the mark and for their copies.
func (g *growthData) untilMark() string { return fmt.Sprintf(" AND created_at <= %d", g.mark) }

// copies returns the copies that multiply the rows up to the mark. The rows of other users are copied to new users; the
// rows of the main user stay with this user. The main agent, the long thread and the documents are not copied.
func (g *growthData) copies() []rowCopy {
	agent, until, hash := text(g.carrel.agent), g.untilMark(), g.idHash()
	own := "user_id = " + text(g.user) + until
	id := newID("id")
	messages, turns := "thread_id = "+text(g.longThread), "key = "+text(g.longThread)
	ofTurns := "task_id IN (SELECT id FROM task WHERE " + turns + until + ")"
	return append([]rowCopy{
		{"agent", own + " AND id <> " + agent, map[string]string{"id": id}},
		{
			"source", "agent_id IN (SELECT id FROM agent WHERE " + own + ") AND agent_id <> " + agent + until,
			map[string]string{"id": id, "agent_id": newID("agent_id")},
		},
		{"agent_grant", "user_id IS NULL" + until, map[string]string{"agent_id": newID("agent_id")}},
		{"thread", own + " AND id <> " + text(g.longThread), map[string]string{"id": id}},
		{"memory", own, map[string]string{"id": id, "folded_hash": hash}},
		{"favourite", own, map[string]string{"card_id": newID("card_id")}},
		{"credential_key", own, map[string]string{"id": id, "hash": hash}},
		{"message", messages + until, map[string]string{
			"id": id, "turn_id": newID("turn_id"), "seq": "seq + #n * (SELECT max(seq) + 1 FROM message WHERE " + messages + ")",
		}},
		{"task", turns + until, map[string]string{
			"id": id, "number": "number + #n * (SELECT max(number) + 1 FROM task WHERE " + turns + ")",
		}},
		{"task_step", ofTurns, map[string]string{"task_id": newID("task_id")}},
		{"task_event", ofTurns, map[string]string{"task_id": newID("task_id")}},
		{"audit", fmt.Sprintf("at <= %d", g.mark), map[string]string{
			"seq": "seq + #n * (SELECT max(seq) + 1 FROM audit)",
		}},
	}, g.userCopies()...)
}

// userCopies returns the copies of the other users with their rows.
func (g *growthData) userCopies() []rowCopy {
	hash, id, userID, agentID := g.idHash(), newID("id"), newID("user_id"), newID("agent_id")
	users := "id <> " + text(g.user) + g.untilMark()
	others := "user_" + users
	return []rowCopy{
		{"app_user", users, map[string]string{"id": id, "email": "'copy-' || #n || '-' || email"}},
		{"agent", others, map[string]string{"id": id, "user_id": userID}},
		{
			"source", "agent_id IN (SELECT id FROM agent WHERE " + others + ")",
			map[string]string{"id": id, "agent_id": agentID},
		},
		{"agent_grant", others, map[string]string{"user_id": userID}},
		{"thread", others, map[string]string{"id": id, "user_id": userID, "agent_id": agentID}},
		{"memory", others, map[string]string{"id": id, "user_id": userID, "agent_id": agentID}},
		{"favourite", others, map[string]string{"user_id": userID, "agent_id": agentID}},
		{"credential_key", others, map[string]string{"id": id, "user_id": userID, "hash": hash}},
	}
}

// multiply makes so many rows of each copied row, in one transaction.
func (g *growthData) multiply(ctx context.Context, factor int, copies []rowCopy) error {
	if factor < 2 {
		return nil
	}
	var statements []string
	for _, c := range copies {
		columns, err := g.columns(ctx, c.table)
		if err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, column := range columns {
			values[i] = `"` + column + `"`
			if different := c.set[column]; different != "" {
				values[i] = strings.ReplaceAll(different, "#n", "copy.i")
			}
		}
		statements = append(statements, fmt.Sprintf(`
			WITH RECURSIVE copy(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM copy WHERE i < %d)
			INSERT INTO %s ("%s") SELECT %s FROM %s, copy WHERE %s`,
			g.copied+1, g.copied+factor-1, c.table, strings.Join(columns, `", "`), strings.Join(values, ", "), c.table, c.where))
	}
	g.copied += factor - 1
	return g.runSQL(ctx, append(statements,
		`UPDATE thread SET next_seq = (SELECT max(seq) + 1 FROM message WHERE thread_id = thread.id)
			WHERE id = `+text(g.longThread),
		`UPDATE audit_head SET seq = (SELECT max(seq) FROM audit)`)...)
}

// columns returns the names of a table's columns.
func (g *growthData) columns(ctx context.Context, table string) ([]string, error) {
	if g.postgres != nil {
		out, err := g.postgres.command(ctx, "psql", "-h", g.postgres.dir, "-U", "postgres", "-d", growthDatabase, "-At", "-c",
			"SELECT column_name FROM information_schema.columns WHERE table_name = "+text(table)).Output()
		return strings.Fields(string(out)), err
	}
	db, err := g.openSQLite()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info("+text(table)+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (g *growthData) openSQLite() (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(g.carrel.dataDir(), "carrel.db")+"?_pragma=busy_timeout(60000)")
}

// runSQL runs statements in one transaction. PostgreSQL then analyses its tables, as it would do by itself within a
// minute.
func (g *growthData) runSQL(ctx context.Context, statements ...string) (err error) {
	if g.postgres != nil {
		cmd := g.postgres.command(ctx, "psql", "-h", g.postgres.dir, "-U", "postgres", "-d", growthDatabase, "-q",
			"-v", "ON_ERROR_STOP=1", "-f", "-")
		cmd.Stdin = strings.NewReader("BEGIN;" + strings.Join(statements, ";\n") + ";COMMIT; ANALYZE;")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, stderr.String())
		}
		return nil
	}
	db, err := g.openSQLite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%w in %s", err, statement), tx.Rollback())
		}
	}
	return tx.Commit()
}
