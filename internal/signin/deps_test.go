package signin_test

import (
	"testing"

	"carrel/internal/signin"
	"carrel/internal/testkit"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	testkit.RequiresDeps(t, newFixture(t).deps(), func(d signin.Deps) { signin.NewService(d) })
}
