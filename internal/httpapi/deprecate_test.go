package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
)

func TestDeprecations(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"DeprecatedOperationsSayWhenTheyEnd", deprecatedOperations}})
}

// deprecatedOperations calls every operation of the contract without a credential, because the headers are part of
// every reply.
func deprecatedOperations(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	deprecated := 0
	for _, op := range core.Operations() {
		traits, _ := op.Traits()
		if !strings.HasPrefix(traits.Path, "/api/") || strings.HasPrefix(traits.Path, "/api/auth/") {
			continue // handlers of other packages, none of which is deprecated
		}
		a := p.with("").send(traits.Method, strings.NewReplacer("{", "", "}", "").Replace(traits.Path), "")
		since, sunset, link := a.header.Get("Deprecation"), a.header.Get("Sunset"), a.header.Get("Link")
		if traits.Deprecated == (core.Deprecation{}) {
			if since != "" || sunset != "" || link != "" {
				t.Errorf("%s is not deprecated, but sends %q, %q, %q", op, since, sunset, link)
			}
			continue
		}
		deprecated++
		end, err := http.ParseTime(sunset)
		if since != "@"+strconv.FormatInt(traits.Deprecated.Since, 10) || err != nil ||
			end.Unix() != traits.Deprecated.Sunset || end.Before(time.Unix(traits.Deprecated.Since, 0)) ||
			link != `</docs#`+string(op)+`>; rel="deprecation"; type="text/html"` {
			t.Errorf("%s: %q, %q, %q", op, since, sunset, link)
		}
	}
	if deprecated != 3 { // the operations whose replies have a secret twice
		t.Errorf("%d operations are deprecated", deprecated)
	}
	made := p.accountKey().post("/api/account/webhooks", `{"url":"https://example.org"}`).ok(t)
	if made.header.Get("Deprecation") == "" {
		t.Error("a reply with a deprecated field does not say so")
	}
}
