package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"carrel/internal/task"
)

// leaseClock returns the present for a statement about leases: PostgreSQL's own, because the clocks of nodes differ;
// on SQLite all are on one machine, and its time becomes the last parameter.
func (db *DB) leaseClock(a args) (string, args) {
	if db.onPostgres() {
		return `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`, a
	}
	a = append(a, millis(time.Now()))
	return "$" + strconv.Itoa(len(a)), a
}

// JoinNode takes a lease under a new id. Alone, it ends all others.
func (db *DB) JoinNode(ctx context.Context, node, version string, lease time.Duration, alone bool) error {
	clock, a := db.leaseClock(args{node, version, lease.Milliseconds()})
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		if alone {
			if _, err := tx.exec(ctx, `DELETE FROM node`); err != nil {
				return err
			}
		}
		_, err := tx.exec(ctx, `
			INSERT INTO node (id, version, lease_until, joined_at) VALUES ($1, $2, `+clock+` + $3, `+clock+`)`, a...)
		return err
	})
	return fail("join nodes", "node", err)
}

// RenewNode extends a lease that has not ended and returns how many others there are.
func (db *DB) RenewNode(ctx context.Context, node string, lease time.Duration) (int, error) {
	clock, a := db.leaseClock(args{node, lease.Milliseconds()})
	var peers int
	_, err := db.write.one(ctx, `
		UPDATE node SET lease_until = `+clock+` + $2 WHERE id = $1 AND lease_until > `+clock+`
		RETURNING (SELECT count(*) FROM node other WHERE other.id <> $1 AND other.lease_until > `+clock+`)`, a, []any{&peers})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, task.ErrLost
	}
	return peers, fail("renew lease", "node", err)
}

// LeaveNode ends a lease and queues the node's tasks again.
func (db *DB) LeaveNode(ctx context.Context, node string) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `UPDATE task SET state = 'queued', owner = NULL WHERE state = 'running' AND owner = $1`, node)
		if err == nil {
			_, err = tx.exec(ctx, `DELETE FROM node WHERE id = $1`, node)
		}
		return err
	})
	return fail("leave nodes", "node", err)
}

// SweepNodes forgets dead nodes and queues their tasks again.
func (db *DB) SweepNodes(ctx context.Context) (int, error) {
	clock, a := db.leaseClock(nil)
	// Most often everybody is alive, and nothing is written.
	var dead bool
	err := get(ctx, db.read, `
		SELECT EXISTS (SELECT 1 FROM node WHERE lease_until <= `+clock+`)
			OR EXISTS (SELECT 1 FROM task WHERE state = 'running' AND owner NOT IN (SELECT id FROM node))`, a, &dead)
	if err != nil || !dead {
		return 0, fail("sweep nodes", "node", err)
	}
	var queued int64
	err = db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		queued = 0
		if _, err := tx.exec(ctx, `DELETE FROM node WHERE lease_until <= `+clock, a...); err != nil {
			return err
		}
		owners, err := deadOwners(ctx, tx)
		for _, owner := range owners {
			// By name, so that a task that a live node has claimed meanwhile is not taken from it.
			n, err := tx.exec(ctx, `
				UPDATE task SET state = 'queued', owner = NULL, crashes = crashes + 1 WHERE state = 'running' AND owner = $1`, owner)
			if err != nil {
				return err
			}
			queued += n
		}
		return err
	})
	return int(queued), fail("sweep nodes", "node", err)
}

// deadOwners returns the owners of running tasks that are no nodes any more. Ids are not used twice, so a dead one
// stays dead.
func deadOwners(ctx context.Context, tx querier) ([]string, error) {
	var owners []string
	var owner string
	err := tx.each(ctx, `
		SELECT DISTINCT owner FROM task WHERE state = 'running' AND owner NOT IN (SELECT id FROM node)`,
		nil, []any{&owner}, func() error {
			owners = append(owners, owner)
			return nil
		})
	return owners, err
}

// NodeTasks returns the ids of the tasks that run under a node.
func (db *DB) NodeTasks(ctx context.Context, node string) ([]string, error) {
	var ids []string
	var id string
	err := db.read.each(ctx, `SELECT id FROM task WHERE state = 'running' AND owner = $1`, args{node}, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	return ids, fail("list the node's tasks", "node", err)
}
