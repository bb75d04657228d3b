package core_test

import (
	"net/url"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

func TestOnlyWebAddressesAreLinks(t *testing.T) {
	t.Parallel()
	for _, s := range testkit.UnsafeLinks() {
		if got := core.WebLink(s); got != "" {
			t.Errorf("%q is a link: %q", s, got)
		}
	}
	for in, want := range map[string]string{
		"https://example.org/a?b=c#d": "https://example.org/a?b=c#d", "HTTP://example.org": "HTTP://example.org",
		" https://example.org\n":   "https://example.org",
		"https://bücher.example/ä": "https://bücher.example/ä", "https://example.org/a b": "https://example.org/a b",
		"http://10.0.0.1:8080/x": "http://10.0.0.1:8080/x",
		"":                       "", " ": "",
	} {
		if got := core.WebLink(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzWebLink checks that links start with a scheme that is safe in a browser.
func FuzzWebLink(f *testing.F) {
	for _, s := range testkit.UnsafeLinks() {
		f.Add(s)
	}
	f.Add("https://example.org/a")
	f.Fuzz(func(t *testing.T, s string) {
		got := core.WebLink(s)
		if got == "" {
			return
		}
		lower := strings.ToLower(got)
		if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
			t.Errorf("%q is a link: %q", s, got)
		}
		if u, err := url.Parse(got); err != nil || u.Host == "" || core.WebLink(got) != got {
			t.Errorf("%q: %v", got, err)
		}
	})
}
