import { expect, it } from 'vitest';
import { move } from './reorder';

it.each([
  [0, 1, 'bac'],
  [2, 0, 'cab'],
  [1, 1, 'abc'],
  [0, -1, 'abc'],
  [2, 3, 'abc'],
])('moves %i to %i', (from, to, want) => expect(move([...'abc'], from, to).join('')).toBe(want));
