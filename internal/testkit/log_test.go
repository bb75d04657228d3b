package testkit

import (
	"fmt"
	"strings"
	"testing"
)

func TestExcerptLeavesOutSuccessfulRequests(t *testing.T) {
	t.Parallel()
	var l Log
	for i := range 1000 {
		level, status := "INFO", 200
		if i == 7 || i == 990 {
			level, status = "ERROR", 500
		}
		fmt.Fprintf(&l, "{\"level\":%q,\"msg\":\"request\",\"n\":%d,\"status\":%d}\n", level, i, status)
	}
	fmt.Fprintf(&l, "{\"level\":\"INFO\",\"msg\":\"stopping\"}\n")
	got := l.Excerpt()
	if want := []string{"(998 of 1001 lines left out)", `"n":7,`, `"n":990,`, "stopping"}; !inOrder(got, want) {
		t.Errorf("the excerpt has not %q:\n%s", want, got)
	}
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("the excerpt has %d lines:\n%s", n+1, got)
	}
}

func TestExcerptIsShort(t *testing.T) {
	t.Parallel()
	var l Log
	for i := range 1000 {
		fmt.Fprintf(&l, "%d %s\n", i, strings.Repeat("x", 10_000))
	}
	got := l.Excerpt()
	if len(got) > (excerptLines+1)*(excerptWidth+1) || !strings.Contains(got, "\n999 x") {
		t.Errorf("the excerpt has %d bytes", len(got))
	}
}

func TestExcerptOfAShortLogIsTheLog(t *testing.T) {
	t.Parallel()
	var l Log
	fmt.Fprint(&l, "one\ntwo\n")
	if got := l.Excerpt(); got != "one\ntwo" {
		t.Errorf("Excerpt() = %q", got)
	}
}

func inOrder(s string, parts []string) bool {
	for _, part := range parts {
		var found bool
		if _, s, found = strings.Cut(s, part); !found {
			return false
		}
	}
	return true
}
