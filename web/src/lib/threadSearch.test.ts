import { describe, expect, it } from 'vitest';
import { markWords, tagsOf } from './threadSearch';

describe('markWords', () => {
  it('marks every occurrence in any case', () =>
    expect(markWords('Hash joins hash rows', 'HASH rows')).toEqual([
      { text: 'Hash', hit: true },
      { text: ' joins ', hit: false },
      { text: 'hash', hit: true },
      { text: ' ', hit: false },
      { text: 'rows', hit: true },
    ]));
  it('takes the words literally', () => expect(markWords('a.b', '.')[1]).toEqual({ text: '.', hit: true }));
  it('marks nothing without words', () => expect(markWords('a', ' ')).toEqual([{ text: 'a', hit: false }]));
});

describe('tagsOf', () => {
  it('separates tags with commas, each once', () => expect(tagsOf(' a, B ,, b, c d ')).toEqual(['a', 'b', 'c d']));
});
