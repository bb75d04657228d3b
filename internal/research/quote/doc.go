// Package quote answers questions with verbatim sentences of the sources, and verifies quotes. It uses no model, no
// database and no network.
//
// An Extractor parses a question (Ask) and chooses the sentences that answer it from the passages that a search found
// (Answer). If no sentence does, the outcome says so.
//
// Three functions check the text of a model against its sources. Find locates a quote in a text, regardless of white
// space, hyphens and quotation marks. Check parses the citations [n] of an answer and determines which sentences their
// quotes support. Plain removes links, images and HTML.
//
// All offsets are code points.
package quote
