import { describe, expect, it } from 'vitest';
import type { Favourite } from './api';
import { keyOf, referenceType, summary, tagsIn, withTags, workOf } from './favourites';

const favourite = (card: Record<string, unknown>): Favourite => ({
  agentId: 'agt_1',
  cardId: 'a/b',
  card,
  tags: [],
  collections: [],
  createdAt: '',
  updatedAt: '',
});

describe('favourites', () => {
  it('have the fields of their card, whatever it holds', () => {
    expect(workOf(favourite({ title: 'T', authors: ['A', 7], year: '1970', doi: 4 }))).toMatchObject({
      title: 'T',
      authors: ['A'],
      year: undefined,
      doi: undefined,
    });
    expect(workOf(favourite({})).title).toBe('a/b');
    expect(keyOf(favourite({}))).toBe('agt_1/a/b');
  });

  it('get tags once in any case', () => {
    expect(tagsIn(' to   read, ,Databases,')).toEqual(['to read', 'Databases']);
    expect(withTags(['databases', 'z'], ['Databases', 'a'])).toEqual(['a', 'databases', 'z']);
    expect(
      withTags(
        Array.from({ length: 50 }, (_, i) => `t${i}`),
        ['more'],
      ),
    ).toHaveLength(50);
  });

  it('are imported from reference files', () => {
    expect(referenceType('Library.BIB', '')).toBe('application/x-bibtex');
    expect(referenceType('a.ris', '')).toBe('application/x-research-info-systems');
    expect(referenceType('export.txt', '\r\nTY  - JOUR')).toBe('application/x-research-info-systems');
    expect(referenceType('export.txt', '@article{a,')).toBe('application/x-bibtex');
    expect(referenceType('me.txt', 'me@example.org')).toBeUndefined();
  });

  it('show refused entries of an import first', () => {
    const entries = [
      { line: 1, outcome: 'added' as const },
      { line: 2, outcome: 'refused' as const, detail: 'The entry is not closed.' },
      { line: 3, outcome: 'added' as const },
    ];
    const { counts, sorted } = summary(entries);
    expect(counts).toEqual({ added: 2, updated: 0, unchanged: 0, refused: 1 });
    expect(sorted.map((e) => e.line)).toEqual([2, 1, 3]);
  });
});
