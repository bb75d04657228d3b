// Package testkit is what tests share: PostgreSQL databases, a clock that tests move, and the real program running
// as a server. It imports nothing of ours, so that the tests of any package may use it.
//
// A package whose tests use databases or servers has one more function, which also finds leaked goroutines:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
package testkit

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, gives back what they shared (the PostgreSQL server, the built program, their
// folder), fails if goroutines are left over, and exits. Without it everything is still cleared away, but later:
// the kernel ends the child processes, and the next run of tests removes the folder.
func Main(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(releasing{m}, options...)
}

// releasing gives back what the tests shared between their end and the search for leaked goroutines.
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

// Release gives back what this process shares between tests. Main calls it; a program that is no test calls it
// itself.
func Release() error {
	return errors.Join(sharedPostgres.release(), scratch.release())
}
