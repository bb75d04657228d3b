package store_test

import (
	"testing"

	"carrel/internal/store/storetest"
)

func TestTaskStore(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			storetest.RunTasks(t, e.open)
		})
	}
}

func TestTaskStoreMatchesTheModel(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			storetest.TaskModel(t, e.open(t))
		})
	}
}
