// Package query reads what people type into a search box, and shows where a text answers it.
//
//	word word            documents with any of the words; the more of them, and the rarer, the better
//	"exact phrase"       the words must stand together in this order; “…”, „…“ and «…» do as well
//	author:knuth         the word must be in the name of an author
//	author:"ada byron"   the words must be in the name of one author, in any order
//	title:word           the word or phrase must be in the title
//	text:word            the word or phrase must be in the text
//	-word -"a phrase"    documents that hold it are left out
//	-author:knuth        documents that hold it in this field are left out
//	10.1145/361219       a DOI, plain, after doi: or as the address of a resolver, names one work
//
// Field names may be written in either case and are followed by their word without a space; any other word before
// a colon is plain text. A minus excludes only where it begins a word: "state-of-the-art" and "pre- and post-"
// exclude nothing. A quotation mark without its partner parts words, and in a sentence, that is beside more than
// eight words, quotation marks ask for nothing. A query of exclusions alone finds nothing.
//
// Every word of a phrase or field scores like the plain ones. Words in hyphens or apostrophes after a field or a
// minus are a phrase: -state-of-the-art excludes these words in a row and not each of them.
package query
