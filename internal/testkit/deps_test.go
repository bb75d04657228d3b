package testkit_test

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

// failures collects the errors of a helper instead of failing the test.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

type deps struct {
	Store  fmt.Stringer
	Key    []byte
	Caller func() `dep:"optional"`
	Name   string
}

func TestRequiresDepsReportsConstructorsThatAcceptAMissingField(t *testing.T) {
	t.Parallel()
	complete := deps{Store: &strings.Builder{}, Key: []byte("k")}
	for name, tc := range map[string]struct {
		deps      deps
		construct func(deps)
		want      []string
	}{
		"checks all": {complete, func(d deps) { core.RequireDeps(d) }, nil},
		"checks none": {complete, func(deps) {}, []string{
			`without Store: panic "", want "testkit_test.deps.Store is required and missing"`,
			`without Key: panic "", want "testkit_test.deps.Key is required and missing"`,
		}},
		"fails in another way": {complete, func(d deps) { _ = d.Store.String(); core.RequireDeps(d) }, []string{
			`without Store: panic "runtime error: invalid memory address or nil pointer dereference", ` +
				`want "testkit_test.deps.Store is required and missing"`,
		}},
		"is not complete": {deps{Key: []byte("k")}, func(d deps) { core.RequireDeps(d) }, []string{
			`complete dependencies are refused: testkit_test.deps.Store is required and missing`,
		}},
	} {
		f := &failures{TB: t}
		testkit.RequiresDeps(f, tc.deps, tc.construct)
		if got, want := strings.Join(f.messages, "\n"), strings.Join(tc.want, "\n"); got != want {
			t.Errorf("a constructor that %s:\n%s\nwant\n%s", name, got, want)
		}
	}
}
