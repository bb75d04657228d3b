// Package quote answers questions with sentences of the sources themselves, and checks that quotes are what they
// claim to be. It knows no model, no database and no network.
//
// An Extractor reads a question (Ask), and from the passages that a search found for it chooses the sentences that
// answer it (Answer): never a word that is not in a source, and an honest outcome where nothing answers.
//
// What a model wrote is held to its sources by three functions. Find tells where a quote stands in a text, whatever
// happened to its white space, hyphens and quotation marks on the way. Check reads the marks [n] of an answer and
// tells which of its sentences their quotes support. Plain leaves no link, image or HTML that a source did not give.
//
// Places are offsets in code points everywhere.
package quote
