package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
)

// TestUnknownFieldsOfEveryOperationAreFound sends every operation a parameter and a member that it does not have.
func TestUnknownFieldsOfEveryOperationAreFound(t *testing.T) {
	t.Parallel()
	bodies := 0
	for _, op := range core.Operations() {
		known, listed := requestFields[op]
		if !listed {
			t.Errorf("%s is not in the table", op)
		}
		traits, _ := op.Traits()
		query := "nonsense=1"
		for _, name := range known.query {
			query += "&" + name + "=x"
		}
		if got := unknownFields(op, query, nil); !slices.Equal(got, []string{"nonsense"}) {
			t.Errorf("%s?%s: %v", op, query, got)
		}
		if known.body == nil {
			if traits.Body != core.BodyNone && !traits.Plain {
				t.Errorf("%s has a body without members", op)
			}
			continue
		}
		bodies++
		body, want := sample(known.body, "")
		if got := unknownFields(op, "", []byte(body)); !slices.Equal(got, want[:min(len(want), maxUnknown)]) {
			t.Errorf("%s with %s:\n%v, want\n%v", op, body, got, want)
		}
	}
	if bodies < 40 {
		t.Errorf("only %d operations have a body", bodies)
	}
}

// sample returns an object with all members and an unknown one on every level, and the pointers of the unknown ones.
func sample(m members, at string) (body string, unknown []string) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	parts := []string{`"nonsense":{"deep":[]}`}
	unknown = []string{at + "/nonsense"}
	for _, name := range names {
		value := `{"any":["thing",1]}`
		if m[name] != nil {
			inner, more := sample(m[name], at+"/"+name+"/0")
			value, unknown = "["+inner+"]", append(unknown, more...)
		}
		parts = append(parts, `"`+name+`":`+value)
	}
	return "{" + strings.Join(parts, ",") + "}", unknown
}

func TestUnknownFieldsAreNotRepeatedAtWill(t *testing.T) {
	t.Parallel()
	got := unknownFields(core.OpSearch, "a%0ab=1", []byte(`{"query":"x","<script>":1,"ok-1":2,"card":{"free":1}}`))
	if !slices.Equal(got, []string{"", "/", "/ok-1", "/card"}) {
		t.Errorf("%q", got)
	}
	if got := unknownFields(core.OpSaveFavourite, "", []byte(`{"card":{"free":{"x":1}},"threadId":"t"}`)); got != nil {
		t.Errorf("inside a card: %q", got)
	}
	many := `{"a0":0` + strings.Repeat(`,"a":1`, 20) + `}`
	if got := unknownFields(core.OpSearch, "", []byte(many)); len(got) != maxUnknown {
		t.Errorf("%d are named", len(got))
	}
}

func TestWarningsAreAddedToObjects(t *testing.T) {
	t.Parallel()
	const warning = `{"code":"unknown_field","detail":"This request has no such field; it was ignored.","pointer":"/x"}`
	for body, want := range map[string]string{
		`{}`:                                `{"warnings":[` + warning + `]}`,
		`{"a":{"b":[1, 2]},"c":null}`:       `{"a":{"b":[1, 2]},"c":null,"warnings":[` + warning + `]}`,
		`{"warnings":[{"code":"c"}],"a":1}`: `{"a":1,"warnings":[{"code":"c"},` + warning + `]}`,
		`[1]`:                               `[1]`,
		``:                                  ``,
	} {
		if got := string(withWarnings([]byte(body), []string{"/x"})); got != want {
			t.Errorf("%s becomes %s", body, got)
		}
		if got := string(withWarnings([]byte(body), nil)); got != body {
			t.Errorf("%s without warnings becomes %s", body, got)
		}
	}
	rec := httptest.NewRecorder()
	reportUnknown(core.OpExportFavourites, func(http.ResponseWriter, *http.Request) {})(
		rec, httptest.NewRequest(http.MethodGet, "/x?format=csv&sort=year", http.NoBody))
	if got := rec.Header().Values(warningsHeader); !slices.Equal(got, []string{`unknown_field; pointer="sort"`}) {
		t.Errorf("the header is %q", got)
	}
}

// The search with known fields only must not pay for the check.
func TestKnownFieldsCostFewAllocations(t *testing.T) { //nolint:paralleltest // counts allocations
	body := []byte(`{"query":"relational model","numResults":10,"fromYear":1970}`)
	if n := testing.AllocsPerRun(100, func() { unknownFields(core.OpSearch, "", body) }); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
