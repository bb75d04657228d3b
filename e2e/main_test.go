package e2e

import (
	"testing"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
