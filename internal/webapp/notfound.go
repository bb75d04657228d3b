package webapp

import (
	"net/http"
	"strings"

	"carrel/internal/core"
)

// ProblemWriter writes an error as the reply to a request.
type ProblemWriter func(w http.ResponseWriter, r *http.Request, err error)

// NotFound returns a writer that sends a page to browsers that open an unknown address, and leaves all other errors to
// another writer.
func (a *App) NotFound(problem ProblemWriter) ProblemWriter {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if core.IsKind(err, core.KindNotFound) && opensPage(r) {
			a.fail(w, r, http.StatusNotFound, "not_found")
			return
		}
		problem(w, r, err)
	}
}

// opensPage reports whether a browser requests a page, not a path of the API.
func opensPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, prefix := range []string{"/api/", "/mcp", "/.well-known/", "/assets/"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return false
		}
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
