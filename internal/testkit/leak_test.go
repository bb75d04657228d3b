package testkit

import (
	"strings"
	"testing"
)

func TestSecretInALogIsDetected(t *testing.T) {
	t.Parallel()
	secret := "crla_" + strings.Repeat("x", 38)
	for line, leaks := range map[string]bool{
		`time=1 level=INFO msg=request path=/api/agents id=agt_01m7f6qgkzearsvq1ftnbezdnw`: false,
		`time=1 level=INFO msg=request query=token=` + secret:                              true,
		`{"level":"WARN","error":"` + secret + `"}`:                                        true,
		`time=1 level=INFO authorization="Bearer abcdefghijklmnopqrstuvwxyz"`:              true,
		`time=1 level=INFO token=eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwIn0.x`:               true,
		"Your key is " + secret:               false, // printed for the user
		`time=1 level=INFO msg="crl_[masked]`: false,
	} {
		if got := leakIn("first\n" + line + "\nlast"); (got != "") != leaks || strings.Contains(got, secret) {
			t.Errorf("%s: %q", line, got)
		}
	}
}
