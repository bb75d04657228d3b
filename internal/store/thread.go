package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/thread"
)

const threadColumns = `id, agent_id, title, status, created_at, updated_at, last_message_at, pinned, archived, tags`

type threadRow struct {
	thread           thread.Thread
	created, updated int64
	lastMessage      sql.NullInt64
	pinned, archived int
	tags             string
}

func (r *threadRow) dest() []any {
	t := &r.thread
	return []any{
		&t.ID, &t.AgentID, &t.Title, (*string)(&t.Status), &r.created, &r.updated, &r.lastMessage, &r.pinned, &r.archived,
		&r.tags,
	}
}

func (r *threadRow) value() (t thread.Thread, err error) {
	t = r.thread
	t.CreatedAt, t.UpdatedAt, t.LastMessageAt = at(r.created), at(r.updated), optAt(r.lastMessage)
	t.Pinned, t.Archived = r.pinned == 1, r.archived == 1
	t.Tags, err = decodeList[string](r.tags)
	return t, err
}

// InsertThread stores a thread and returns it. If the user already has a thread with this id and agent, it returns that
// one unchanged.
//
// Without access to the agent the statement violates a foreign key. INSERT … SELECT … WHERE would insert nothing
// instead, but it may insert several rows, so SQLite first copies every page that it changes to a statement journal.
func (db *DB) InsertThread(ctx context.Context, userID string, t thread.Thread) (thread.Thread, error) {
	n, err := db.exec(ctx, `
		INSERT INTO thread (id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at,
			last_message_at)
		VALUES ($1, $2, CASE WHEN `+agentAccessible("$3", "$2")+` THEN $3 ELSE '' END, $4, $5, $6, 1, $7, $8, $9)
		ON CONFLICT (id) DO NOTHING`,
		t.ID, userID, t.AgentID, t.Title, string(t.Status), millis(activity(t)), millis(t.CreatedAt),
		millis(t.UpdatedAt),
		optMillis(t.LastMessageAt))
	if err == nil && n == 0 {
		if err = requireAgentAccess(ctx, db.read, userID, t.AgentID); err == nil {
			t, err = db.Thread(ctx, userID, t.AgentID, t.ID)
		}
	}
	return t, fail("insert thread", "agent", err)
}

// activity is the sort key of threads: the time of the last message or of the creation.
func activity(t thread.Thread) time.Time {
	if t.LastMessageAt != nil {
		return *t.LastMessageAt
	}
	return t.CreatedAt
}

// threadOfAgent is the condition for thread $1 of user $2 and agent $3, unless it is in the bin. The
// parentheses leave PostgreSQL only the primary key; before its first analysis of a table it may take the index of all
// threads of the agent instead.
const threadOfAgent = `id = $1 AND (user_id = $2 AND agent_id = $3 AND deleted_at IS NULL) IS TRUE`

type threadKey struct{ userID, agentID, threadID string }

// Thread returns one thread.
func (db *DB) Thread(ctx context.Context, userID, agentID, threadID string) (thread.Thread, error) {
	key := threadKey{userID, agentID, threadID}
	version, known := db.Version()
	if t, ok := db.cachedThreads.get(version, known, key); ok {
		return t, nil
	}
	return cached(ctx, db, &db.cachedThreads, version, known, key, func(ctx context.Context) (thread.Thread, error) {
		var r threadRow
		err := get(ctx, db.read, `SELECT `+threadColumns+` FROM thread WHERE `+threadOfAgent,
			args{threadID, userID, agentID}, r.dest()...)
		if err != nil {
			return thread.Thread{}, fail("read thread", "thread", err)
		}
		return r.value()
	})
}

// Threads returns up to n threads that a filter selects, in its order.
func (db *DB) Threads(
	ctx context.Context, userID, agentID string, f thread.Filter, after *thread.Key, n int,
) ([]thread.Thread, error) {
	c := conditions{args: args{userID, agentID}}
	where := `user_id = $1 AND agent_id = $2 AND deleted_at IS NULL`
	if !db.onPostgres() && isByActivity(f.Order) {
		// Two ranges of thread_pinned, which SQLite merges, spare every write to a thread an index by activity.
		return db.threads(ctx, []string{where + ` AND pinned = 1`, where + ` AND pinned = 0`}, c, f, after, n)
	}
	return db.threads(ctx, []string{where}, c, f, after, n)
}

// AllThreads returns up to n threads of a user with the given agents, or all agents that the user can access.
func (db *DB) AllThreads(
	ctx context.Context, userID string, agents []string, f thread.Filter, after *thread.Key, n int,
) ([]thread.Thread, error) {
	where, c := db.threadsOf(userID, agents)
	return db.threads(ctx, []string{where}, c, f, after, n)
}

// threadsOf returns the condition for the threads of a user with agents that the user can access; no agents mean all.
func (db *DB) threadsOf(userID string, agents []string) (where string, c conditions) {
	c.args = args{userID}
	where = `user_id = $1 AND deleted_at IS NULL AND ` + agentAccessible("thread.agent_id", "$1")
	if len(agents) > 0 {
		// IS TRUE keeps the order of thread_user: by the indexes of an agent, the threads of all agents would be sorted.
		where += ` AND (agent_id IN ` + db.dialect.in(c.param(encodeList(agents))) + `) IS TRUE`
	}
	return where, c
}

// threads returns threads of one or more ranges, each given by a condition. The order of several must be that by
// activity.
func (db *DB) threads(
	ctx context.Context, ranges []string, c conditions, f thread.Filter, after *thread.Key, n int,
) ([]thread.Thread, error) {
	order := threadOrder(&c, f.Order, after)
	if f.Status != "" {
		c.add(`status = $N`, string(f.Status))
	}
	if f.Archived != nil {
		c.add(`archived = $N + 0`, flag(*f.Archived))
	}
	if len(f.Tags) > 0 {
		c.add(`EXISTS (SELECT 1 FROM ` + db.dialect.rows("thread.tags") + ` AS tag WHERE tag.value IN ` +
			db.dialect.in(c.param(encodeList(f.Tags))) + `)`)
	}
	for _, word := range f.Words {
		// OFFSET keeps PostgreSQL from hashing the matching messages of all users, and ORDER BY from reading all messages of
		// the table for each thread if few threads have most of them.
		c.add(`(` + c.contains(word, `title`) + ` OR EXISTS (
			SELECT 1 FROM message m WHERE m.thread_id = thread.id AND ` + c.contains(word, `m.text`) + `
			ORDER BY m.seq LIMIT 1 OFFSET 0))`)
	}
	columns := threadColumns
	var r threadRow
	dest := r.dest()
	if len(ranges) > 1 {
		var active int64
		columns, dest = columns+`, activity_at`, append(dest, &active) // UNION orders by columns of its result
	}
	selects := make([]string, len(ranges))
	for i, where := range ranges {
		selects[i] = `SELECT ` + columns + ` FROM thread WHERE ` + where + c.and()
	}
	threads := make([]thread.Thread, 0, capacityFor(n))
	err := db.read.each(ctx, strings.Join(selects, ` UNION ALL `)+`
		ORDER BY `+order+` LIMIT `+c.param(n)+` + 0`, c.args, dest, func() error {
		t, err := r.value()
		threads = append(threads, t)
		return err
	})
	if err != nil {
		return nil, fail("list threads", "agent", err)
	}
	return threads, nil
}

// LatestMatches returns the latest message of each thread that contains one of the words, by thread.
func (db *DB) LatestMatches(
	ctx context.Context, threadIDs, words []string,
) (map[string]thread.Message, error) {
	c := conditions{args: args{encodeList(threadIDs)}}
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = c.contains(word, `said.text`)
	}
	var m thread.Message
	found := map[string]thread.Message{}
	err := db.read.each(ctx, `
		SELECT message.thread_id, message.id, message.text FROM `+db.dialect.rows("$1")+` AS found
		JOIN message ON message.thread_id = found.value AND message.seq = (
			SELECT seq FROM message said WHERE said.thread_id = found.value AND (`+strings.Join(parts, ` OR `)+`)
			ORDER BY seq DESC LIMIT 1)`, c.args, []any{&m.ThreadID, &m.ID, &m.Text}, func() error {
		found[m.ThreadID] = m
		return nil
	})
	return found, fail("find messages", "thread", err)
}

// ThreadTags returns the spellings of tags with the number of their threads. Those of the latest threads come first.
func (db *DB) ThreadTags(ctx context.Context, userID string, agents []string) ([]core.Tag, error) {
	where, c := db.threadsOf(userID, agents)
	tags, err := db.countTags(ctx, `
		SELECT tags FROM thread WHERE `+where+` AND tags <> '[]' ORDER BY activity_at DESC, id DESC`, c.args)
	return tags, fail("list tags", "agent", err)
}

// isByActivity reports whether an order is that by activity, which is also the default.
func isByActivity(o thread.Order) bool {
	return o != thread.OrderTitle && o != thread.OrderPinned && o != thread.OrderCreated
}

// threadOrder returns the order of a list of threads, and adds the condition of a page after a key.
func threadOrder(c *conditions, o thread.Order, after *thread.Key) string {
	switch o {
	case thread.OrderTitle:
		if after != nil {
			c.add(`(title, id) > ($N, $M)`, after.Title, after.ID)
		}
		return `title, id`
	case thread.OrderPinned:
		if after != nil {
			c.add(`(pinned, activity_at, id) < (`+c.param(flag(after.Pinned))+` + 0, $N, $M)`, millis(after.Activity), after.ID)
		}
		return `pinned DESC, activity_at DESC, id DESC`
	case thread.OrderCreated:
		if after != nil {
			c.add(`id < $N`, after.ID)
		}
		return `id DESC`
	default:
		active, id := int64(lastTime), ""
		if after != nil {
			active, id = millis(after.Activity), after.ID
		}
		c.add(`(activity_at, id) < ($N, $M)`, active, id)
		return `activity_at DESC, id DESC`
	}
}

// ChangeThread sets the given fields of a thread without changing its position in lists by activity.
func (db *DB) ChangeThread(
	ctx context.Context, userID, agentID, threadID string, c thread.Change, now time.Time,
) (thread.Thread, error) {
	set := conditions{args: args{threadID, userID, agentID, millis(now)}}
	columns := `updated_at = $4`
	if c.Title != nil {
		columns += `, title = ` + set.param(*c.Title)
	}
	if c.Pinned != nil {
		columns += `, pinned = ` + set.param(flag(*c.Pinned)) + ` + 0`
	}
	if c.Archived != nil {
		columns += `, archived = ` + set.param(flag(*c.Archived)) + ` + 0`
	}
	if c.Tags != nil {
		columns += `, tags = ` + set.param(encodeList(*c.Tags))
	}
	var r threadRow
	err := db.execReturning(ctx, `UPDATE thread SET `+columns+` WHERE `+threadOfAgent+` RETURNING `+threadColumns,
		set.args, r.dest())
	if err != nil {
		return thread.Thread{}, fail("change thread", "thread", err)
	}
	return r.value()
}

// DeleteThread moves a thread to the bin, or deletes it with its messages if there is no bin. It deletes the turns of
// the thread; the fence stops a running one. Favourites saved from the thread lose their reference to it.
func (db *DB) DeleteThread(ctx context.Context, userID, agentID, threadID string, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.removeThread(ctx, tx, userID, agentID, threadID, now); err != nil {
			return err
		}
		return deleteTasks(ctx, tx, threadID)
	})
	return fail("delete thread", "thread", err)
}

func (db *DB) removeThread(
	ctx context.Context, tx querier, userID, agentID, threadID string, now time.Time,
) error {
	key := args{threadID, userID, agentID}
	if !db.bin {
		n, err := tx.exec(ctx, `DELETE FROM thread WHERE `+threadOfAgent, key...)
		return requireRow("delete thread", "thread", n, err)
	}
	var title string
	err := get(ctx, tx, `UPDATE thread SET deleted_at = $4, status = $5 WHERE `+threadOfAgent+` RETURNING title`,
		append(key, millis(now), string(thread.StatusIdle)), &title)
	if err != nil {
		return err
	}
	return putInBin(ctx, tx, binned{
		userID: userID, agentID: agentID, kind: bin.KindThread, itemID: threadID, title: title, at: now,
	})
}
