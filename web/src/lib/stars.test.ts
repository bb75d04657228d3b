import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stars } from './stars.svelte';

vi.mock('./base', () => ({ base: '' }));
vi.mock('./toast.svelte', () => ({ showError: () => {} }));

const json = (value: unknown) =>
  new Response(JSON.stringify(value), { headers: { 'Content-Type': 'application/json' } });

describe('stars', () => {
  let asked: string[][];
  let reply: (ids: string[]) => Promise<Response>;
  beforeEach(() => {
    asked = [];
    reply = async (ids) => json({ cardIds: ids.filter((id) => id.endsWith('7')) });
    vi.stubGlobal('fetch', async (request: Request) => {
      if (!request.url.endsWith('/favourite-lookups')) return json({ favourite: {} });
      const { cardIds } = (await request.json()) as { cardIds: string[] };
      asked.push(cardIds);
      return reply(cardIds);
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  it('are looked up together and once', async () => {
    for (let i = 0; i < 250; i++) stars.want('one', `c${i}`);
    stars.want('one', 'c0');
    await vi.waitFor(() => expect(stars.has('one', 'c247')).toBe(true));
    expect(asked.map((ids) => ids.length)).toEqual([200, 50]);
    expect(stars.has('one', 'c248')).toBe(false);
    expect(stars.has('two', 'c247')).toBe(false);
    stars.want('one', 'c248');
    await new Promise((done) => setTimeout(done));
    expect(asked).toHaveLength(2);
  });

  it('keep a click that is newer than the lookup', async () => {
    let release = () => {};
    const held = new Promise<void>((done) => (release = done));
    reply = async () => {
      await held;
      return json({ cardIds: [] });
    };
    stars.want('three', 'a');
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    await stars.toggle('three', { cardId: 'a', title: 'A' });
    release();
    stars.want('three', 'b');
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    expect(stars.has('three', 'a')).toBe(true);
  });
});
