package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const exportPath = accountPath + "/export"

// seenOfAccountData are states that need a full disk; on PostgreSQL the test writes them to the database.
var seenOfAccountData = []string{
	"value Export.status=failed", "field Export.error", "field ExportError.*", "reply downloadExport 409",
}

// accountDataCalls returns a request for every operation on exports and on the deletion of accounts.
func (w *installation) accountDataCalls() []call {
	return []call{
		{operation: "createExport", method: "POST", path: exportPath, key: w.fullKey},
		{operation: "getExport", method: "GET", path: exportPath, key: w.fullKey},
		{operation: "downloadExport", method: "GET", path: exportPath + "/file", key: w.fullKey},
		{operation: "deleteExport", method: "DELETE", path: exportPath, key: w.fullKey},
		{
			operation: "deleteAccount",
			method:    "DELETE",
			path:      accountPath,
			body:      `{"email": "ada@example.org"}`,
			key:       w.fullKey,
		},
		{operation: "deleteUser", method: "DELETE", path: adminPath + "/users/" + noUser, key: w.adminKey},
	}
}

// accountData exports one account and deletes two.
func (w *installation) accountData(t *testing.T) {
	for _, c := range w.accountDataCalls() {
		if slices.Contains(w.statuses[c.operation], http.StatusNotFound) {
			w.problem(t, c, 404, "not_found")
		}
	}
	w.exported(t)
	file := call{method: "GET", path: exportPath + "/file", key: w.fullKey}
	tag := w.send(t, file, http.StatusOK).header.Get("ETag")
	w.send(t, file.with("If-None-Match", tag), http.StatusNotModified)
	w.send(t, file.with("Range", "bytes=0-3"), http.StatusPartialContent)
	for _, beyond := range []string{"bytes=99999999999-", "bytes=0-1,4-5", "bytes=7-2", "lines=1-2"} {
		w.send(t, file.with("Range", beyond), http.StatusOK)
	}
	w.readArchive(t, file)
	status := call{method: "GET", path: exportPath, key: w.fullKey}
	w.send(t, status.with("If-None-Match", w.send(t, status, http.StatusOK).header.Get("ETag")), http.StatusNotModified)
	remove := call{method: "DELETE", path: exportPath, key: w.fullKey}
	w.problem(t, remove.with("If-Match", `"other"`), 412, "precondition_failed")
	w.send(t, remove, http.StatusOK)

	owner := w.browser(t, "ada@example.org")
	owner.method, owner.body = "DELETE", `{"email": "ada@example.org"}`
	w.problem(t, owner, 409, "conflict")
	owner.body = `{"email": "somebody@example.org"}`
	w.problem(t, owner, 400, "invalid_request")
	w.problem(t, call{method: "DELETE", path: accountPath, body: `{"email": "ada@example.org"}`, key: w.fullKey}, 403,
		"session_required")
	user := func(name string) string {
		return w.admin(t, "user", "create", "--email", name+"@example.org", "--name", name,
			"--password", "correct horse battery").text("user", "id")
	}
	user("zoe")
	zoe := w.browser(t, "zoe@example.org")
	zoe.method, zoe.body = "DELETE", `{"email": " Zoe@Example.org "}`
	w.send(t, zoe, http.StatusOK)
	w.problem(t, zoe, 401, "invalid_credential") // immediately
	gone := call{method: "DELETE", path: adminPath + "/users/" + user("guy"), key: w.adminKey}
	w.problem(t, gone.with("If-Match", `"other"`), 412, "precondition_failed")
	w.send(t, gone, http.StatusOK)
	w.problem(t, gone, 404, "not_found")
	gil, hal := adminPath+"/users/"+user("gil"), adminPath+"/users/"+user("hal")
	for _, one := range []string{gil, hal} {
		appoint := w.browser(t, "ada@example.org").with("Sec-Fetch-Site", "same-origin")
		appoint.method, appoint.path, appoint.body = "PATCH", one, `{"role": "admin"}`
		w.send(t, appoint, http.StatusOK)
	}
	asGil := w.admin(t, "key", "create", "--user", "gil@example.org", "--name", "test", "--scope", "admin").text("key")
	w.problem(t, call{method: "DELETE", path: hal, key: asGil}, 403, "forbidden") // only the owner deletes administrators
	for _, one := range []string{gil, hal} {
		w.send(t, call{method: "DELETE", path: one, key: w.adminKey}, http.StatusOK)
	}
	ada := w.send(t, call{method: "GET", path: accountPath, key: w.fullKey}, http.StatusOK).text("account", "id")
	w.problem(t, call{method: "DELETE", path: adminPath + "/users/" + ada, key: w.adminKey}, 409, "conflict")
}

// exported creates an export and waits until it is complete.
func (w *installation) exported(t *testing.T) {
	t.Helper()
	if got := w.full(t, "POST", exportPath, "").text("export", "status"); got != "working" {
		t.Errorf("a new export is %s", got)
	}
	for w.full(t, "GET", exportPath, "").text("export", "status") == "working" {
		select {
		case <-t.Context().Done():
			t.Fatal("the export did not end")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// readArchive checks that an archive is complete.
func (w *installation) readArchive(t *testing.T, file call) {
	t.Helper()
	_, body, _, err := w.exchange(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"README.md", "account.json", "agents/" + w.agent + "/agent.json",
		"agents/" + w.agent + "/threads/" + w.thread + ".md",
	} {
		if _, err := archive.Open(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// accountDataStates writes the states of a full disk to the database and reads them.
func (w *installation) accountDataStates(t *testing.T, at string) {
	w.exported(t)
	database(t, at, func(_ context.Context, conn *pgx.Conn) {
		execute(t, conn,
			`UPDATE account_export SET status = 'failed', error_code = 'no_space', error_detail = 'There is no room.'`)
	})
	w.full(t, "GET", exportPath, "")
	w.problem(t, call{method: "GET", path: exportPath + "/file", key: w.fullKey}, 409, "conflict")
}
