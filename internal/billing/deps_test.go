package billing_test

import (
	"testing"

	"carrel/internal/billing"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	complete := billing.Deps{Store: fixture.OpenStore(t), Clock: testkit.NewClock(), Audit: &notes{}}
	testkit.RequiresDeps(t, complete, func(d billing.Deps) { billing.NewService(d) })
}
