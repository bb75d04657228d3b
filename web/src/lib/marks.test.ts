import { expect, test } from 'vitest';
import { withVerdicts } from './marks';
import type { Claim } from './sentences';

const claim = (start: number, end: number, verdict: Claim['verdict']) => ({ start, end, verdict }) as Claim;

test('a copied answer names the verdict after each sentence with a problem', () => {
  const text = '😀 is quoted. This is not so.\r\nNor is this.';
  const claims = [claim(29, 41, 'contradicted'), claim(0, 12, 'quoted'), claim(13, 28, 'unsupported')];
  expect(withVerdicts(text, claims, String)).toBe(
    '😀 is quoted. This is not so. [? unsupported]\nNor is this. [≠ contradicted]',
  );
  expect(withVerdicts(text, [], String)).toBe('😀 is quoted. This is not so.\nNor is this.');
});
