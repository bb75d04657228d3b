package testkit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Log is a buffer for log output, safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Excerpt returns the lines that explain a failure, at most excerptLines of them, each cut to excerptWidth. The
// lines of successful requests, which a server under test writes, are left out.
func (l *Log) Excerpt() string {
	var lines []string
	all := strings.Split(strings.TrimSuffix(l.String(), "\n"), "\n")
	for _, line := range all {
		if !successful.MatchString(line) {
			lines = append(lines, line[:min(len(line), excerptWidth)])
		}
	}
	lines = lines[max(len(lines)-excerptLines, 0):]
	if left := len(all) - len(lines); left > 0 {
		lines = append([]string{fmt.Sprintf("(%d of %d lines left out)", left, len(all))}, lines...)
	}
	return strings.Join(lines, "\n")
}

const (
	excerptLines = 30
	excerptWidth = 400
)

var successful = regexp.MustCompile(`"level":"(INFO|DEBUG)","msg":"request".*"status":[123]`)
