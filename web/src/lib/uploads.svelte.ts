import { ApiError, call } from './api';
import { agents } from './agents.svelte';
import { base } from './base';
import { t } from './i18n/index.svelte';
import { asApiError } from './resource.svelte';
import { go, query } from './router.svelte';
import { show } from './toast.svelte';

/** A file above this size goes in pieces of it, so that a break costs a piece and not the file. */
const PIECE = 4 * 1024 * 1024;

/** How long to wait after each break in a row. Whoever is offline is not kept waiting once the network is back. */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000, 30_000];

/** One file on its way to a source. */
export class Upload {
  readonly id = crypto.randomUUID();
  /** How much of the file has arrived, from 0 to 1. */
  sent = $state(0);
  state = $state<'waiting' | 'sending' | 'interrupted' | 'done' | 'failed' | 'cancelled'>('waiting');
  error = $state.raw<ApiError>();
  #request: XMLHttpRequest | undefined;
  #wake: (() => void) | undefined;
  /** Where the pieces go. It outlives a failure, so that trying again goes on where it stopped. */
  #place = '';
  #offset = 0;

  constructor(
    readonly agentId: string,
    readonly sourceId: string,
    readonly file: File,
  ) {}

  get open(): boolean {
    return this.state === 'waiting' || this.state === 'sending' || this.state === 'interrupted';
  }
  get #stopped(): boolean {
    return this.state === 'cancelled';
  }
  get #source(): string {
    return `${base}/api/agents/${this.agentId}/sources/${this.sourceId}`;
  }
  get #name(): string {
    return this.file.webkitRelativePath || this.file.name;
  }

  /** Sends the file, or what of it is not there yet. It never throws: `state` and `error` say how it went. */
  async send(): Promise<void> {
    this.state = 'sending';
    this.error = undefined;
    try {
      await (this.file.size > PIECE ? this.#inPieces() : this.#whole());
      if (this.#stopped) return;
      this.sent = 1;
      this.state = 'done';
    } catch (e) {
      if (this.#stopped) return;
      this.error = asApiError(e);
      this.state = 'failed';
    }
  }

  cancel(): void {
    this.state = 'cancelled';
    this.#request?.abort();
    this.#wake?.();
    if (!this.#place) return;
    void call(this.#place, { method: 'DELETE' }).catch(() => {}); // what is left is removed by the server in time
    this.#place = '';
    this.#offset = 0;
  }

  async #whole(): Promise<void> {
    const form = new FormData();
    form.append('file', this.file, this.#name);
    this.sent = 0;
    await this.#transfer('POST', `${this.#source}/files`, {}, form, (loaded, total) => (this.sent = loaded / total));
  }

  /** Sends piece after piece. A break is waited out; what has arrived by then stays, and the rest goes on from there. */
  async #inPieces(): Promise<void> {
    for (let breaks = 0; !this.#stopped && this.#offset < this.file.size;) {
      try {
        if (!this.#place) await this.#begin();
        if (!this.#stopped) await this.#piece();
        breaks = 0;
      } catch (e) {
        const pause = PAUSES_MS[breaks++];
        if (this.#stopped || !passes(e) || pause === undefined) throw e;
        await this.#pause(pause);
      }
    }
    if (this.#stopped) this.cancel(); // again, now that there may be a place to remove
  }

  async #begin(): Promise<void> {
    const name = btoa(String.fromCharCode(...new TextEncoder().encode(this.#name)));
    const made = await call(`${this.#source}/uploads`, {
      method: 'POST',
      headers: { ...TUS, 'Upload-Length': String(this.file.size), 'Upload-Metadata': `filename ${name}` },
    });
    // Only the id is taken: the address may be that of a proxy's other side.
    this.#place = `${this.#source}/uploads/${made.headers.get('Location')!.split('/').at(-1)}`;
    this.#offset = 0;
  }

  async #piece(): Promise<void> {
    const from = this.#offset,
      end = Math.min(from + PIECE, this.file.size);
    const headers = { ...TUS, 'Upload-Offset': String(from), 'Content-Type': 'application/offset+octet-stream' };
    try {
      await this.#transfer(
        'PATCH',
        this.#place,
        headers,
        this.file.slice(from, end),
        (loaded) => (this.sent = (from + loaded) / this.file.size),
      );
      this.#offset = end;
    } catch (e) {
      const { status } = asApiError(e);
      if (status === 404)
        this.#place = ''; // it was given up meanwhile, or read: what is the same is not read twice
      else if (status === 409)
        this.#offset = Number(this.#request?.getResponseHeader('Upload-Offset') ?? 0); // more had arrived than was known
      else throw e;
      throw new ApiError('interrupted', t('upload_interrupted'), 0); // and goes on from there
    }
  }

  async #pause(ms: number): Promise<void> {
    this.state = 'interrupted';
    await new Promise<void>((resolve) => {
      const done = new AbortController();
      this.#wake = () => {
        done.abort();
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(this.#wake, ms);
      addEventListener('online', this.#wake, { signal: done.signal });
    });
    if (!this.#stopped) this.state = 'sending';
  }

  /** One request with a body. It is a XMLHttpRequest because fetch does not tell how much has been sent. */
  #transfer(
    method: string,
    url: string,
    headers: Record<string, string>,
    body: XMLHttpRequestBodyInit,
    progress: (loaded: number, total: number) => void,
  ): Promise<void> {
    const request = (this.#request = new XMLHttpRequest());
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => {
      if (e.lengthComputable) progress(e.loaded, e.total);
    };
    return new Promise((resolve, reject) => {
      request.onloadend = () => {
        if (request.status >= 200 && request.status < 300) resolve();
        else reject(failureOf(request));
      };
      request.send(body);
    });
  }
}

/** The version of the protocol for pieces, https://tus.io/protocols/resumable-upload. */
const TUS = { 'Tus-Resumable': '1.0.0' };

/** Whether a failure is one of the line or of a server that restarts, and not of what was sent. */
function passes(e: unknown): boolean {
  const { status } = asApiError(e);
  return status === 0 || status === 429 || status >= 502;
}

function failureOf(request: XMLHttpRequest): ApiError {
  try {
    const p = JSON.parse(request.responseText) as { code: string; detail: string; requestId: string };
    return new ApiError(p.code, p.detail, request.status, p.requestId);
  } catch {
    return new ApiError(request.status ? 'internal' : 'offline', t('problem.offline'), request.status);
  }
}

/** How many files are sent at once; browsers keep six lines to a server, and the app needs some of them. */
const LANES = 2;

class Uploads {
  list = $state.raw<Upload[]>([]);
  /** Counts what has arrived, so that pages know when to look again. */
  arrived = $state(0);
  #running = 0;

  add(agentId: string, sourceId: string, files: Iterable<File>): void {
    const made = [...files].map((f) => new Upload(agentId, sourceId, f));
    this.list = [...this.list.filter((u) => u.state !== 'done' && u.state !== 'cancelled'), ...made];
    this.#next();
  }

  retry(u: Upload): void {
    u.state = 'waiting';
    this.#next();
  }

  drop(u: Upload): void {
    if (u.open) u.cancel();
    this.list = this.list.filter((x) => x !== u);
  }

  #next(): void {
    while (this.#running < LANES) {
      const u = this.list.find((x) => x.state === 'waiting');
      if (!u) return;
      this.#running++;
      void u.send().then(() => {
        this.#running--;
        if (u.state === 'done') this.arrived++;
        this.#next();
      });
    }
  }
}

export const uploads = new Uploads();

/** Sends files that were dropped or pasted anywhere to the source that is open, else to the first that takes files. */
export function take(files: readonly File[], sourceId?: string): void {
  const agent = agents.current;
  if (!agent || !files.length) return;
  const takers = agent.sources.filter((s) => s.kind === 'upload');
  const source = takers.find((s) => s.id === sourceId) ?? takers.find((s) => s.default) ?? takers[0];
  if (!source) {
    show({ text: t('no_upload_source') });
    return;
  }
  uploads.add(agent.id, source.id, files);
  const follow = { label: t('show'), run: () => go(`/sources/${source.id}${query({ agent: agent.id })}`) };
  show({
    text: t('uploading_to', { count: files.length, source: source.name }),
    action: sourceId === source.id ? undefined : follow,
  });
}
