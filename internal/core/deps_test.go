package core_test

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/core"
)

type exampleDeps struct {
	Clock  core.Clock
	Secret []byte
	Prices func(string) int
	Name   string
	Hook   func() `dep:"optional"`
}

func TestRequireDepsNamesTheMissingField(t *testing.T) {
	t.Parallel()
	prices := func(string) int { return 0 }
	for want, deps := range map[string]exampleDeps{
		"":       {Clock: core.SystemClock{}, Secret: []byte{}, Prices: prices},
		"Clock":  {Secret: []byte("s"), Prices: prices},
		"Secret": {Clock: core.SystemClock{}, Prices: prices},
		"Prices": {Clock: core.SystemClock{}, Secret: []byte("s")},
	} {
		if got := panicOf(func() { core.RequireDeps(deps) }); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("without %q: %q", want, got)
		}
	}
	var clock *core.SystemClock
	if got := panicOf(func() { core.RequireDeps(exampleDeps{Clock: clock, Secret: []byte("s"), Prices: prices}) }); !strings.Contains(got, "Clock") {
		t.Errorf("a nil pointer in an interface: %q", got)
	}
}

// panicOf returns the message f panics with, or "".
func panicOf(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
