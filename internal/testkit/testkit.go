// Package testkit provides PostgreSQL databases, a manual clock, and the real program running as a server to tests. It
// imports no other package of this module except core, so that tests of any package can use it.
//
// Packages whose tests use databases or servers call Main, which also detects leaked goroutines:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
package testkit

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"go.uber.org/goleak"
)

// Patience is how long tests wait for something that happens soon. It is far longer than anything takes, so that a busy
// machine fails no test.
const Patience = 4 * time.Minute

// Main runs the tests of a package, releases the resources they share (PostgreSQL server, OpenSearch node, built
// program, folder), fails if goroutines have leaked, and exits. Without it the resources are released later: the kernel
// ends the child processes, and the next test run removes the folder.
func Main(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(releasing{m}, options...)
}

// releasing releases the shared resources between the end of the tests and the check for leaked goroutines.
type releasing struct{ goleak.TestingM }

// Run implements goleak.TestingM.
func (r releasing) Run() int {
	code := r.TestingM.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := Release(); err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return max(code, 1)
	}
	return code
}

// Release releases the resources shared between the tests of this process. Main calls it; programs that are not tests
// must call it themselves.
func Release() error {
	return errors.Join(sharedPostgres.release(), sharedOpenSearch.close(), scratch.release(), memory.release())
}
