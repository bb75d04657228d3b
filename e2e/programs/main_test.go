// Package programs tests what people run and paste: the command line, the SDKs, the commands and files of the
// documents, and the files for deployment.
package programs

import (
	"testing"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
