package main

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is how often a long step says how far it is.
const progressEvery = 5 * time.Second

// progress tells a waiting person what is going on.
type progress struct {
	w    io.Writer
	last time.Time
}

// say prints a line at the start of something that takes a while.
func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
	p.last = time.Now()
}

// tick prints a line only if none was printed for some seconds.
func (p *progress) tick(format string, args ...any) {
	if time.Since(p.last) >= progressEvery {
		p.say("  "+format, args...)
	}
}
