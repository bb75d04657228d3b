import { ApiError } from './api';
import { errorText } from './i18n/index.svelte';
import { l } from './i18n/library';
import { byPath, type PickedFile } from './pick';
import { asApiError } from './resource.svelte';
import type { UploadClient, UploadPlace, UploadResult } from './uploadClient';
import type { StoredUpload, UploadSelection, UploadStore } from './uploadStore';

/** Files are sent in chunks of this size, so that a lost connection repeats one chunk only. */
const CHUNK = 4 * 1024 * 1024;
/** Files up to this size are sent with the request that creates their upload, which has no progress. */
const SMALL = 256 * 1024;
/** Concurrent uploads. Browsers open six HTTP/1.1 connections per host, and the app needs some of them. */
const MAX_UPLOADS = 3;
/** Backoff after consecutive failures. The last one is repeated. An `online` event ends the wait early. */
const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15_000, 30_000];
/** Time between two requests for the results of imports. */
const POLL_MS = 1000;
/** Uploads in one request for results, which the server limits. */
const MAX_IDS = 100;
/** Requests of the rate limit that are left to the rest of the app, and the pause before the next file otherwise. */
const SPARE_REQUESTS = 50;
const SPARE_MS = 1500;
/** Files that are stored in the browser in one transaction. They are sent once they are stored. */
const STORE_BATCH = 50;

export type UploadState =
  'waiting' | 'sending' | 'importing' | 'added' | 'updated' | 'unchanged' | 'refused' | 'cancelled';

/** One file of the queue. Only its batch changes its state, because the batch counts the states. */
export class Upload {
  state = $state<UploadState>('waiting');
  /** Bytes that the server has received. */
  sent = $state(0);
  /** Why the file was refused, or why a record of it was skipped. */
  reason = $state('');
  skipped = $state(0);
  /** Idempotency key of the request that creates the upload. A retry after a refusal has a new one. */
  key = crypto.randomUUID() as string;
  uploadId: string | undefined;
  /** Bytes that the server has received; undefined if the server must be asked. */
  offset: number | undefined;
  readonly abort = { controller: new AbortController() };

  constructor(
    readonly batch: Batch,
    readonly path: string,
    readonly size: number,
    /** Absent after a reload if the server has received the file. */
    readonly file: Blob | undefined,
    readonly selection: UploadSelection | undefined,
    readonly id: string = crypto.randomUUID(),
  ) {}

  /** Whether a result is still to come. */
  get open(): boolean {
    return this.state === 'waiting' || this.state === 'sending' || this.state === 'importing';
  }
  get problem(): boolean {
    return this.state === 'refused' || this.skipped > 0;
  }
}

/** The uploads to one source, with their counts. */
export class Batch {
  list = $state.raw<Upload[]>([]);
  counts = $state<Record<UploadState, number>>(noCounts());
  problems = $state(0);
  bytes = $state(0);
  sentBytes = $state(0);
  /** Hidden files and files of the operating system that were not added. */
  leftOut = $state(0);

  constructor(readonly place: UploadPlace) {}

  get open(): number {
    return this.counts.waiting + this.counts.sending + this.counts.importing;
  }

  add(uploads: readonly Upload[], leftOut: number): void {
    this.list = [...this.list, ...uploads];
    this.leftOut += leftOut;
    for (const u of uploads) {
      this.counts[u.state]++;
      this.bytes += u.size;
      this.sentBytes += u.sent;
      if (u.problem) this.problems++;
    }
  }

  move(u: Upload, state: UploadState, reason = '', skipped = 0): void {
    const before = u.problem;
    this.counts[u.state]--;
    u.state = state;
    this.counts[state]++;
    u.reason = reason;
    u.skipped = skipped;
    this.problems += Number(u.problem) - Number(before);
  }

  progress(u: Upload, sent: number): void {
    this.sentBytes += sent - u.sent;
    u.sent = sent;
  }
}

const noCounts = (): Record<UploadState, number> => ({
  waiting: 0,
  sending: 0,
  importing: 0,
  added: 0,
  updated: 0,
  unchanged: 0,
  refused: 0,
  cancelled: 0,
});

/** What the queue needs from the browser and the server. Tests replace it. */
export type QueueDeps = {
  store: UploadStore;
  client: UploadClient;
  locks: Pick<LockManager, 'request'>;
  /** The id of the signed-in account. */
  account: () => Promise<string>;
  /** Called with true when files are stored in the browser, and with false when there are none. */
  stored: (some: boolean) => void;
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

/**
 * The upload queue of this tab. Its files are stored in the browser until their results are known, so that the queue
 * continues after a reload. Every tab holds a lock while it sends its files: another tab takes them over only when the
 * lock is free, because the tab was closed.
 */
export class UploadQueue {
  batches = $state.raw<Batch[]>([]);
  /** Number of received results. Pages watch it to reload. */
  finished = $state(0);
  /** Why the queue waits: the connection is lost, or the server is busy. */
  waitsFor = $state<'connection' | 'server'>();
  /** Whether the browser could not store a file, which is then lost on a reload. */
  notStored = $state(false);

  #owner: Promise<string> | undefined;
  #waiting: Upload[] = [];
  #running = 0;
  #failures = 0;
  #pause: Promise<void> | undefined;
  #polling = false;
  #stop = new AbortController();

  constructor(readonly deps: QueueDeps) {}

  of(sourceId: string): Batch | undefined {
    return this.batches.find((b) => b.place.sourceId === sourceId);
  }

  /** Adds files to the queue and returns their uploads. They are sent as soon as they are stored in the browser. */
  async add(place: UploadPlace, files: readonly PickedFile[], leftOut: number): Promise<Upload[]> {
    const batch = this.#batch(place);
    const selection = { id: crypto.randomUUID(), leftOut };
    const made = files.map(({ path, file }) => new Upload(batch, path, file.size, file, selection));
    batch.add(made, leftOut);
    for (let i = 0; i < made.length; i += STORE_BATCH) {
      await this.#store(made.slice(i, i + STORE_BATCH));
      this.#run(made.slice(i, i + STORE_BATCH));
    }
    return made;
  }

  /** Takes over the files that closed tabs of this account have left, and waits for those of other open tabs. */
  async resume(found: (count: number, place: UploadPlace) => void): Promise<void> {
    const mine = await this.#claimOwner();
    const owners = await this.deps.store.owners(await this.deps.account());
    this.deps.stored(owners.length > 0);
    for (const owner of owners)
      if (owner !== mine)
        void this.deps.locks.request(lockName(owner), async () => {
          const items = await this.deps.store.adopt(owner, mine);
          if (items.length && !this.#stop.signal.aborted) this.#restore(items, found);
        });
  }

  retry(u: Upload): void {
    u.key = crypto.randomUUID();
    u.uploadId = u.offset = undefined;
    u.abort.controller = new AbortController();
    u.batch.progress(u, 0);
    u.batch.move(u, 'waiting');
    void this.#store([u]).then(() => this.#run([u]));
  }

  cancel(u: Upload): void {
    if (u.state !== 'waiting' && u.state !== 'sending') return;
    u.batch.move(u, 'cancelled');
    u.abort.controller.abort();
    if (u.uploadId) void this.deps.client.cancel(u.batch.place, u.uploadId).catch(() => {}); // expires after two days
    void this.deps.store.remove([u.id]).catch(() => {});
    void this.#settle(u.batch);
  }

  cancelAll(batch: Batch): void {
    for (const u of batch.list) this.cancel(u);
  }

  /** Removes the results of a source from the screen. */
  dismiss(batch: Batch): void {
    this.batches = this.batches.filter((b) => b !== batch);
  }

  /** Stops the queue and removes it from the screen. The server discards incomplete uploads after two days. */
  stop(): void {
    this.#stop.abort();
    for (const b of this.batches) for (const u of b.list) u.abort.controller.abort();
    this.batches = [];
  }

  #batch(place: UploadPlace): Batch {
    const found = this.of(place.sourceId);
    if (found?.open) return found;
    const made = new Batch(place);
    this.batches = [...this.batches.filter((b) => b !== found), made]; // earlier results are replaced
    return made;
  }

  /** Takes the lock of this tab and returns its name. The lock is held until the tab is closed. */
  #claimOwner(): Promise<string> {
    this.#owner ??= this.deps.account().then((account) => {
      const owner = `${account}/${crypto.randomUUID()}`;
      return new Promise<string>((resolve) => {
        void this.deps.locks.request(lockName(owner), () => {
          resolve(owner);
          return new Promise<never>(() => {});
        });
      });
    });
    return this.#owner;
  }

  /** Stores files in the browser. A file that can't be stored is sent all the same. */
  async #store(uploads: readonly Upload[]): Promise<void> {
    try {
      const owner = await this.#claimOwner();
      this.deps.stored(true);
      await this.deps.store.add(uploads.map((u) => toStored(u, owner)));
    } catch {
      if (uploads.length > 1) for (const u of uploads) await this.#store([u]);
      else this.notStored = true;
    }
  }

  #restore(items: readonly StoredUpload[], found: (count: number, place: UploadPlace) => void): void {
    for (const sourceId of new Set(items.map((i) => i.sourceId))) {
      const stored = items.filter((i) => i.sourceId === sourceId).sort(byPath);
      const place = { agentId: stored[0]!.agentId, sourceId };
      const batch = this.#batch(place);
      const uploads = stored.map((item) => fromStored(batch, item));
      batch.add(uploads, leftOutOf(stored));
      found(batch.open, place);
      this.#run(uploads);
      void this.#poll();
      void this.#settle(batch);
    }
  }

  #run(uploads: readonly Upload[]): void {
    this.#waiting.push(...uploads.filter((u) => u.state === 'waiting'));
    while (this.#running < MAX_UPLOADS && this.#waiting.length) {
      this.#running++;
      void this.#work().finally(() => this.#running--);
    }
  }

  async #work(): Promise<void> {
    for (let u = this.#waiting.shift(); u; u = this.#waiting.shift())
      if (u.state === 'waiting' && !this.#stop.signal.aborted) {
        await this.#send(u);
        if (this.deps.client.remaining < SPARE_REQUESTS) await this.deps.wait(SPARE_MS, this.#stop.signal);
      }
  }

  /** Sends a file until the server has received or refused it, or it is cancelled. */
  async #send(u: Upload): Promise<void> {
    u.batch.move(u, 'sending');
    const { signal } = u.abort.controller;
    while (!signal.aborted) {
      await this.#pause;
      try {
        await this.#transfer(u, signal);
        if (signal.aborted) break;
        await this.#update(u, { file: undefined, uploadId: u.uploadId });
        u.batch.move(u, 'importing');
        void this.#poll();
        return;
      } catch (e) {
        if (signal.aborted) break;
        const error = await this.#explain(u, asApiError(e));
        if (!isTransient(error)) return this.#refuse(u, error);
        this.#backOff(error);
      }
    }
    // Cancelled while the upload was created, so `cancel` did not know its id.
    if (u.uploadId && u.offset !== undefined) void this.deps.client.cancel(u.batch.place, u.uploadId).catch(() => {});
  }

  /** Sends the rest of a file. If the server has deleted the upload or is at another offset, it tries once more. */
  async #transfer(u: Upload, signal: AbortSignal): Promise<void> {
    try {
      await this.#sendRest(u, signal);
    } catch (e) {
      const { status } = asApiError(e);
      if (!u.uploadId || (status !== 404 && status !== 409)) throw e;
      u.offset = undefined;
      if (status === 404) {
        u.uploadId = undefined;
        u.key = crypto.randomUUID();
      }
      await this.#sendRest(u, signal);
    }
  }

  async #sendRest(u: Upload, signal: AbortSignal): Promise<void> {
    const { client } = this.deps;
    const { place } = u.batch;
    if (!u.uploadId) {
      const start = u.size > 0 && u.size <= SMALL ? u.file : undefined;
      // A request without content is not ended, because its reply has the id of the upload to cancel.
      const ends = start && signal;
      const { uploadId, offset } = await client.create(place, u.path, u.size, u.key, start, ends);
      u.uploadId = uploadId;
      u.offset = offset;
      await this.#update(u, { uploadId: u.uploadId, key: u.key });
    }
    u.offset ??= await client.offset(place, u.uploadId);
    this.#succeeded();
    while (u.offset! < u.size && !signal.aborted) {
      const from: number = u.offset!;
      const chunk = u.file!.slice(from, from + CHUNK);
      u.offset = undefined; // unknown until the reply
      await client.append(place, u.uploadId, from, chunk, signal, (sent) => u.batch.progress(u, from + sent));
      u.offset = from + chunk.size;
      this.#succeeded();
    }
    if (!signal.aborted) u.batch.progress(u, u.size);
  }

  /** Ends the backoff after a request that succeeded. */
  #succeeded(): void {
    this.#failures = 0;
    this.waitsFor = undefined;
  }

  /** A file that can't be read fails like a lost connection. Reading a byte tells them apart. */
  async #explain(u: Upload, error: ApiError): Promise<ApiError> {
    if (error.status !== 0) return error;
    try {
      await u.file!.slice(0, 1).arrayBuffer();
      return error;
    } catch {
      return new ApiError('unreadable', l('unreadable_file'), 400);
    }
  }

  async #refuse(u: Upload, error: ApiError): Promise<void> {
    const reason = error.fields[0]?.detail ?? (error.code === 'unreadable' ? error.message : errorText(error));
    await this.#finish(u, 'refused', reason);
  }

  async #finish(u: Upload, state: UploadState, reason = '', skipped = 0): Promise<void> {
    u.batch.move(u, state, reason, skipped);
    await this.#update(u, { file: undefined, outcome: state, reason });
    await this.#settle(u.batch);
  }

  /** Forgets the files of a source once all results are known. */
  async #settle(batch: Batch): Promise<void> {
    if (batch.open) return;
    await this.deps.store.remove(batch.list.map((u) => u.id)).catch(() => {});
    if (this.batches.some((b) => b.open)) return;
    const owners = await this.deps.store.owners(await this.deps.account()).catch(() => []); // of other tabs
    this.deps.stored(owners.length > 0);
  }

  async #update(u: Upload, change: Partial<StoredUpload>): Promise<void> {
    await this.deps.store.update(u.id, change).catch(() => (this.notStored = true));
  }

  /** Pauses the whole queue: a server that is busy or gone is so for every file. */
  #backOff(error: ApiError): void {
    const ms = error.retryAfter
      ? error.retryAfter * 1000
      : BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)]!;
    if (this.#pause) return;
    this.#failures++;
    this.waitsFor = error.status === 429 || error.status === 503 ? 'server' : 'connection';
    this.#pause = this.deps.wait(ms, this.#stop.signal).then(() => {
      this.#pause = undefined;
    });
  }

  /** Reads the results of received files until all are known. */
  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      while (!this.#stop.signal.aborted) {
        const batches = this.batches.filter((b) => b.counts.importing);
        if (!batches.length) return;
        let more = false;
        for (const b of batches) more = (await this.#readResults(b)) || more;
        await this.#pause;
        if (!more) await this.deps.wait(POLL_MS, this.#stop.signal);
      }
    } finally {
      this.#polling = false;
    }
  }

  /** Reads the results of the oldest received files, and reports whether more are likely to be known. */
  async #readResults(batch: Batch): Promise<boolean> {
    const waiting = batch.list.filter((u) => u.state === 'importing').slice(0, MAX_IDS);
    try {
      const ids = waiting.map((u) => u.uploadId!);
      const results = new Map((await this.deps.client.results(batch.place, ids)).map((r) => [r.id, r]));
      this.#succeeded();
      const known = waiting.filter((u) => results.get(u.uploadId!)?.outcome || !results.has(u.uploadId!));
      for (const u of known) await this.#finish(u, ...resultOf(u, results.get(u.uploadId!)));
      if (!known.length) {
        // The files arrived before `ended` is asked, so their import has ended without them.
        const ended = await this.deps.client.ended(batch.place);
        const left = ended && (await this.#unread(batch, waiting));
        for (const u of left ?? []) await this.#finish(u, 'refused', ended!.reason ?? l('import_ended'));
      }
      if (known.length) this.finished++;
      return known.length === MAX_IDS;
    } catch (e) {
      const error = asApiError(e);
      if (isTransient(error)) this.#backOff(error);
      else for (const u of waiting) await this.#refuse(u, error);
      return false;
    }
  }

  /** Returns the uploads that have no result now: an import may have ended between two requests. */
  async #unread(batch: Batch, waiting: readonly Upload[]): Promise<Upload[]> {
    const now = await this.deps.client.results(
      batch.place,
      waiting.map((u) => u.uploadId!),
    );
    const unread = new Set(now.filter((r) => !r.outcome).map((r) => r.id));
    return waiting.filter((u) => unread.has(u.uploadId!));
  }
}

const lockName = (owner: string): string => `carrel-uploads:${owner}`;

/** Reports whether a retry may succeed: the network failed, the session ended, or the server is busy or restarting. */
const isTransient = ({ status }: ApiError): boolean =>
  status === 0 || status === 401 || status === 429 || status >= 502;

function resultOf(u: Upload, r: UploadResult | undefined): [UploadState, string, number] {
  if (!r) return ['refused', l('result_expired'), 0];
  const name = u.path.split('/').at(-1)!;
  const reason = (r.reason ?? '').replace(`${name}: `, '');
  const state = r.outcome === 'failed' ? 'refused' : (r.outcome as UploadState);
  return [state, reason, r.outcome === 'failed' ? 0 : (r.skipped ?? 0)];
}

const toStored = (u: Upload, owner: string): StoredUpload => ({
  id: u.id,
  owner,
  ...u.batch.place,
  path: u.path,
  size: u.size,
  key: u.key,
  file: u.file,
  selection: u.selection,
});

/** Counts the files that were left out when these were chosen. */
function leftOutOf(items: readonly StoredUpload[]): number {
  const selections = new Map(items.map((i) => [i.selection?.id, i.selection?.leftOut ?? 0]));
  return [...selections.values()].reduce((sum, n) => sum + n, 0);
}

function fromStored(batch: Batch, item: StoredUpload): Upload {
  const u = new Upload(batch, item.path, item.size, item.file, item.selection, item.id);
  u.key = item.key;
  u.uploadId = item.uploadId;
  if (item.outcome) {
    u.state = item.outcome as UploadState;
    u.reason = item.reason ?? '';
  } else if (!item.file) u.state = 'importing';
  if (u.state !== 'waiting') u.sent = u.size;
  return u;
}
