package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"carrel/internal/task"
)

// leaseClock returns the current time as an SQL expression for leases. On PostgreSQL it is the server's clock, because
// the clocks of nodes differ. On SQLite all processes share a machine, and its time is appended to the parameters.
func (db *DB) leaseClock(a args) (string, args) {
	if db.onPostgres() {
		return `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`, a
	}
	a = append(a, millis(time.Now()))
	return "$" + strconv.Itoa(len(a)), a
}

// JoinNode takes a lease under a new id. With singleNode, it ends all other leases.
func (db *DB) JoinNode(ctx context.Context, node, version string, lease time.Duration, singleNode bool) error {
	clock, a := db.leaseClock(args{node, version, lease.Milliseconds()})
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if singleNode {
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

// RenewNode extends a lease that has not expired and returns the number of other live nodes.
func (db *DB) RenewNode(ctx context.Context, node string, lease time.Duration) (int, error) {
	clock, a := db.leaseClock(args{node, lease.Milliseconds()})
	var peers int
	err := db.execReturning(ctx, `
		UPDATE node SET lease_until = `+clock+` + $2 WHERE id = $1 AND lease_until > `+clock+`
		RETURNING (SELECT count(*) FROM node other WHERE other.id <> $1 AND other.lease_until > `+clock+`)`, a, []any{&peers})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, task.ErrLost
	}
	return peers, fail("renew lease", "node", err)
}

// LeaveNode ends a lease and queues the node's tasks again.
func (db *DB) LeaveNode(ctx context.Context, node string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `UPDATE task SET state = 'queued', owner = NULL WHERE state = 'running' AND owner = $1`,
			node)
		if err == nil {
			_, err = tx.exec(ctx, `DELETE FROM node WHERE id = $1`, node)
		}
		return err
	})
	return fail("leave nodes", "node", err)
}

// SweepNodes deletes expired leases and queues the tasks of their nodes again, counting a crash for each.
func (db *DB) SweepNodes(ctx context.Context) (int, error) {
	clock, a := db.leaseClock(nil)
	// Usually all nodes are alive, and nothing is written.
	var dead bool
	err := get(ctx, db.read, `
		SELECT EXISTS (SELECT 1 FROM node WHERE lease_until <= `+clock+`)
			OR EXISTS (SELECT 1 FROM task WHERE state = 'running' AND owner NOT IN (SELECT id FROM node))`, a, &dead)
	if err != nil || !dead {
		return 0, fail("sweep nodes", "node", err)
	}
	var queued int64
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		queued = 0
		if _, err := tx.exec(ctx, `DELETE FROM node WHERE lease_until <= `+clock, a...); err != nil {
			return err
		}
		owners, err := deadOwners(ctx, tx)
		for _, owner := range owners {
			// Per owner, so that a task claimed by a live node in the meantime is not taken.
			n, err := tx.exec(ctx, `
				UPDATE task SET state = 'queued', owner = NULL, crashes = crashes + 1 WHERE state = 'running' AND owner = $1`,
				owner)
			if err != nil {
				return err
			}
			queued += n
		}
		return err
	})
	return int(queued), fail("sweep nodes", "node", err)
}

// deadOwners returns the owners of running tasks that have no lease. Lease ids are never reused, so a dead owner stays
// dead.
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

// NodeTasks returns the ids of the tasks that a node owns.
func (db *DB) NodeTasks(ctx context.Context, node string) ([]string, error) {
	var ids []string
	var id string
	err := db.read.each(ctx, `SELECT id FROM task WHERE state = 'running' AND owner = $1`,
		args{node}, []any{&id}, func() error {
			ids = append(ids, id)
			return nil
		})
	return ids, fail("list the node's tasks", "node", err)
}
