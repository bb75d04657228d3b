import { expect, test } from 'vitest';
import contract from '../../../api/openapi.yaml?raw';
import { kinds } from './kinds';

const schemas = contract.slice(contract.indexOf('\n  schemas:'));

/** Rows of the contract's table of kinds: name, what it searches, settings, secret. */
const rows = [
  ...schemas
    .slice(schemas.indexOf('    SourceSettings:'), schemas.indexOf('    SourceList:'))
    .matchAll(/^ +\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$/gm),
].map((m) => m.slice(1) as [string, string, string, string]);

test('source kinds match the contract', () => {
  const expected = rows.map(([name, searches, settings, secret]) => [
    name,
    {
      live: searches.includes('live'),
      paid: searches.includes('paid'),
      synced: settings.includes('`syncMinutes`'),
      settings: [...settings.matchAll(/`(\w+)`/g)]
        .map((m) => m[1])
        .filter((s) => s !== 'syncMinutes')
        .sort(),
      secret: secret === '–' ? undefined : secret.includes('required') ? 'required' : 'optional',
    },
  ]);
  const ours = Object.entries(kinds).map(([name, k]) => [
    name,
    {
      live: k.mode === 'live',
      paid: !!k.paid,
      synced: k.mode === 'import',
      settings: Object.keys(k.settings ?? {}).sort(),
      secret: k.secret,
    },
  ]);
  expect(rows.length).toBeGreaterThan(10);
  expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(expected));
});
