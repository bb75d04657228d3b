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
	for name, remove := range map[string]func(*webhook.Deps){
		"store":  func(d *webhook.Deps) { d.Store = nil },
		"sealer": func(d *webhook.Deps) { d.Sealer = nil },
		"clock":  func(d *webhook.Deps) { d.Clock = nil },
	} {
		d := complete
		remove(&d)
		if !testkit.Panics(func() { webhook.NewService(d, webhook.Options{}) }) {
			t.Errorf("NewService accepts a missing %s", name)
		}
	}
}
