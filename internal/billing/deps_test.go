package billing_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/billing"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	for missing, deps := range map[string]billing.Deps{
		"Store": {Clock: clock, Audit: &notes{}}, "Clock": {Store: db, Audit: &notes{}}, "Audit": {Store: db, Clock: clock},
	} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, "Deps."+missing) {
					t.Errorf("without %s: %s", missing, message)
				}
			}()
			billing.NewService(deps)
		}()
	}
}
