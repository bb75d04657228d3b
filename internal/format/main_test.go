package format

import (
	"os"
	"testing"
)

// TestMain reads one hostile file where a test has started this program again for that, and runs the tests otherwise.
func TestMain(m *testing.M) {
	if path := os.Getenv(hostileFile); path != "" {
		readHostile(path)
		return
	}
	os.Exit(m.Run())
}
