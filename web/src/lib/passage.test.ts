import { describe, expect, it } from 'vitest';
import { passageOf } from './passage';

describe('passageOf', () => {
  const text = 'Title\n\nIt began in 1970. A model 😀 is\nproposed. It led to SQL.\n\nOther paragraph.';
  const start = Array.from(text).join('').indexOf('A model');
  const quote = 'A model 😀 is proposed.';

  it('returns the paragraph around the quote, counted in code points', () =>
    expect(passageOf(text, start, start + quote.length - 1, quote)).toEqual({
      before: 'It began in 1970. ',
      quote,
      after: ' It led to SQL.',
    }));
  it('cuts a long paragraph at words', () => {
    const words = 'word '.repeat(100);
    const long = `${words}The quote. ${words}`;
    const passage = passageOf(long, words.length, words.length + 10, 'The quote.')!;
    expect(passage.before).toMatch(/^… (word )+$/);
    expect(passage.after).toMatch(/^ (word )+…$/);
    expect(passage.before.length).toBeLessThan(200);
  });
  it('does not show other words as the quote after the document has changed', () =>
    expect(passageOf(text, 0, 5, quote)).toBeUndefined());
  it('has no text beyond the ends of the document', () =>
    expect(passageOf('Whole.', 0, 6, 'Whole.')).toEqual({ before: '', quote: 'Whole.', after: '' }));
});
