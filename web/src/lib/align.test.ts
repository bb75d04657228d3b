import { describe, expect, it } from 'vitest';
import { align, shownRange, toUnits } from './align';

/** The shown text of the source range that the words `from` cover. */
function shownOf(source: string, shown: string, from: string): string | undefined {
  const start = source.indexOf(from);
  const range = shownRange(align(source, shown), start, start + from.length);
  return range && shown.slice(...range);
}

describe('align', () => {
  it.each([
    [
      'a citation in the sentence',
      'Codd proposed it [1]. That was in 1971 [1].',
      'Codd proposed it 1. That was in 1971 1.',
      'That was in 1971 [1].',
      'That was in 1971 1.',
    ],
    [
      'emphasis across the start',
      'One. **Two is bold.** Three.',
      'One. Two is bold. Three.',
      '**Two is bold.**',
      'Two is bold.',
    ],
    ['a list', '- First [1]\n- Second [2]\n', '\nFirst 1\nSecond 2\n', 'Second [2]', 'Second 2'],
    [
      'a table row',
      '| Work | Year |\n|---|---|\n| Codd | 1970 [1] |\n',
      'WorkYearCodd1970 1',
      '| Codd | 1970 [1] |',
      'Codd1970 1',
    ],
    [
      'a link whose address has the following letters',
      'See [the page](https://example.org/and/then). And then it ends.',
      'See the page. And then it ends.',
      'And then it ends.',
      'And then it ends.',
    ],
    ['decoded entities', 'A &amp; B. C &lt; D.', 'A & B. C < D.', 'C &lt; D.', 'C < D.'],
    ['code', '```python\nprint(1)\n```\n', 'print(1)\n', 'print(1)', 'print(1)'],
    ['letters outside the basic plane', 'One 𝒳. Two 𝒴.', 'One 𝒳. Two 𝒴.', 'Two 𝒴.', 'Two 𝒴.'],
  ])('finds %s', (_, source, shown, words, want) => expect(shownOf(source, shown, words)).toBe(want));

  it('finds no range for words that are not shown', () => {
    const source = 'Text.\n\n[note]: https://example.org';
    expect(shownOf(source, 'Text.', '[note]: https://example.org')).toBeUndefined();
  });

  it('never maps a character to another one or backwards', () => {
    const source = '# T\n\n1. *a* b `c` \\* d [x](y "z") <i>e</i> f&nbsp;g\n2. h';
    const shown = 'T\na b c * d x <i>e</i> f\u00a0g\nh';
    let last = -1;
    align(source, shown).forEach((at, i) => {
      if (at < 0) return;
      expect(source[at]).toBe(shown[i]);
      expect(at).toBeGreaterThan(last);
      last = at;
    });
  });
});

describe('toUnits', () => {
  it('converts code points, in any order', () => expect(toUnits('a𝒳b𝒴c', [5, 0, 2, 4])).toEqual([7, 0, 3, 6]));
  it('counts CRLF as one character, like the Markdown parser', () =>
    expect(toUnits('a\r\nb\r\nc', [0, 3, 6, 7])).toEqual([0, 2, 4, 5]));
  it('limits offsets to the text', () => expect(toUnits('ab', [2, 99])).toEqual([2, 2]));
});
