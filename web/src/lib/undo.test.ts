import { describe, expect, it } from 'vitest';

/** Paths that may be deleted with Undo: content, never credentials, grants, sessions, factors or webhooks. */
const content = [
  '/api/agents/{agentId}/threads/delete',
  '/api/agents/{agentId}/memories/{memoryId}',
  '/api/agents/{agentId}/memories/{memoryId}/dismiss',
  '/api/agents/{agentId}/favourites/{cardId}',
  '/api/agents/{agentId}/saved-searches/{savedSearchId}',
  '/api/agents/{agentId}/sources/{sourceId}/files/{fileId}',
  '/api/agents/{agentId}/sources/{sourceId}/documents/delete',
];

const all = import.meta.glob<string>('../**/*.{svelte,ts}', { query: '?raw', import: 'default', eager: true });
const files = Object.entries(all).filter(([name]) => !/\.(test|d)\.ts$/.test(name));

/** Finds all calls of a function, each up to its closing parenthesis. */
function callsOf(name: string, text: string): string[] {
  return [...text.matchAll(new RegExp(`(?<!function )\\b${name}\\(`, 'g'))].map((m) => {
    let depth = 0;
    for (let i = m.index; i < text.length; i++) {
      if (text[i] === '(') depth++;
      if (text[i] === ')' && --depth === 0) return text.slice(m.index, i + 1);
    }
    throw new Error(`${name}( is not closed`);
  });
}

describe('deletions that can be undone', () => {
  const found = files.flatMap(([file, text]) =>
    callsOf('undoable', text).map((call) => ({
      file,
      paths: [...call.matchAll(/'(\/api\/[^']*)'/g)].map((m) => m[1]!),
    })),
  );

  it('are found', () => expect(found.length).toBeGreaterThanOrEqual(4));

  it.each(found)('are of content alone: $file', ({ paths }) => {
    expect(paths, 'name the path inside the call, where this test can read it').not.toEqual([]);
    for (const path of paths) expect(content).toContain(path);
  });

  // Actions.svelte undoes changes that a message asked for, with operations that the contract names.
  it('and actions of messages are the only changes that offer Undo', () => {
    const others = files
      .filter(([name, text]) => !name.endsWith('/toast.svelte.ts') && /t\('undo'\)/.test(text))
      .map(([name]) => name);
    expect(others).toEqual(['../components/Actions.svelte']);
  });

  it('are of content alone if they undo an action', () => {
    const text = files.find(([name]) => name.endsWith('/actions.ts'))?.[1] ?? '';
    const paths = [...text.matchAll(/api\.DELETE\('(\/api\/[^']*)'/g)].map((m) => m[1]!);
    expect(paths).toHaveLength(2);
    for (const path of paths) expect(content).toContain(path);
  });
});
