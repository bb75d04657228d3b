package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// growthData creates the data and the requests of `bench growth`. The rows of the smallest size are created through the
// API. For the larger sizes they are copied in the database, because ten thousand turns of one thread, one after the
// other, would take longer than the measurement. Documents are always added through the API, which indexes them.
type growthData struct {
	carrel   *carrel
	postgres *postgres // nil for SQLite
	in       *instance
	progress func(format string, args ...any)
	key      string // a key of the main user with all scopes
	user     string // id of the main user

	source, document, longThread string
	rows, users, documents       int // numbers so far
	// mark is the time in milliseconds after which rows were created by a measurement, and are not copied.
	mark int64
	// copied is the number of the last copy.
	copied int
	// other is the key of another user, who sees the agents that are shared with everybody.
	other   string
	counter atomic.Uint64
}

const (
	// growthWorkers is how many requests create rows at a time.
	growthWorkers = 8
	// growthBatch is the number of documents of a request, and of rows of a page that is counted.
	growthBatch = 100
	// rowsOfOther is the number of rows of each kind that another user has.
	rowsOfOther = 5
)

// signUp creates the main user with an agent, and a key with all scopes.
func (g *growthData) signUp(ctx context.Context) error {
	if err := g.carrel.signUp(ctx); err != nil {
		return err
	}
	var made struct {
		Key string `json:"key"`
	}
	err := g.carrel.admin(ctx, &made, "key", "create", "--user", carrelEmail, "--name", "all",
		"--scopes", "agents,manage,account,admin")
	g.key = made.Key
	return err
}

// grow adds rows of each kind and other users until there are so many, and checks that the API returns them.
func (g *growthData) grow(ctx context.Context, rows, users int) error {
	if g.rows == 0 {
		if err := g.createRows(ctx, rows); err != nil {
			return err
		}
		g.progress("%d rows of each kind created", rows)
		if err := g.createUser(ctx); err != nil {
			return err
		}
		g.mark = time.Now().UnixMilli()
		if err := g.multiply(ctx, users, g.userCopies()); err != nil {
			return err
		}
	} else if err := g.multiply(ctx, rows/g.rows, g.copies()); err != nil {
		return err
	}
	g.rows, g.users = rows, users
	g.progress("%d other users, %d rows of each kind", users, rows)
	if err := g.addDocuments(ctx, rows); err != nil {
		return fmt.Errorf("documents: %w", err)
	}
	g.progress("%d documents indexed", rows)
	return g.checkRows(ctx)
}

// checkRows reads all pages of the lists, so that a copied row that the API cannot read fails the run.
func (g *growthData) checkRows(ctx context.Context) error {
	path := g.carrel.path
	for _, list := range []struct {
		path, rows string
		want       int
	}{
		{"/api/agents", "agents", g.rows},
		{path("threads"), "threads", g.rows},
		{path("threads/" + g.longThread + "/messages"), "messages", 2 * g.rows},
		{path("memories"), "memories", g.rows},
		{path("favourites"), "favourites", g.rows},
		{"/api/account/keys", "keys", g.rows},
		{"/api/account/connections", "connections", g.rows},
		{"/api/account/audit", "events", 2 * g.rows},
		{"/api/admin/users", "users", g.users + 1},
	} {
		found, cursor := 0, ""
		for more := true; more; more = cursor != "" {
			var reply map[string]json.RawMessage
			var rows []json.RawMessage
			query := fmt.Sprintf("%s?limit=%d", list.path, growthBatch)
			if cursor != "" {
				query += "&cursor=" + url.QueryEscape(cursor)
			}
			if err := g.do(ctx, http.MethodGet, query, "", &reply); err != nil {
				return err
			}
			cursor = ""
			if next := reply["nextCursor"]; next != nil {
				if err := json.Unmarshal(next, &cursor); err != nil {
					return err
				}
			}
			if err := json.Unmarshal(reply[list.rows], &rows); err != nil {
				return fmt.Errorf("%s: %w", list.path, err)
			}
			found += len(rows)
		}
		if found < list.want {
			return fmt.Errorf("%s has %d %s, want %d", list.path, found, list.rows, list.want)
		}
	}
	return nil
}

// createRows creates the rows of the smallest size through the API.
func (g *growthData) createRows(ctx context.Context, rows int) error {
	if err := g.begin(ctx); err != nil {
		return err
	}
	path := g.carrel.path
	for _, kind := range []struct {
		path, body string
		workers    int
	}{
		{path("threads"), `{"title": "note %d about subject %d"}`, growthWorkers},
		{path("threads/" + g.longThread + "/messages"), `{"text": "note %d about subject %d"}`, 1}, // one turn at a time
		{path("memories"), `{"text": "note %d about subject %d"}`, growthWorkers},
		{path("favourites"), `{"card": {"id": "card_%d", "title": "Document %d"}}`, growthWorkers},
		{"/api/account/keys", `{"name": "key %d of %d"}`, growthWorkers},
	} {
		err := each(ctx, kind.workers, rows, func(ctx context.Context, n int) error {
			return g.do(ctx, http.MethodPost, kind.path, fmt.Sprintf(kind.body, n, n%97), nil)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", kind.path, err)
		}
	}
	if err := each(ctx, growthWorkers, rows, g.addSharedAgent); err != nil {
		return err
	}
	return each(ctx, growthWorkers, rows, g.addConnection)
}

// begin finds the main user and the agent's source, and creates the thread of many messages.
func (g *growthData) begin(ctx context.Context) error {
	var reply struct {
		Account struct {
			ID string `json:"id"`
		} `json:"account"`
		Agent struct {
			Source string `json:"defaultSourceId"`
		} `json:"agent"`
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	err := errors.Join(
		g.do(ctx, http.MethodGet, "/api/account", "", &reply),
		g.do(ctx, http.MethodGet, "/api/agents/"+g.carrel.agent, "", &reply),
		g.do(ctx, http.MethodPost, g.carrel.path("threads"), `{"title": "Long"}`, &reply))
	g.user, g.source, g.longThread = reply.Account.ID, reply.Agent.Source, reply.Thread.ID
	return err
}

// addDocuments adds documents to the source until it has so many, and waits until they are indexed.
func (g *growthData) addDocuments(ctx context.Context, rows int) error {
	path := g.carrel.path("sources/" + g.source)
	for g.documents < rows {
		var documents []map[string]any
		for ; g.documents < rows && len(documents) < growthBatch; g.documents++ {
			n := g.documents
			documents = append(documents, map[string]any{
				"externalId": strconv.Itoa(n), "title": fmt.Sprintf("Document %d", n), "year": 1950 + n%70,
				"text": fmt.Sprintf("Reading number %d is about subject %d. %s", n, n%997, fillerWords),
			})
		}
		body, err := json.Marshal(map[string]any{"documents": documents})
		if err != nil {
			return err
		}
		if err := g.do(ctx, http.MethodPost, path+"/documents", string(body), nil); err != nil {
			return err
		}
	}
	var reply struct {
		Documents []struct {
			ID string `json:"id"`
		} `json:"documents"`
		Source struct {
			Indexed int `json:"indexed"`
		} `json:"source"`
	}
	for reply.Source.Indexed < rows {
		if err := g.do(ctx, http.MethodGet, path, "", &reply); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askEvery):
		}
	}
	if err := g.do(ctx, http.MethodGet, path+"/documents?limit=1", "", &reply); err != nil {
		return err
	}
	g.document = reply.Documents[0].ID
	return nil
}

// addConnection connects a program with a code.
func (g *growthData) addConnection(ctx context.Context, n int) error {
	var made struct {
		Code string `json:"code"`
	}
	if err := g.do(ctx, http.MethodPost, "/api/account/connect-codes", `{}`, &made); err != nil {
		return err
	}
	body := fmt.Sprintf(`{"code": %q, "client": "program %d"}`, made.Code, n)
	return g.do(ctx, http.MethodPost, "/api/connect/exchange", body, nil)
}

// addSharedAgent creates an agent and shares it with everybody.
func (g *growthData) addSharedAgent(ctx context.Context, n int) error {
	id, err := g.createAgent(ctx, g.key, fmt.Sprintf(`{"name": "agent %d"}`, n))
	if err != nil {
		return err
	}
	return g.do(ctx, http.MethodPut, "/api/agents/"+id+"/grants/everybody", `{"grant": "viewer"}`, nil)
}

func (g *growthData) createAgent(ctx context.Context, key, body string) (string, error) {
	var made struct {
		Agent struct {
			ID string `json:"id"`
		} `json:"agent"`
	}
	err := g.doWith(ctx, key, http.MethodPost, "/api/agents", body, &made)
	return made.Agent.ID, err
}

// createUser creates another user with a grant of the main agent. The grant is written to the database, because only
// the session of a browser accepts an invitation.
func (g *growthData) createUser(ctx context.Context) error {
	const email = "other@example.org"
	var made struct {
		Key  string `json:"key"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
	}
	for _, args := range [][]string{
		{"user", "create", "--email", email, "--name", "Other", "--password", carrelPassword},
		{"key", "create", "--user", email, "--name", "other", "--scopes", "agents,manage,account"},
	} {
		if err := g.carrel.admin(ctx, &made, args...); err != nil {
			return err
		}
	}
	g.other = made.Key
	if err := g.runSQL(ctx, fmt.Sprintf("INSERT INTO agent_grant (agent_id, user_id, role, created_at) "+
		"VALUES ('%s', '%s', 'user', 0)", g.carrel.agent, made.User.ID)); err != nil {
		return err
	}
	id, err := g.createAgent(ctx, g.other, `{"name": "Of another user"}`)
	if err != nil {
		return err
	}
	path := "/api/agents/" + id
	for i := range rowsOfOther {
		for _, row := range [][2]string{
			{path + "/threads", `{"title": "note %d of another user about subject 1"}`},
			{path + "/memories", `{"text": "note %d of another user about subject 1"}`},
			{path + "/favourites", `{"card": {"id": "card_%d", "title": "Of another user"}}`},
			{"/api/account/keys", `{"name": "key %d"}`},
		} {
			if err := g.doWith(ctx, g.other, http.MethodPost, row[0], fmt.Sprintf(row[1], i), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// each runs so many calls, several at a time, and returns the first error.
func each(ctx context.Context, workers, count int, call func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(count) && ctx.Err() == nil; n = next.Add(1) {
				if err := call(ctx, int(n-1)); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (g *growthData) do(ctx context.Context, method, path, body string, out any) error {
	return g.doWith(ctx, g.key, method, path, body, out)
}

func (g *growthData) doWith(ctx context.Context, key, method, path, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.in.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, reply)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(reply)).Decode(out)
}
