package testkit

import (
	"fmt"
	"runtime"
	"testing"
)

// verdict is how a helper under test ended the test it was given.
type verdict struct {
	verdict string // "pass", "error", "fatal" or "skip"
	message string
}

// recorder is a testing.TB that notes what a helper says instead of acting on it. What it does not define goes to
// the real test.
type recorder struct {
	testing.TB
	verdict
}

// ending runs a helper against a recorder and returns its verdict.
func ending(t *testing.T, helper func(testing.TB)) verdict {
	t.Helper()
	r := &recorder{TB: t, verdict: verdict{verdict: "pass"}}
	done := make(chan struct{})
	go func() { // Fatal and Skip end the goroutine
		defer close(done)
		helper(r)
	}()
	<-done
	return r.verdict
}

func (r *recorder) note(v, message string) {
	r.verdict = verdict{v, r.message + message}
}

func (r *recorder) Helper()                           {}
func (r *recorder) Failed() bool                      { return r.verdict.verdict == "error" || r.verdict.verdict == "fatal" }
func (r *recorder) Error(args ...any)                 { r.note("error", fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note("error", fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.note("fatal", fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Fatal(fmt.Sprintf(format, args...))
}

func (r *recorder) Skip(args ...any) {
	r.note("skip", fmt.Sprint(args...))
	runtime.Goexit()
}
