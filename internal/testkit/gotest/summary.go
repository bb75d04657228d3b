package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what is built, in the events of a build
	Test       string
	Output     string
}

// key is whose output an event is: a test's, a package's, or a build's.
type key struct{ pkg, test string }

// summary turns the events of a run into what a person wants to read: a line per package as it ends, the whole
// output of what failed, and the rest counted.
type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[key][]string
	failures                map[string]int // failed tests by package
	skips                   map[string][]string
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[key][]string{}, failures: map[string]int{}, skips: map[string][]string{}}
}

// read consumes the events of a run as they come. A line that is no event (go itself may complain) is passed on.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				s.add(e)
			} else {
				fmt.Fprint(s.out, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add takes in one event.
func (s *summary) add(e event) {
	k := key{cmp.Or(e.Package, e.ImportPath), e.Test}
	switch e.Action {
	case "output":
		s.output[k] = append(s.output[k], e.Output)
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e.Action, k)
		} else {
			s.endTest(e.Action, k)
		}
		delete(s.output, k)
	}
}

// endTest counts a test, subtests each for themselves.
func (s *summary) endTest(action string, k key) {
	switch action {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		reason := skipReason(s.output[k])
		s.skips[reason] = append(s.skips[reason], k.pkg+"."+k.test)
	case "fail":
		s.failed++
		s.failures[k.pkg]++
		s.print(s.output[k])
	}
}

// endPackage shows the line with which go test closes a package. A package that failed shows all it wrote outside of
// tests; if no test of it failed (it was not built, it leaked, it panicked) it counts as a failure itself.
func (s *summary) endPackage(action string, k key) {
	lines := s.output[k]
	if action != "fail" {
		for _, line := range lines {
			if strings.HasPrefix(line, "ok  ") {
				fmt.Fprint(s.out, line)
			}
		}
		return
	}
	// A test that was running when the program died has no end of its own; its output says where.
	for other, unfinished := range s.output {
		if other.pkg == k.pkg && other.test != "" {
			s.print(unfinished)
			delete(s.output, other)
		}
	}
	s.print(lines)
	if s.failures[k.pkg] == 0 {
		s.failed++
	}
}

// print writes lines of output, without the marks that only tell that a test began or went on.
func (s *summary) print(lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(s.out, line)
		}
	}
}

// close prints what was skipped, by reason, and the counts.
func (s *summary) close() {
	reasons := make([]string, 0, len(s.skips))
	for reason := range s.skips {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		fmt.Fprintf(s.out, "\nskipped: %s\n", reason)
		for _, test := range s.skips[reason] {
			fmt.Fprintf(s.out, "    %s\n", test)
		}
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

// skipReason finds in a skipped test's output what it gave as the reason, which go test prints as
// "    file_test.go:12: the reason". The last such line is that of the skip.
func skipReason(lines []string) string {
	reason := "no reason given"
	for _, line := range lines {
		place, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && strings.Contains(place, ".go:") {
			reason = text
		}
	}
	return reason
}
