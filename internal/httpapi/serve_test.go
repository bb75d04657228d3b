package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzAccept checks three properties of Accept: adding a range for JSON accepts it, adding a range that excludes
// everything has no effect, and the order of ranges does not matter.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"", "*/*", "text/html", "application/json;q=0, */*", "text/html, application/*;q=0.5", " , ,", ";q=0",
		"application/json;q=0.0;x=y", "*/*;Q=0",
		"application/json; charset=\"a,b\"",
	} {
		f.Add(seed)
	}
	accepts := func(header string) bool {
		return acceptsJSON(&http.Request{Header: http.Header{"Accept": {header}}}) == nil
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := accepts(header)
		if !accepts(header + ",application/json") {
			t.Errorf("%q with application/json is refused", header)
		}
		if strings.Trim(header, ", \t") != "" && accepts(header+",*/*;q=0") != got {
			t.Errorf("%q is decided by */*;q=0", header)
		}
		parts := strings.Split(header, ",")
		for i := range len(parts) / 2 {
			parts[i], parts[len(parts)-1-i] = parts[len(parts)-1-i], parts[i]
		}
		if reversed := strings.Join(parts, ","); accepts(reversed) != got {
			t.Errorf("%q is %v, %q is not", header, got, reversed)
		}
	})
}

// FuzzIfNoneMatch checks that a header matches if it contains the tag, and that without the tag only a star matches.
func FuzzIfNoneMatch(f *testing.F) {
	tag := etag([]byte("body"))
	for _, seed := range []string{"", "*", tag, "W/" + tag, `"a", ` + tag, `"a,b"`, ",,", "W/W/" + tag, tag[1:], `"*"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := matches(header, tag)
		if !matches(header+","+tag, tag) || !matches("W/"+tag+" ,"+header, tag) {
			t.Errorf("our tag is not found beside %q", header)
		}
		if got && !strings.Contains(header, "*") && !strings.Contains(header, tag) {
			t.Errorf("%q matches %s", header, tag)
		}
		if matches(header, etag([]byte("another body"))) && !strings.Contains(header, "*") {
			t.Errorf("%q matches another tag", header)
		}
	})
}

func TestETagDependsOnTheBody(t *testing.T) {
	t.Parallel()
	first, again, other := etag([]byte("a")), etag([]byte("a")), etag([]byte("b"))
	if first != again || first == other || etag(nil) == "" {
		t.Error("tags do not follow bodies")
	}
}
