// Package demo holds the library that `carrel serve --demo` starts with, so
// that a first visitor has something real to search and to ask about before
// connecting a source of their own.
//
// The library is landmarks.jsonl: landmark works of computing and information
// science, 1936 to 2020, one JSON object a line in the same form that
// `carrel admin source add` reads. The bibliographic facts are those of the
// published works. A DOI is given only where the cited edition has one, and a
// link only where it is likely to last; a work with neither is no mistake.
// The abstracts were written for Carrel and are not the publishers' own.
package demo

import (
	_ "embed" // for landmarks.jsonl
)

// What the demo calls the things it makes. They live beside the library
// because they describe it: change one and the other may no longer fit.
const (
	// AgentName is the name of the demo's only agent.
	AgentName = "Landmarks"

	// AgentDescription tells a visitor, in the list of agents, what to ask.
	AgentDescription = "Knows some sixty landmark works of computing and information science, from Turing in 1936 to " +
		"GPT-3 in 2020."

	// AgentInstructions keep answers inside the library, where every
	// statement can be traced to a work.
	AgentInstructions = "You are a librarian for landmark works of computing and information science, 1936 to 2020. " +
		"Answer from the works in your library and cite each one you use. " +
		"Name the authors and the year when you first mention a work, and prefer exact figures and dates to general " +
		"praise. When works build on one another, say in which order. " +
		"When the library does not hold the answer, say so plainly instead of guessing."
)

// A string, not a byte slice, so that no caller can change what the next one
// is given.
//
//go:embed landmarks.jsonl
var landmarks string

// Library returns the demo's works as JSON Lines. The caller owns the slice.
func Library() []byte {
	return []byte(landmarks)
}
