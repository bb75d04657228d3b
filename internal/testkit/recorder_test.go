package testkit

import (
	"fmt"
	"runtime"
	"testing"
)

// result is how a helper under test ended its test.
type result struct {
	outcome string // "pass", "error", "fatal" or "skip"
	message string
}

// recorder is a testing.TB that records the outcome instead of acting on it. Other methods are those of the real test.
type recorder struct {
	testing.TB
	result
}

// runHelper runs a helper with a recorder and returns its result.
func runHelper(t *testing.T, helper func(testing.TB)) result {
	t.Helper()
	r := &recorder{TB: t, result: result{outcome: "pass"}}
	done := make(chan struct{})
	go func() { // Fatal and Skip end the goroutine
		defer close(done)
		helper(r)
	}()
	<-done
	return r.result
}

func (r *recorder) note(v, message string) {
	r.result = result{v, r.message + message}
}

func (r *recorder) Helper() {}
func (r *recorder) Failed() bool {
	return r.result.outcome == "error" || r.result.outcome == "fatal"
}
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
