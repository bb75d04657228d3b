import { ApiError, call } from './api';
import { agents } from './agents.svelte';
import { base } from './base';
import { t } from './i18n/index.svelte';
import { asApiError } from './resource.svelte';
import { go, query } from './router.svelte';
import { show } from './toast.svelte';

/** Larger files are sent in chunks of this size, so that a lost connection repeats one chunk only. */
const CHUNK = 4 * 1024 * 1024;

/** Backoff after consecutive failures. An `online` event ends the wait early. */
const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15_000, 30_000];

/** One file being uploaded to a source. */
export class Upload {
  readonly id = crypto.randomUUID();
  /** Progress from 0 to 1. */
  sent = $state(0);
  state = $state<'waiting' | 'sending' | 'interrupted' | 'done' | 'failed' | 'cancelled'>('waiting');
  error = $state.raw<ApiError>();
  #request: XMLHttpRequest | undefined;
  #wake: (() => void) | undefined;
  /** URL of the resumable upload. It is kept after a failure, so that a retry continues from the same offset. */
  #uploadUrl = '';
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

  /** Sends the file, or the rest of it on a retry. It never throws: `state` and `error` hold the result. */
  async send(): Promise<void> {
    this.state = 'sending';
    this.error = undefined;
    try {
      await (this.file.size > CHUNK ? this.#inChunks() : this.#whole());
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
    if (!this.#uploadUrl) return;
    void call(this.#uploadUrl, { method: 'DELETE' }).catch(() => {}); // the server removes abandoned uploads later
    this.#uploadUrl = '';
    this.#offset = 0;
  }

  async #whole(): Promise<void> {
    const form = new FormData();
    form.append('file', this.file, this.#name);
    this.sent = 0;
    await this.#transfer('POST', `${this.#source}/files`, {}, form, (loaded, total) => (this.sent = loaded / total));
  }

  /** Sends the chunks in order, with backoff after a failure. Chunks that arrived are not sent again. */
  async #inChunks(): Promise<void> {
    for (let failures = 0; !this.#stopped && this.#offset < this.file.size;) {
      try {
        if (!this.#uploadUrl) await this.#begin();
        if (!this.#stopped) await this.#sendChunk();
        failures = 0;
      } catch (e) {
        const pause = BACKOFF_MS[failures++];
        if (this.#stopped || !isTransient(e) || pause === undefined) throw e;
        await this.#pause(pause);
      }
    }
    if (this.#stopped) this.cancel(); // cancelled while the upload was created: delete it
  }

  async #begin(): Promise<void> {
    const name = btoa(String.fromCharCode(...new TextEncoder().encode(this.#name)));
    const made = await call(`${this.#source}/uploads`, {
      method: 'POST',
      headers: { ...TUS, 'Upload-Length': String(this.file.size), 'Upload-Metadata': `filename ${name}` },
    });
    // Behind a proxy the Location header may hold an internal address, so only the id is used.
    this.#uploadUrl = `${this.#source}/uploads/${made.headers.get('Location')!.split('/').at(-1)}`;
    this.#offset = 0;
  }

  async #sendChunk(): Promise<void> {
    const from = this.#offset,
      end = Math.min(from + CHUNK, this.file.size);
    const headers = { ...TUS, 'Upload-Offset': String(from), 'Content-Type': 'application/offset+octet-stream' };
    try {
      await this.#transfer(
        'PATCH',
        this.#uploadUrl,
        headers,
        this.file.slice(from, end),
        (loaded) => (this.sent = (from + loaded) / this.file.size),
      );
      this.#offset = end;
    } catch (e) {
      const { status } = asApiError(e);
      if (status === 404)
        this.#uploadUrl = ''; // expired or already imported; the server ignores a file it has already imported
      else if (status === 409)
        this.#offset = Number(this.#request?.getResponseHeader('Upload-Offset') ?? 0); // more has arrived
      else throw e;
      throw new ApiError('interrupted', t('upload_interrupted'), 0); // the loop continues from the new offset
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

  /** Sends one request with XMLHttpRequest, because fetch has no upload progress. */
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

/** Header of the resumable upload protocol, https://tus.io/protocols/resumable-upload. */
const TUS = { 'Tus-Resumable': '1.0.0' };

/** Reports whether a retry may succeed: the network failed, or the server is busy or restarting. */
function isTransient(e: unknown): boolean {
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

/** Concurrent uploads. Browsers open six HTTP/1.1 connections per host, and the app needs some of them. */
const MAX_UPLOADS = 2;

class Uploads {
  list = $state.raw<Upload[]>([]);
  /** Number of finished uploads. Pages watch it to reload. */
  finished = $state(0);
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
    while (this.#running < MAX_UPLOADS) {
      const u = this.list.find((x) => x.state === 'waiting');
      if (!u) return;
      this.#running++;
      void u.send().then(() => {
        this.#running--;
        if (u.state === 'done') this.finished++;
        this.#next();
      });
    }
  }
}

export const uploads = new Uploads();

/** Uploads dropped or pasted files to the open source, or else to the agent's default upload source. */
export function uploadFiles(files: readonly File[], sourceId?: string): void {
  const agent = agents.current;
  if (!agent || !files.length) return;
  const candidates = agent.sources.filter((s) => s.kind === 'upload');
  const source = candidates.find((s) => s.id === sourceId) ?? candidates.find((s) => s.default) ?? candidates[0];
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
