package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"carrel/internal/testkit"
)

// database runs a step with a connection to the server's database.
func database(t *testing.T, url string, step func(ctx context.Context, conn *pgx.Conn)) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	step(ctx, conn)
}

func execute(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// inProgress sends every creation twice at once while the test locks its table. One of the two holds the
// Idempotency-Key and waits for the lock; the other must be refused with a retry.
func (w *installation) inProgress(t *testing.T, url string) {
	database(t, url, func(ctx context.Context, conn *pgx.Conn) {
		for _, c := range w.having(http.StatusUnprocessableEntity) {
			if c.operation == "sendMessage" || c.operation == "createUpload" {
				continue // the reply is the state of the turn or upload
			}
			if slices.ContainsFunc(w.peopleSessionCalls(), func(s call) bool { return s.operation == c.operation }) {
				continue // requires a session
			}
			c = w.authorized(c).with("Idempotency-Key", "in-progress-"+c.operation)
			execute(t, conn, "BEGIN")
			execute(t, conn,
				"LOCK TABLE agent, memory, saved_search, favourite, collection, thread, message, webhook, thread_link, "+
					"credential_key, connect_code IN EXCLUSIVE MODE")
			statuses := make(chan int, 2)
			for range 2 {
				go func() {
					status, _, _, err := w.exchange(ctx, c)
					if err != nil {
						t.Error(err)
					}
					statuses <- status
				}()
			}
			first := <-statuses
			execute(t, conn, "COMMIT")
			second := <-statuses
			if first != http.StatusConflict || second != http.StatusOK {
				t.Errorf("%s: statuses %d and then %d, want 409 and then 200", c.operation, first, second)
			}
		}
	})
}

// internal drops the tables of the running server, to cause an internal error, which no request can cause.
func (w *installation) internal(t *testing.T, url string) {
	database(t, url, func(_ context.Context, conn *pgx.Conn) {
		execute(t, conn, "ALTER SCHEMA public RENAME TO away")
		for _, c := range w.having(http.StatusInternalServerError) {
			c = w.authorized(c)
			w.problem(t, c, http.StatusInternalServerError, "internal")
		}
		execute(t, conn, "ALTER SCHEMA away RENAME TO public")
		w.do(t, "GET", "/api/agents", "")
	})
}

// unavailable stops the database and starts it again.
func (w *installation) unavailable(t *testing.T, pg *testkit.PostgresServer) {
	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.having(http.StatusServiceUnavailable) {
		c = w.authorized(c)
		w.problem(t, c, http.StatusServiceUnavailable, "unavailable")
	}
	if err := pg.Start(); err != nil {
		t.Fatal(err)
	}
	w.do(t, "GET", "/api/agents", "")
}

// authorized adds the credential with which a call reaches the database: a key, or a code in the right form.
func (w *installation) authorized(c call) call {
	if c.operation == "exchangeConnectCode" {
		c.body = `{"code": "` + w.code + `", "client": "test"}`
		return c
	}
	if c.key == "" {
		c.key = w.key
	}
	return c
}

// completedDocument reads a document that a public catalogue has completed. The test sends no requests to the
// catalogues, so it stores the result.
func (w *installation) completedDocument(t *testing.T, at string) {
	mine := w.agent
	defer func() { w.agent = mine }()
	w.agent = w.do(t, "POST", "/api/agents", `{"name": "Completed"}`).text("agent", "id")
	one := w.below("/sources/") + w.do(t, "POST", w.below("/sources"), `{"name": "Papers"}`).text("source", "id")
	id := w.do(t, "POST", one+"/documents", `{"documents": [{"externalId": "codd", "title": "A relational model"}]}`).
		text("documents", 0, "id")
	database(t, at, func(_ context.Context, conn *pgx.Conn) {
		execute(t, conn, `UPDATE document SET completed = '{"from":"crossref","fields":["title"]}' WHERE id = '`+id+`'`)
	})
	if got := w.do(t, "GET", w.below("/documents/"+id), "").text("document", "completed", "from"); got != "crossref" {
		t.Errorf("the document was completed by %q", got)
	}
	w.do(t, "GET", one+"/documents", "")
	w.do(t, "DELETE", "/api/agents/"+w.agent, "")
}
