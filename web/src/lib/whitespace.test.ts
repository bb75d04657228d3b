import { describe, expect, it } from 'vitest';
import { dotted } from './format';

const sources = import.meta.glob<string>('../**/*.svelte', { query: '?raw', import: 'default', eager: true });

describe('text next to a condition', () => {
  // Svelte trims white space at the start of a block, so `{a}{#if b} {b}{/if}` would show "ab".
  it.each(Object.entries(sources))('%s has its space outside the block', (_, source) => {
    expect(source.match(/[^\s>]\{(#if|:else)[^}]*\}\s+([^\s<{]|\{[^#/:@]|<(a|b|code|em|span|strong)\b).*/g)).toBeNull();
  });
});

describe('dotted', () => {
  it('joins the parts that are not empty', () => {
    expect(dotted('a', undefined, 0, false, '', null, 1970)).toBe('a · 0 · 1970');
    expect(dotted()).toBe('');
  });
});
