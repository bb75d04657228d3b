import { describe, expect, it } from 'vitest';
import { findAll, findQuote, fold, partsOf, quoteByPage } from './pdfText';

const marked = (
  items: string[],
  find: (page: ReturnType<typeof fold>) => { start: number; end: number }[],
): string[] => {
  const page = fold(items);
  return find(page).map((r) =>
    partsOf(page, items, r)
      .map((p) => items[p.item]!.slice(p.start, p.end))
      .join('|'),
  );
};

describe('a quote on a page', () => {
  it('is found across items, line ends and hyphens', () =>
    expect(
      marked(['The railway was inspec-', 'ted station by', 'station. ', '3. Results'], (p) =>
        findQuote(p, 'The railway was inspected station by station.'),
      ),
    ).toEqual(['The railway was inspec|ted station by|station.']));
  it('is found with ligatures, accents and other case', () =>
    expect(marked(['Die eﬃziente Straße, Café'], (p) => findQuote(p, 'EFFIZIENTE Straße, Cafe'))).toEqual([
      'eﬃziente Straße, Café',
    ]));
  it('is found in runs of words if the file has another order', () =>
    expect(
      marked(['in the second column it ends here', 'the first column starts with words and goes on'], (p) =>
        findQuote(p, 'the first column starts with words and goes on in the second column it ends here'),
      ),
    ).toEqual(['the first column starts with words and goes on', 'in the second column it ends here']));
  it('skips the words that the page lacks', () =>
    expect(
      marked(['A measurement of the harbour basin', 'Page 4', 'took eleven days in the spring.'], (p) =>
        findQuote(p, 'A measurement of the harbour basin took eleven days in the spring.'),
      ),
    ).toEqual(['A measurement of the harbour basin', 'took eleven days in the spring.']));
  it('does not mark single common words', () =>
    expect(marked(['the and of the'], (p) => findQuote(p, 'the quote is not on the page'))).toEqual([]));
  it('marks characters outside the basic plane whole', () =>
    expect(marked(['see 𝒜𝒷 there'], (p) => findAll(p, 'ab', 9))).toEqual(['𝒜𝒷']));
});

describe('a search on a page', () => {
  it('finds every match up to the limit', () => {
    const page = fold(['one two one', 'two one']);
    expect(findAll(page, 'One', 9)).toHaveLength(3);
    expect(findAll(page, 'One', 2)).toHaveLength(2);
  });
  it('distinguishes symbols and ignores an empty query', () => {
    expect(findAll(fold(['C and C++']), 'c++', 9)).toHaveLength(1);
    expect(findAll(fold(['a. b.']), ' . ', 9)).toEqual([]);
  });
});

describe('a range of a document', () => {
  it('is divided by pages', () =>
    expect(quoteByPage('first\fsecond page\fthird', 6, 25)).toEqual(
      new Map([
        [2, 'second page'],
        [3, 'third'],
      ]),
    ));
  it('counts code points', () => expect(quoteByPage('𝒜𝒜\fb c', 3, 4)).toEqual(new Map([[2, 'b']])));
});
