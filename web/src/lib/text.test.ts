import { describe, expect, it } from 'vitest';
import { splitAt, codePoints, highlightParts } from './text';

describe('offsets count code points', () => {
  it('splits next to characters outside the BMP', () => {
    expect(splitAt('a😀bc', 1, 3)).toEqual(['a', '😀b', 'c']);
    expect(codePoints('😀😀')).toBe(2);
  });
  it('separates highlights from plain text', () => {
    expect(
      highlightParts('😀 relational model', [
        { start: 13, end: 18 },
        { start: 2, end: 12 },
      ]),
    ).toEqual([
      { text: '😀 ', hit: false },
      { text: 'relational', hit: true },
      { text: ' ', hit: false },
      { text: 'model', hit: true },
    ]);
  });
  it('ignores overlapping and out-of-range spans', () => {
    expect(
      highlightParts('abc', [
        { start: 0, end: 2 },
        { start: 1, end: 3 },
        { start: 2, end: 9 },
        { start: 2, end: 2 },
      ])
        .map((p) => p.text)
        .join(''),
    ).toBe('abc');
  });
});
