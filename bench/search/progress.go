package main

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is the interval of progress lines.
const progressEvery = 5 * time.Second

// progress prints the state of a long run.
type progress struct {
	w    io.Writer
	last time.Time
}

// say prints a line at the start of a long step.
func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
	p.last = time.Now()
}

// tick prints a line if none was printed in the last seconds.
func (p *progress) tick(format string, args ...any) {
	if time.Since(p.last) >= progressEvery {
		p.say("  "+format, args...)
	}
}
