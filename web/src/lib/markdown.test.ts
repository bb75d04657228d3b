import { expect, test } from 'vitest';
import { blocks } from './markdown';

test('a formula within a line does not split its paragraph', () => {
  for (const text of ['a $x^2$ and $$y_1$$ in a line', '$$y_1$$ begins a line', 'a\n$$y$$ b']) {
    expect(blocks(text)).toEqual([{ source: text, start: 0 }]);
  }
});

test('a formula in lines of its own is a block', () => {
  expect(blocks('before\n$$\ny_1\n$$\nafter').map((b) => b.source.trim())).toEqual(['before', '$$\ny_1\n$$', 'after']);
});
