import { expect, test } from 'vitest';
import connect from '../../../docs/connect.md?raw';
import { snippets } from './snippets';

// Lines may be in another order in the documentation.
const squeeze = (text: string) => text.replace(/\s+/g, '');
const page = squeeze(connect);
const clients = snippets('https://carrel.example.org').filter((s) => !['curl', 'python'].includes(s.id));

test.each(clients)('$name is told the same here as in docs/connect.md', ({ name, text, key }) => {
  expect(page).toContain(`###${squeeze(name)}`);
  // The documentation shows the variant with a header; without one that part is missing.
  if (!text.startsWith('{')) expect(page).toContain(squeeze(text));
  if (key) expect(page).toContain(squeeze(key));
});

test('every client of docs/connect.md has a snippet', () => {
  const documented = [...connect.matchAll(/^### (.+)$/gm)].map((m) => m[1]!.replace(' on the web', ''));
  expect(documented.filter((name) => !clients.some((s) => s.name === name))).toEqual([]);
});
