import { ApiError, call, redirectFor } from './api';
import { base } from './base';
import { t } from './i18n/index.svelte';
import type { components } from './schema';

/** The place of an upload on the server. */
export type UploadPlace = { agentId: string; sourceId: string };
export type UploadResult = components['schemas']['Upload'];

/** Sends files to the server with the resumable upload protocol, https://tus.io/protocols/resumable-upload. */
export interface UploadClient {
  /** How many requests the rate limit of the account allows at once; infinite if it is not known. */
  readonly remaining: number;
  /**
   * Announces a file and returns the id of its upload, and how many bytes the server has received. The same key gives
   * the same upload. `start` is the beginning of the file, which saves a request for a small file. The signal ends the
   * request.
   */
  create(
    place: UploadPlace,
    path: string,
    size: number,
    key: string,
    start?: Blob,
    signal?: AbortSignal,
  ): Promise<{ uploadId: string; offset: number }>;
  /** Returns how many bytes the server has received. */
  offset(place: UploadPlace, uploadId: string): Promise<number>;
  append(
    place: UploadPlace,
    uploadId: string,
    from: number,
    body: Blob,
    signal: AbortSignal,
    progress: (sent: number) => void,
  ): Promise<void>;
  cancel(place: UploadPlace, uploadId: string): Promise<void>;
  /** Returns the uploads that the server knows. An imported upload has an outcome. */
  results(place: UploadPlace, uploadIds: readonly string[]): Promise<UploadResult[]>;
  /** Returns the reason if no import of the source is waiting or running, which leaves received files unread. */
  ended(place: UploadPlace): Promise<{ reason?: string } | undefined>;
}

const TUS = { 'Tus-Resumable': '1.0.0' };

const sourceUrl = ({ agentId, sourceId }: UploadPlace) => `${base}/api/agents/${agentId}/sources/${sourceId}`;

export class HttpUploadClient implements UploadClient {
  remaining = Infinity;

  async create(place: UploadPlace, path: string, size: number, key: string, start?: Blob, signal?: AbortSignal) {
    const name = btoa(String.fromCharCode(...new TextEncoder().encode(path)));
    const made = await call(`${sourceUrl(place)}/uploads`, {
      method: 'POST',
      headers: {
        ...TUS,
        'Upload-Length': String(size),
        'Upload-Metadata': `filename ${name}`,
        'Idempotency-Key': key,
        ...(start && { 'Content-Type': 'application/offset+octet-stream' }),
      },
      body: start,
      signal,
    });
    this.remaining = remainingIn(made.headers.get('RateLimit') ?? '');
    // Behind a proxy the Location header may hold an internal address, so only the id is used.
    const uploadId = made.headers.get('Location')!.split('/').at(-1)!;
    return { uploadId, offset: Number(made.headers.get('Upload-Offset') ?? 0) };
  }

  async offset(place: UploadPlace, uploadId: string): Promise<number> {
    const found = await call(`${sourceUrl(place)}/uploads/${uploadId}`, { method: 'HEAD', headers: TUS });
    return Number(found.headers.get('Upload-Offset'));
  }

  /** Uses XMLHttpRequest, because fetch has no upload progress. */
  append(
    place: UploadPlace,
    uploadId: string,
    from: number,
    body: Blob,
    signal: AbortSignal,
    progress: (sent: number) => void,
  ): Promise<void> {
    const request = new XMLHttpRequest();
    request.open('PATCH', `${sourceUrl(place)}/uploads/${uploadId}`);
    const headers = { ...TUS, 'Upload-Offset': String(from), 'Content-Type': 'application/offset+octet-stream' };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => progress(e.loaded);
    signal.addEventListener('abort', () => request.abort());
    return new Promise((resolve, reject) => {
      request.onloadend = () => {
        if (request.status >= 200 && request.status < 300) return resolve();
        const e = errorOf(request);
        redirectFor(e);
        reject(e);
      };
      request.send(body);
    });
  }

  async cancel(place: UploadPlace, uploadId: string): Promise<void> {
    await call(`${sourceUrl(place)}/uploads/${uploadId}`, { method: 'DELETE', headers: TUS });
  }

  async results(place: UploadPlace, uploadIds: readonly string[]): Promise<UploadResult[]> {
    const reply = await call(`${sourceUrl(place)}/uploads?ids=${uploadIds.join(',')}`);
    return ((await reply.json()) as components['schemas']['UploadResults']).uploads;
  }

  async ended(place: UploadPlace): Promise<{ reason?: string } | undefined> {
    const reply = await call(`${sourceUrl(place)}/imports`);
    const { imports } = (await reply.json()) as components['schemas']['ImportList'];
    if (imports.some((i) => i.state === 'queued' || i.state === 'running')) return undefined;
    return { reason: imports[0]?.errors.at(-1)?.reason };
  }
}

/** The smallest number of remaining requests in a RateLimit header: `"credential";r=120;t=2, "user";r=310;t=1`. */
export const remainingIn = (header: string): number =>
  Math.min(...[...header.matchAll(/;r=(\d+)/g)].map((m) => Number(m[1])));

/** The error of a request. The page of a proxy has no problem detail, so the status decides. */
function errorOf(request: XMLHttpRequest): ApiError {
  const retryAfter = Number(request.getResponseHeader('Retry-After')) || 0;
  try {
    const p = JSON.parse(request.responseText) as { code: string; detail: string; requestId: string };
    return new ApiError(p.code, p.detail, request.status, p.requestId, [], retryAfter);
  } catch {
    const code = request.status === 0 ? 'offline' : request.status === 413 ? 'body_too_large' : 'internal';
    return new ApiError(code, t(`problem.${code}`), request.status, '', [], retryAfter);
  }
}
