// Package query parses search queries and cuts snippets.
//
//	word word            documents with any of the words; more and rarer matches rank higher
//	"exact phrase"       the words must be adjacent and in this order; “…”, „…“ and «…» work as well
//	author:knuth         the word must be in the name of an author
//	author:"ada byron"   the words must be in the name of one author, in any order
//	title:word           the word or phrase must be in the title
//	text:word            the word or phrase must be in the text
//	-word -"a phrase"    documents that hold it are excluded
//	-author:knuth        documents that hold it in this field are excluded
//	10.1145/361219       a DOI, plain, after doi: or as the address of a resolver, names one work
//
// Field names are not case-sensitive and are directly followed by their value; any other word before a colon is plain
// text. A minus excludes only at the beginning of a word: "state-of-the-art" and "pre- and post-" exclude nothing. An
// unpaired quotation mark separates words, and in a query with more than eight other words quotation marks are not
// operators. A query that only excludes finds nothing.
//
// Words of phrases and fields are scored like plain ones. Words joined by hyphens or apostrophes after a field or a
// minus are a phrase: -state-of-the-art excludes these consecutive words and not each of them.
package query
