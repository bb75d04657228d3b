// Package analysis turns texts and queries into terms.
//
//	text                          terms
//	Indexing the INDEXES          index, (the), index    stemmed in the text's language; stop words marked as such
//	Erdős, naïve, Straße          erdo, naiv, strass     without accents, strokes and ligatures
//	CO₂, word2vec, ﬁnal           co2, word2vec, final   compatibility forms; letters and digits join
//	自然言語                       自然, 然言, 言語         bigrams where a script has no spaces
//	Thư viện in Vietnamese        thư, viện              with accents where they distinguish words
//	библиотеки in English text    библиотек              words in another script are stemmed in its language
//	Smith², Zipf's                smith, 2; zipf, s      notes and apostrophes separate words
//
// The offsets of a token refer to the code points of the original text, regardless of folding.
//
// Queries are analysed in the language of the documents, because stems of one language mean little in another one of
// the same script. Guess returns the language of a text.
//
// Long texts are searched in passages, which depend only on the text.
package analysis
