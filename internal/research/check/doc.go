// Package check judges a sentence by its evidence, with rules and without a model.
//
// A sentence and a quote are read into tokens: words with their stems, quantities with unit and scale, dates,
// identifiers and names. The two token lists are aligned, and the differences decide:
//
//   - quoted: the sentence is a whole sentence of the quote, or contains nothing but quotations from it;
//   - supported: every content word has a counterpart in the quote, in the same order or in an order that active and
//     passive voice, a moved adverbial or a genitive explain, and no rule found a difference;
//   - contradicted: the sentence follows the quote, except for a number, unit, date, name, negation, antonym,
//     quantifier, comparison or the roles around the verb;
//   - unsupported: the sentence says more than the quote, such as a certainty, a cause or a number that it lacks;
//   - cited: none of these. The rules cannot tell.
//
// The rules favour cited: a sentence is supported only if it is close to its quote, and contradicted only if the
// difference stands in the same place. English and German have word lists. In other languages only numbers, dates,
// names and the share of covered words are compared, and a sentence must repeat the quote to be supported.
package check
