import { describe, expect, it } from 'vitest';
import { countVerdicts, isMarked, lastWord, plainWords, claimsOf, signs, verdicts } from './sentences';

describe('claimsOf', () => {
  it('is in text order and leaves out talk', () =>
    expect(
      claimsOf({
        sentences: [
          { start: 20, end: 30, verdict: 'cited' },
          { start: 0, end: 5, verdict: 'talk' },
          { start: 5, end: 20, verdict: 'contradicted' },
        ],
        checks: [{ start: 5, end: 20, state: 'unsupported' }],
      }).map((s) => s.verdict),
    ).toEqual(['contradicted', 'cited']));

  it('reads replies that have only checks', () =>
    expect(
      claimsOf({
        checks: [
          { start: 0, end: 9, state: 'supported' },
          { start: 10, end: 19, state: 'unsupported', verdict: 'contradicted', reason: 'The source says 1970.' },
        ],
      }).map((s) => [s.verdict, s.reason]),
    ).toEqual([
      ['supported', undefined],
      ['contradicted', 'The source says 1970.'],
    ]));

  it('is empty for replies without any', () => expect(claimsOf({})).toEqual([]));
});

describe('countVerdicts', () => {
  it('counts in display order without zeros', () =>
    expect(countVerdicts([{ verdict: 'contradicted' }, { verdict: 'supported' }, { verdict: 'supported' }])).toEqual([
      ['supported', 2],
      ['contradicted', 1],
    ]));
});

describe('isMarked', () => {
  it('marks problems, all or none', () => {
    expect(verdicts.filter((v) => isMarked(v, 'problems'))).toEqual(['uncited', 'unsupported', 'contradicted']);
    expect(verdicts.filter((v) => isMarked(v, 'all'))).toEqual([...verdicts]);
    expect(verdicts.filter((v) => isMarked(v, 'none'))).toEqual([]);
  });
});

it('every verdict has its own sign', () => expect(new Set(Object.values(signs)).size).toBe(verdicts.length));

describe('plainWords', () => {
  it.each([
    ['That was in **1971** [1][2].', 'That was in 1971.'],
    ['In *1971* it was snake_case_named _so_.', 'In 1971 it was snake_case_named so.'],
    ['- The `SELECT` word [3]', 'The SELECT word'],
    ['| Codd | 1970 [1] |', 'Codd · 1970'],
    ['## A [link](https://example.org)\n', 'A link'],
  ])('%s', (markdown, words) => expect(plainWords(markdown)).toBe(words));
});

describe('lastWord', () => {
  it.each([
    ['It is so.', 'so.'],
    ['one', 'one'],
    ['', ''],
    [`A ${'long'.repeat(20)}`, ''],
    ['ends with space \n', 'space \n'],
  ])('%s', (text, last) => expect(text.slice(lastWord(text))).toBe(last));
});
