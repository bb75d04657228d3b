package webapp

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzCookie checks that read returns a secret only from a Cookie header that contains the name.
func FuzzCookie(f *testing.F) {
	for _, seed := range []string{
		"", "carrel=", "carrel=a", "carrel=a; carrel=b", "__Host-carrel=a", `carrel="a"`,
		"carrel=a;", "=a", ";;;", "carrel=\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Cookie": {header}}}
		token, ok := cookie{name: "carrel"}.read(r)
		if ok == (token == "") {
			t.Errorf("%q gives %q, %v", header, token, ok)
		}
		if ok && strings.Count(header, "carrel") < 1 {
			t.Errorf("%q gives %q", header, token)
		}
	})
}
