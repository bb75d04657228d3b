/** Options of a call. */
export interface CallOptions {
  /**
   * The key of a POST that creates something, so that a program can repeat the call after its own restart. By default
   * every call has a random key, which its retries share.
   */
  idempotencyKey?: string | undefined;
  /** The Prefer header, such as "wait=5" or "respond-async". */
  prefer?: string | undefined;
  /** Further headers, such as If-Match. */
  headers?: Record<string, string> | undefined;
  /** Aborts the call. */
  signal?: AbortSignal | undefined;
}

/** A request to the API. */
export interface Request {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** The body, encoded as JSON. */
  body?: unknown;
  /** A body that is sent as it is, instead. */
  raw?: BodyInit | undefined;
  /** Whether the operation honours Idempotency-Key. */
  keyed?: boolean;
  options?: CallOptions;
}

/** Returns an id as a segment of a path. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}

/** Iterates over the entries of all pages, which read returns with the cursor of the next page. */
export async function* pages<T>(
  read: (cursor: string | undefined) => Promise<{ entries: T[]; next?: string | undefined }>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield* page.entries;
    cursor = page.next;
  } while (cursor);
}

/** Waits for some milliseconds or until the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
