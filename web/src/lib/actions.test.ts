import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { MessageAction } from './api';
import { keepUndone, undoOf, wasUndone } from './actions';

const card = { cardId: 'card_1', title: 'A Relational Model' };
const action = (a: Partial<MessageAction>): MessageAction => ({ kind: 'remember', state: 'done', ...a });

/** Runs the undo of an action against a server with this reply, and returns the requests. */
async function requests(a: MessageAction, reply = new Response('{}')): Promise<string[]> {
  const seen: string[] = [];
  vi.stubGlobal('fetch', async (r: Request) => {
    const sent = await r.text();
    seen.push(`${r.method} ${new URL(r.url).pathname}${sent && ` ${sent}`}`);
    return reply.clone();
  });
  await undoOf('agt_1', a)!();
  return seen;
}

const problem = (status: number, code: string) =>
  new Response(JSON.stringify({ code, detail: '', status }), { status });

describe('undoOf', () => {
  it.each<[Partial<MessageAction>, string]>([
    [{ undo: 'deleteMemory', id: 'mem_1' }, 'DELETE /api/agents/agt_1/memories/mem_1'],
    [{ undo: 'addMemory', text: 'I like tea.' }, 'POST /api/agents/agt_1/memories {"text":"I like tea."}'],
    [{ undo: 'deleteFavourite', id: 'card_1' }, 'DELETE /api/agents/agt_1/favourites/card_1'],
    [{ undo: 'saveFavourite', card }, `POST /api/agents/agt_1/favourites {"card":${JSON.stringify(card)}}`],
  ])('calls the operation of %o', async (a, want) => expect(await requests(action(a))).toEqual([want]));

  it('is not offered without what the operation needs', () => {
    for (const undo of ['deleteMemory', 'addMemory', 'deleteFavourite', 'saveFavourite', undefined] as const)
      expect(undoOf('agt_1', action({ undo })), undo).toBeUndefined();
  });

  it('succeeds if the memory is already deleted', async () =>
    expect(await requests(action({ undo: 'deleteMemory', id: 'mem_1' }), problem(404, 'not_found'))).toHaveLength(1));

  it('fails for other errors', () =>
    expect(requests(action({ undo: 'deleteMemory', id: 'mem_1' }), problem(403, 'forbidden'))).rejects.toThrow());
});

describe('undone actions', () => {
  beforeEach(() => {
    const stored = new Map<string, string>();
    vi.stubGlobal('sessionStorage', {
      getItem: (k: string) => stored.get(k) ?? null,
      setItem: (k: string, v: string) => stored.set(k, v),
    });
  });

  it('are remembered by message and index', () => {
    keepUndone('msg_1', 1);
    expect([wasUndone('msg_1', 1), wasUndone('msg_1', 0), wasUndone('msg_2', 1)]).toEqual([true, false, false]);
  });
});
