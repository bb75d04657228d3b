// Package demo holds the library of `carrel serve --demo`, so that new users can search and ask before they add a
// source.
//
// The library is landmarks.jsonl: landmark works of computing and information science, 1936 to 2020, one JSON object
// per line in the format of `carrel admin source add`. The bibliographic data is that of the published works. A DOI is
// given only if the cited edition has one, and a link only if it is likely to last; some works have neither. The
// abstracts were written for Carrel.
package demo

import (
	"compress/gzip"
	_ "embed" // for landmarks.jsonl.gz
	"io"
	"strings"
)

//go:generate sh -c "gzip -9nc landmarks.jsonl >landmarks.jsonl.gz"

// Texts of the demo agent. They describe the library and must be changed together with it.
const (
	// AgentName is the name of the demo's only agent.
	AgentName = "Landmarks"

	// AgentDescription is shown in the list of agents.
	AgentDescription = "Knows some sixty landmark works of computing and information science, from Turing in 1936 to " +
		"GPT-3 in 2020."

	// AgentInstructions restrict answers to the library, so that every statement can be traced to a work.
	AgentInstructions = "You are a librarian for landmark works of computing and information science, 1936 to 2020. " +
		"Answer from the works in your library and cite each one you use. " +
		"Name the authors and the year when you first mention a work, and prefer exact figures and dates to general " +
		"praise. When works build on one another, say in which order. " +
		"When the library does not hold the answer, say so plainly instead of guessing."
)

// A string cannot be changed by callers.
//
//go:embed landmarks.jsonl.gz
var landmarks string

// Library returns the demo's works as JSON Lines. The caller owns the slice. Most servers never need it, so it is
// compressed. It panics if the file is damaged, which is part of the program.
func Library() []byte {
	z, err := gzip.NewReader(strings.NewReader(landmarks))
	if err != nil {
		panic(err)
	}
	library, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return library
}
