import { describe, expect, it } from 'vitest';
import { shortcutGroups } from './shortcutList';
import { globalShortcuts } from './shortcuts';

const all = import.meta.glob<string>('../**/*.{svelte,ts}', { query: '?raw', import: 'default', eager: true });

/** The keys that handlers of key events compare with. */
function handledKeys(): Map<string, string> {
  const out = new Map<string, string>();
  for (const [name, source] of Object.entries(all)) {
    if (/\.(test|d)\.ts$/.test(name)) continue;
    for (const m of source.matchAll(/\be\.key(?:\.toLowerCase\(\))? [!=]== '([^']+)'/g)) out.set(m[1]!, name);
    for (const m of source.matchAll(/\{([^{}]*)\}\[e\.key\]/g))
      for (const k of m[1]!.matchAll(/(\w+):/g)) out.set(k[1]!, name);
  }
  for (const s of Object.values(globalShortcuts)) out.set(s.key, 'lib/shortcuts.ts');
  return out;
}

describe('the list of shortcuts', () => {
  const listed = new Set(shortcutGroups.flatMap((g) => g.rows.flatMap((r) => r.keys)));
  const handled = handledKeys();
  it('has every key that is handled', () => {
    expect(handled.size).toBeGreaterThan(10);
    // "=" is "+" without Shift.
    expect([...handled].filter(([key]) => !listed.has(key) && key !== '=')).toEqual([]);
  });
  it('has only keys that are handled', () =>
    expect([...listed].filter((key) => !handled.has(key) && key !== 'Control' && key !== 'Shift')).toEqual([]));
});
