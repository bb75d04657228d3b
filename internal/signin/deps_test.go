package signin_test

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/signin"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, remove := range map[string]func(*signin.Deps){
		"Store": func(d *signin.Deps) { d.Store = nil }, "Clock": func(d *signin.Deps) { d.Clock = nil },
		"Audit": func(d *signin.Deps) { d.Audit = nil }, "Sessions": func(d *signin.Deps) { d.Sessions = nil },
		"Sealer": func(d *signin.Deps) { d.Sealer = nil }, "Key": func(d *signin.Deps) { d.Key = nil },
	} {
		deps := f.deps()
		remove(&deps)
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, "Deps."+name) {
					t.Errorf("without %s: %s", name, message)
				}
			}()
			signin.NewService(deps)
		}()
	}
}
