// Package web tests the web app in a real browser against real servers.
package web

import (
	"testing"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
