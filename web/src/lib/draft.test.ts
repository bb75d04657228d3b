import { describe, expect, it } from 'vitest';
import type { CheckedSentence } from './api';
import { countStates, draftClaims, draftParts, firstClaim, nextClaim } from './draft';

const text = '# 𝒯itle\n\nOne is so. Why? Two is not.';
const at = (words: string, state: CheckedSentence['state']): CheckedSentence => {
  const start = Array.from(text.slice(0, text.indexOf(words))).length;
  return { start, end: start + Array.from(words).length, state, evidence: [] };
};
const sentences = [
  at('Two is not.', 'contradicted'),
  at('# 𝒯itle', 'talk'),
  at('One is so.', 'supported'),
  at('is so.', 'cited'),
  at('Why?', 'talk'),
];

describe('draftClaims', () => {
  it('is in text order, without talk and overlaps', () =>
    expect(draftClaims(sentences).map((s) => s.state)).toEqual(['supported', 'contradicted']));
});

describe('draftParts', () => {
  it('keeps the whole text and counts code points', () => {
    const parts = draftParts(text, draftClaims(sentences));
    expect(parts.map((p) => p.text).join('')).toBe(text);
    expect(parts.filter((p) => p.claim !== undefined)).toEqual([
      { text: 'One is so.', claim: 0 },
      { text: 'Two is not.', claim: 1 },
    ]);
  });
  it('is the text alone without claims', () => expect(draftParts('Hello!', [])).toEqual([{ text: 'Hello!' }]));
});

describe('moving between claims', () => {
  const claims = draftClaims(
    (['supported', 'contradicted', 'cited', 'contradicted'] as const).map((state, i) => ({
      start: i * 10,
      end: i * 10 + 9,
      state,
      evidence: [],
    })),
  );
  it('goes to the next and previous one, and stops at the ends', () => {
    expect(nextClaim(claims, 0, 1, new Set())).toBe(1);
    expect(nextClaim(claims, 2, -1, new Set())).toBe(1);
    expect(nextClaim(claims, 3, 1, new Set())).toBe(3);
    expect(nextClaim(claims, 0, -1, new Set())).toBe(0);
  });
  it('skips states that are filtered out', () => {
    expect(nextClaim(claims, 1, 1, new Set(['contradicted'] as const))).toBe(3);
    expect(nextClaim(claims, 1, -1, new Set(['contradicted'] as const))).toBe(1);
  });
  it('begins at the first problem', () => {
    expect(firstClaim(claims)).toBe(1);
    expect(firstClaim(claims.filter((s) => s.state === 'cited'))).toBe(0);
  });
  it('counts the states in display order', () =>
    expect(countStates(claims)).toEqual([
      ['supported', 1],
      ['cited', 1],
      ['contradicted', 2],
    ]));
});
