package webapp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/core"
)

func TestUnknownAddressIsAPageInABrowserAndAProblemElsewhere(t *testing.T) {
	t.Parallel()
	write := newSite(t).app.NotFound(func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusTeapot) // stands for a problem
	})
	const html = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept, language string
		err                            error
		want                           string // of the page; empty for a problem
	}{
		{"GET", "/nothing", html, "en", core.NotFound("path"), "Page not found"},
		{"GET", "/settings/nothing", html, "de", core.NotFound("path"), "Seite nicht gefunden"},
		{"GET", "/nothing", "*/*", "en", core.NotFound("path"), ""},
		{"POST", "/nothing", html, "en", core.NotFound("path"), ""},
		{"GET", "/api/nothing", html, "en", core.NotFound("path"), ""},
		{"GET", "/mcp/nothing", html, "en", core.NotFound("path"), ""},
		{"GET", "/nothing", html, "en", core.Internal(http.ErrBodyNotAllowed), ""},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Accept-Language", c.language)
		w := httptest.NewRecorder()
		write(w, r, c.err)
		page := w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "<h1>"+c.want+"</h1>")
		if c.want == "" && w.Code != http.StatusTeapot || c.want != "" && !page {
			t.Errorf("%s %s as %s: %d %s", c.method, c.path, c.accept, w.Code, w.Body)
		}
	}
}
