package accountdata_test

import (
	"testing"

	"carrel/internal/accountdata"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestConstructorsPanicWithoutADependency(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, store.Options{Path: fixture.SQLite(t)})
	deletions := accountdata.DeletionDeps{Store: w.db, Tasks: w.tasks, Clock: w.clock, Log: w.log}
	for name, remove := range map[string]func(*accountdata.DeletionDeps){
		"store": func(d *accountdata.DeletionDeps) { d.Store = nil },
		"tasks": func(d *accountdata.DeletionDeps) { d.Tasks = nil },
		"clock": func(d *accountdata.DeletionDeps) { d.Clock = nil },
		"log":   func(d *accountdata.DeletionDeps) { d.Log = nil },
	} {
		d := deletions
		remove(&d)
		if !testkit.Panics(func() { accountdata.NewDeletions(d) }) {
			t.Errorf("NewDeletions accepts a missing %s", name)
		}
	}
	exports := accountdata.ExportDeps{
		Store: w.db, Archives: accountdata.NewArchives(w.contents, w.clock), Tasks: w.tasks, Clock: w.clock, Audit: w.audit,
	}
	for name, remove := range map[string]func(*accountdata.ExportDeps){
		"store":    func(d *accountdata.ExportDeps) { d.Store = nil },
		"archives": func(d *accountdata.ExportDeps) { d.Archives = nil },
		"tasks":    func(d *accountdata.ExportDeps) { d.Tasks = nil },
		"clock":    func(d *accountdata.ExportDeps) { d.Clock = nil },
		"audit":    func(d *accountdata.ExportDeps) { d.Audit = nil },
	} {
		d := exports
		remove(&d)
		if !testkit.Panics(func() { accountdata.NewExports(d, accountdata.ExportOptions{}) }) {
			t.Errorf("NewExports accepts a missing %s", name)
		}
	}
}
