package store_test

import (
	"testing"

)

func TestTaskStore(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			runTaskSuite(t, e.open)
		})
	}
}

func TestTaskStoreMatchesTheModel(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			runTaskModel(t, e.open(t))
		})
	}
}
