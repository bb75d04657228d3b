import { describe, expect, it, vi } from 'vitest';
import { ApiError } from './api';
import { remainingIn, type UploadClient, type UploadResult } from './uploadClient';
import { UploadQueue, type QueueDeps } from './uploadQueue.svelte';
import type { StoredUpload, UploadStore } from './uploadStore';

/** A store that tabs share. */
class MemoryStore implements UploadStore {
  items = new Map<string, StoredUpload>();
  full = false;
  async add(items: readonly StoredUpload[]): Promise<void> {
    if (this.full) throw new Error('quota');
    for (const i of items) this.items.set(i.id, i);
  }
  async update(id: string, change: Partial<StoredUpload>): Promise<void> {
    const old = this.items.get(id);
    if (old) this.items.set(id, { ...old, ...change });
  }
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.items.delete(id);
  }
  async owners(account: string): Promise<string[]> {
    for (const [id, i] of this.items) if (!i.owner.startsWith(`${account}/`)) this.items.delete(id);
    return [...new Set([...this.items.values()].map((i) => i.owner))];
  }
  async adopt(owner: string, newOwner: string): Promise<StoredUpload[]> {
    const mine = [...this.items.values()].filter((i) => i.owner === owner).map((i) => ({ ...i, owner: newOwner }));
    for (const i of mine) this.items.set(i.id, i);
    return mine;
  }
  async clear(): Promise<void> {
    this.items.clear();
  }
}

/** Locks that tabs share. `close` releases those of a tab. */
class Locks {
  #held = new Map<string, { tab: object; release: () => void }>();
  #waiting: (() => void)[] = [];
  forTab(tab: object): QueueDeps['locks'] {
    const request = async (name: string, work: () => Promise<unknown>) => {
      while (this.#held.has(name)) await new Promise<void>((done) => this.#waiting.push(done));
      const released = new Promise<void>((release) => this.#held.set(name, { tab, release }));
      await Promise.race([work(), released]);
      this.#free(name);
    };
    return { request } as unknown as QueueDeps['locks'];
  }
  close(tab: object): void {
    for (const [name, lock] of this.#held)
      if (lock.tab === tab) {
        lock.release();
        this.#free(name);
      }
  }
  #free(name: string): void {
    this.#held.delete(name);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** A server that follows the rules of the real one: keys, offsets, and results after the import. */
class Server implements UploadClient {
  uploads: (UploadResult & { key: string; received: number })[] = [];
  requests: string[] = [];
  /** Errors of the next requests, by kind of request. */
  failures: Record<string, ApiError[]> = {};
  outcome: (path: string) => Partial<UploadResult> | undefined = () => ({ outcome: 'added' });
  importEnded: { reason?: string } | undefined;
  remaining = Infinity;
  concurrent = 0;
  mostConcurrent = 0;

  #fail(kind: string, note: string): void {
    this.requests.push(`${kind} ${note}`);
    const e = this.failures[kind]?.shift();
    if (e) throw e;
  }
  #find(id: string) {
    const found = this.uploads.find((u) => u.id === id);
    if (!found) throw new ApiError('not_found', 'Not found.', 404);
    return found;
  }
  async create(_: unknown, name: string, size: number, key: string, start?: Blob) {
    this.mostConcurrent = Math.max(this.mostConcurrent, ++this.concurrent);
    await new Promise((done) => setTimeout(done));
    this.concurrent--;
    this.#fail('create', name);
    const earlier = this.uploads.find((u) => u.key === key);
    const u = earlier ?? { id: `upl_${this.uploads.length}`, name, size, key, received: start?.size ?? 0 };
    if (!earlier) this.uploads.push(u);
    const lost = this.failures['create-reply']?.shift();
    if (lost) throw lost;
    return { uploadId: u.id, offset: u.received };
  }
  async offset(_: unknown, id: string): Promise<number> {
    this.#fail('offset', this.#find(id).name);
    return this.#find(id).received;
  }
  async append(
    _: unknown,
    id: string,
    from: number,
    body: Blob,
    signal: AbortSignal,
    progress: (sent: number) => void,
  ): Promise<void> {
    this.mostConcurrent = Math.max(this.mostConcurrent, ++this.concurrent);
    await new Promise((done) => setTimeout(done));
    this.concurrent--;
    if (signal.aborted) throw new ApiError('offline', '', 0);
    const u = this.#find(id);
    this.#fail('append', `${u.name} ${from}`);
    if (u.received !== from) throw new ApiError('conflict', 'Wrong offset.', 409);
    u.received += body.size;
    progress(body.size);
    const lost = this.failures['append-reply']?.shift();
    if (lost) throw lost;
  }
  async cancel(_: unknown, id: string): Promise<void> {
    this.#fail('cancel', this.#find(id).name);
    this.uploads = this.uploads.filter((u) => u.id !== id);
  }
  async results(_: unknown, ids: readonly string[]): Promise<UploadResult[]> {
    this.#fail('results', String(ids.length));
    return this.uploads.filter((u) => ids.includes(u.id)).map((u) => ({ ...u, ...this.outcome(u.name) }));
  }
  async ended(): Promise<{ reason?: string } | undefined> {
    return this.importEnded;
  }
}

const place = { agentId: 'agt_1', sourceId: 'src_1' };
const MIB = 1024 * 1024;
const busy = (retryAfter: number) => new ApiError('rate_limited', 'Busy.', 429, '', [], retryAfter);
const offline = () => new ApiError('offline', 'Offline.', 0);
const pick = (path: string, size = 3) => ({ path, file: new File([new Uint8Array(size)], path.split('/').at(-1)!) });

function setUp(account = 'usr_1', shared = { store: new MemoryStore(), server: new Server(), locks: new Locks() }) {
  const waits: number[] = [];
  const tab = {};
  let marked = false;
  const queue = new UploadQueue({
    store: shared.store,
    client: shared.server,
    locks: shared.locks.forTab(tab),
    account: async () => account,
    stored: (some) => (marked = some),
    wait: (ms) => {
      waits.push(ms);
      return new Promise((done) => setTimeout(done));
    },
  });
  const close = () => {
    queue.stop();
    shared.locks.close(tab);
  };
  const settled = () => vi.waitFor(() => expect(queue.batches.some((b) => b.open)).toBe(false));
  return { ...shared, shared, queue, waits, close, settled, marked: () => marked };
}

describe('the upload queue', () => {
  it('sends every file once, at most three at a time, and forgets the files when all results are known', async () => {
    const { queue, server, store, settled, marked } = setUp();
    await queue.add(
      place,
      Array.from({ length: 120 }, (_, i) => pick(`papers/${i}.txt`)),
      2,
    );
    await settled();
    const batch = queue.of('src_1')!;
    expect([batch.counts.added, batch.leftOut, batch.sentBytes]).toEqual([120, 2, 360]);
    expect(new Set(server.uploads.map((u) => u.name)).size).toBe(120);
    expect(server.uploads.length).toBe(120);
    expect(server.mostConcurrent).toBe(3);
    await vi.waitFor(() => expect([store.items.size, marked()]).toEqual([0, false]));
  });

  it('shows the outcome and the reason of every file', async () => {
    const { queue, server, settled } = setUp();
    const outcomes: Record<string, Partial<UploadResult>> = {
      'a/x.txt': { outcome: 'added' },
      'b/x.txt': { outcome: 'unchanged' },
      'c.pdf': { outcome: 'failed', reason: 'c.pdf: needs a password' },
      'd.jsonl': { outcome: 'updated', skipped: 2, reason: 'line 1: is not JSON' },
    };
    server.outcome = (name) => outcomes[name];
    server.failures.create = [new ApiError('unsupported_media_type', 'This format is not supported.', 415)];
    await queue.add(
      place,
      ['e.exe', 'a/x.txt', 'b/x.txt', 'c.pdf', 'd.jsonl'].map((p) => pick(p)),
      0,
    );
    await settled();
    const batch = queue.of('src_1')!;
    expect(batch.list.map((u) => [u.path, u.state, u.reason])).toEqual([
      ['e.exe', 'refused', 'This format is not supported.'],
      ['a/x.txt', 'added', ''],
      ['b/x.txt', 'unchanged', ''],
      ['c.pdf', 'refused', 'needs a password'],
      ['d.jsonl', 'updated', 'line 1: is not JSON'],
    ]);
    expect(batch.problems).toBe(3);
  });

  it('continues at the offset of the server after a lost reply', async () => {
    const { queue, server, settled } = setUp();
    server.failures['append-reply'] = [offline()];
    await queue.add(place, [pick('large.txt', 9 * MIB)], 0);
    await settled();
    expect(server.requests.filter((r) => !r.startsWith('results'))).toEqual([
      'create large.txt',
      'append large.txt 0',
      'offset large.txt',
      `append large.txt ${4 * MIB}`,
      `append large.txt ${8 * MIB}`,
    ]);
  });

  it('waits as long as the server asks, for all files together', async () => {
    const { queue, server, waits, settled } = setUp();
    server.failures.create = [busy(7), busy(7)];
    await queue.add(place, [pick('a.txt'), pick('b.txt')], 0);
    await settled();
    expect(waits.filter((ms) => ms === 7000).length).toBe(1);
    expect(queue.waitsFor).toBeUndefined();
    expect(queue.of('src_1')!.counts.added).toBe(2);
  });

  it('pauses between files while few requests of the rate limit remain', async () => {
    const { queue, server, waits, settled } = setUp();
    server.remaining = 49;
    await queue.add(
      place,
      Array.from({ length: 8 }, (_, i) => pick(`${i}.txt`)),
      0,
    );
    await settled();
    await vi.waitFor(() => expect(waits.filter((ms) => ms === 1500).length).toBe(8));
    expect(remainingIn('"credential";r=120;t=2, "user";r=31;t=1')).toBe(31);
    expect(remainingIn('')).toBe(Infinity);
  });

  it('sends a small file with the request that creates its upload', async () => {
    const { queue, server, settled } = setUp();
    server.failures['create-reply'] = [offline()];
    await queue.add(place, [pick('small.txt', MIB / 4), pick('large.txt', MIB / 4 + 1)], 0);
    await settled();
    const sent = server.requests.filter((r) => !r.startsWith('results')).sort();
    expect(sent).toEqual(['append large.txt 0', 'create large.txt', 'create small.txt', 'create small.txt']);
    expect(server.uploads.map((u) => u.received).sort()).toEqual([MIB / 4, MIB / 4 + 1]);
    expect(queue.of('src_1')!.counts.added).toBe(2);
  });

  it('sends 2,000 files through a rate limit in the pauses that the server asks for', async () => {
    const { queue, server, store, waits } = setUp();
    let refused = 0;
    const pauses = () => waits.filter((ms) => ms === 7000).length;
    const create = server.create.bind(server);
    server.create = async (...args) => {
      if (200 * (1 + pauses()) - server.uploads.length <= 0) {
        refused++;
        throw busy(7);
      }
      return create(...args);
    };
    await queue.add(
      place,
      Array.from({ length: 2000 }, (_, i) => pick(`${i}.txt`)),
      0,
    );
    await vi.waitFor(() => expect(queue.batches.some((b) => b.open)).toBe(false), 60_000);
    expect(queue.of('src_1')!.counts.added).toBe(2000);
    expect(new Set(server.uploads.map((u) => u.name)).size).toBe(2000);
    expect(server.uploads.length).toBe(2000);
    expect(pauses()).toBeGreaterThanOrEqual(9);
    expect(refused).toBeLessThanOrEqual(3 * pauses()); // at most one refusal of each sender in a pause
    await vi.waitFor(() => expect(store.items.size).toBe(0));
  }, 60_000);

  it('creates the upload again if the server has deleted it', async () => {
    const { queue, server, settled } = setUp();
    server.failures.append = [new ApiError('not_found', 'Not found.', 404)];
    await queue.add(place, [pick('a.txt', MIB)], 0);
    await settled();
    expect(server.uploads.length).toBe(2);
    expect(queue.of('src_1')!.counts.added).toBe(1);
  });

  it('cancels the files that have not arrived', async () => {
    const { queue, server, store, settled } = setUp();
    server.failures.create = Array.from({ length: 1000 }, offline);
    await queue.add(place, [pick('a.txt'), pick('b.txt')], 0);
    queue.cancelAll(queue.of('src_1')!);
    await settled();
    expect(queue.of('src_1')!.counts.cancelled).toBe(2);
    await vi.waitFor(() => expect(store.items.size).toBe(0));
    expect(server.uploads.length).toBe(0);
    server.failures.create = [];
    queue.retry(queue.of('src_1')!.list[0]!);
    await settled();
    expect(queue.of('src_1')!.list.map((u) => u.state)).toEqual(['added', 'cancelled']);
  });

  it('refuses the files that an import has left unread', async () => {
    const { queue, server, settled } = setUp();
    server.outcome = () => undefined;
    server.importEnded = { reason: 'An internal error occurred.' };
    await queue.add(place, [pick('a.txt')], 0);
    await settled();
    expect(queue.of('src_1')!.list[0]!.reason).toBe('An internal error occurred.');
  });

  it('sends a file that the browser cannot store', async () => {
    const { queue, store, settled } = setUp();
    store.full = true;
    await queue.add(place, [pick('a.txt'), pick('b.txt')], 0);
    await settled();
    expect([queue.notStored, queue.of('src_1')!.counts.added]).toEqual([true, 2]);
  });
});

describe('a queue after a reload', () => {
  const ignore = () => {};

  it('continues without sending again what the server has', async () => {
    const first = setUp();
    first.server.outcome = (name) => (name === 'a.txt' ? { outcome: 'added' } : undefined);
    first.server.failures.append = [];
    await first.queue.add(place, [pick('a.txt'), pick('b.txt'), pick('large.txt', 9 * MIB)], 0);
    await vi.waitFor(() => expect(first.queue.of('src_1')!.counts.added).toBe(1));
    await vi.waitFor(() => expect(first.queue.of('src_1')!.counts.importing).toBe(2));
    first.close();
    first.server.outcome = () => ({ outcome: 'added' });
    first.server.requests = [];
    const second = setUp('usr_1', first.shared);
    let resumed = 0;
    await second.queue.resume((count) => (resumed = count));
    await vi.waitFor(() => expect(second.queue.of('src_1')?.counts.added).toBe(3));
    expect(resumed).toBe(2);
    expect(first.server.requests.filter((r) => !r.startsWith('results'))).toEqual([]);
    await vi.waitFor(() => expect([first.store.items.size, second.marked()]).toEqual([0, false]));
  });

  it('keeps the number of files that were left out', async () => {
    const first = setUp();
    first.server.failures.create = Array.from({ length: 1000 }, offline);
    await first.queue.add(place, [pick('a.txt'), pick('b.txt')], 3);
    await first.queue.add(place, [pick('c.txt')], 2);
    first.queue.cancel(first.queue.of('src_1')!.list[0]!);
    first.close();
    first.server.failures.create = [];
    const second = setUp('usr_1', first.shared);
    await second.queue.resume(ignore);
    await vi.waitFor(() => expect(second.queue.of('src_1')?.counts.added).toBe(2));
    expect(second.queue.of('src_1')!.leftOut).toBe(5);
  });

  it('repeats the request whose reply it has not seen with the same key', async () => {
    const first = setUp();
    const create = first.server.create.bind(first.server);
    first.server.create = async (...args: Parameters<Server['create']>) => {
      await create(...args);
      return new Promise<never>(() => {}); // the page is closed before the reply
    };
    await first.queue.add(place, [pick('a.txt')], 0);
    await vi.waitFor(() => expect(first.server.uploads.length).toBe(1));
    first.close();
    first.server.create = create;
    const second = setUp('usr_1', first.shared);
    await second.queue.resume(ignore);
    await vi.waitFor(() => expect(second.queue.of('src_1')?.counts.added).toBe(1));
    expect(first.server.uploads.length).toBe(1);
  });

  it('leaves the files of an open tab to that tab', async () => {
    const first = setUp();
    first.server.failures.create = Array.from({ length: 1000 }, offline);
    await first.queue.add(place, [pick('a.txt')], 0);
    const second = setUp('usr_1', first.shared);
    await second.queue.resume(ignore);
    expect(second.queue.batches).toEqual([]);
    first.server.failures.create = [];
    first.close(); // now the second tab takes over
    await vi.waitFor(() => expect(second.queue.of('src_1')?.counts.added).toBe(1));
    expect(first.server.uploads.length).toBe(1);
  });

  it('is deleted if another account has signed in', async () => {
    const first = setUp();
    first.server.failures.create = Array.from({ length: 1000 }, offline);
    await first.queue.add(place, [pick('a.txt')], 0);
    first.close();
    const second = setUp('usr_2', first.shared);
    await second.queue.resume(ignore);
    expect([second.queue.batches.length, first.store.items.size, second.marked()]).toEqual([0, 0, false]);
  });
});
