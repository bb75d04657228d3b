package webhook_test

import (
	"testing"

	"carrel/internal/secretbox"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/webhook"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	box, err := secretbox.New([]byte("secret"), "webhook secrets")
	if err != nil {
		t.Fatal(err)
	}
	complete := webhook.Deps{Store: fixture.OpenStore(t), Sealer: box, Clock: testkit.NewClock()}
	testkit.RequiresDeps(t, complete, func(d webhook.Deps) { webhook.NewService(d, webhook.Options{}) })
}
