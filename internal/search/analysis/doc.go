// Package analysis turns texts into terms: what an index holds and a query asks for.
//
//	the text says                 the terms are
//	Indexing the INDEXES          index, (the), index    stemmed in the text's language; stop words marked as such
//	Erdős, naïve, Straße          erdo, naiv, strass     without accents, strokes and ligatures
//	CO₂, word2vec, ﬁnal           co2, word2vec, final   compatibility forms; letters and digits join
//	自然言語                       自然, 然言, 言語         bigrams where a script has no spaces
//	библиотеки in English text    библиотек              words in another script are read in its language
//	Smith², Zipf's                smith, 2; zipf, s      notes and apostrophes part
//
// Every token knows its code points in the text as it was given, whatever folding did to lengths.
//
// The same holds for queries. They find most if they are read in the language of the documents: stems of one
// language mean little in another one of the same script. Guess tells the language of a text.
//
// Long texts are searched in passages, which are a function of the text alone.
package analysis
