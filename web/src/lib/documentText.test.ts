import { describe, expect, it } from 'vitest';
import { blocksOf, joinLines, splitExtent, type Block } from './documentText';

/** The blocks with their texts instead of offsets. */
const read = (text: string) =>
  blocksOf(text).map((b: Block) => {
    const cut = (e: { start: number; end: number }) => text.slice(e.start, e.end);
    switch (b.kind) {
      case 'heading':
        return `h${b.level} ${cut(b.text)}`;
      case 'paragraph':
        return cut(b.text);
      case 'list':
        return b.items.map((i) => `${i.depth} ${i.marker} ${cut(i.text)}`);
      case 'table':
        return { head: b.head?.map(cut), rows: b.rows.map((r) => r.map(cut)) };
      case 'page':
        return `page ${b.n}`;
    }
  });

describe('the text of a document', () => {
  it('has headings, paragraphs, lists and tables', () =>
    expect(
      read(
        '# Guide\n\nFirst paragraph.\n\n## Steps\n\n1. Open\n  - the lid\n2. Close\n\n' +
          '| a | b |\n| --- | --- |\n| 1 |  |\n\nEnd.',
      ),
    ).toEqual([
      'h1 Guide',
      'First paragraph.',
      'h2 Steps',
      ['0 1. Open', '1 - the lid', '0 2. Close'],
      { head: ['a', 'b'], rows: [['1', '']] },
      'End.',
    ]));
  it('begins a page on its own line', () =>
    expect(read('measured station by station.\f3. Section\nIt was warm.')).toEqual([
      'page 1',
      'measured station by station.',
      'page 2',
      ['0 3. Section'],
      'It was warm.',
    ]));
  it('keeps lines that only look like marks', () => {
    expect(read('#include <stdio.h>\n# comment\nx = 1\n-5 degrees\n|x| is positive')).toEqual([
      '#include <stdio.h>\n# comment\nx = 1\n-5 degrees\n|x| is positive',
    ]);
    expect(read('| alone |')).toEqual(['| alone |']);
  });
  it('keeps indentation and lines of code', () =>
    expect(read('def f():\n    return 1')).toEqual(['def f():\n    return 1']));
  it('reads other line ends and an empty text', () => {
    expect(read('# A\r\n\r\nb\r\n')).toEqual(['h1 A', 'b']);
    expect(read('')).toEqual([]);
  });
  it('loses no letter', () => {
    const text = '# T\n\na\n- b\nc\n| d |\n\n| e | f |\n| g | h |\nlast\n\f\nnext';
    expect(JSON.stringify(read(text)).match(/[a-h]|last|next/g)).toEqual(
      expect.arrayContaining(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'last', 'next']),
    );
  });
});

describe('a marked range', () => {
  it('is cut to a block', () => {
    const text = 'one two three';
    expect(splitExtent(text, { start: 4, end: 13 }, { start: 0, end: 7 })).toEqual(['', 'two', ' three']);
    expect(splitExtent(text, { start: 0, end: 3 }, { start: 4, end: 7 })).toEqual(['one', '', '']);
    expect(splitExtent(text, { start: 0, end: 3 })).toEqual(['one', '', '']);
  });
});

describe('the lines of a page', () => {
  const full = 'A line that is as wide as the column of the page';
  it('are joined if they fill the width', () => {
    const text = `3. Results\n\nHeading\n${full}\n${full}\nlast line.\n\n${full}\fTitle\nby Author`;
    const joined = joinLines(text, blocksOf(text));
    expect(joined).toBe(`3. Results\n\nHeading\n${full} ${full} last line.\n\n${full}\fTitle\nby Author`);
    expect(joined).toHaveLength(text.length);
  });
  it('keep the ends of short lines', () => {
    const poem = 'One two\nthree four\nfive six';
    expect(joinLines(poem, blocksOf(poem))).toBe(poem);
  });
});
