import { call } from './api';

export type ServerEvent = { id: string; event: string; data: string };

/** Parses a server-sent event stream that arrives in arbitrary chunks. */
export class EventParser {
  #rest = '';

  feed(chunk: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    this.#rest += chunk;
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const e: ServerEvent = { id: '', event: 'message', data: '' };
      for (const line of this.#rest.slice(0, end).split('\n')) {
        const [name = '', value = ''] = parseField(line);
        if (name === 'id') e.id = value;
        else if (name === 'event') e.event = value;
        else if (name === 'data') e.data += (e.data && '\n') + value;
      }
      this.#rest = this.#rest.slice(end + 2);
      if (e.data) out.push(e);
    }
    return out;
  }
}

function parseField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}

/** The server sends a comment every 15 seconds, so a longer silence means that the connection is dead. */
const SILENCE_MS = 40_000;

/** Events after which the connection is reopened: timers do not run while the computer sleeps. */
const WAKE_EVENTS = ['online', 'resume'] as const;

/**
 * Reads an event stream until it ends. EventSource cannot start after a given event, gives up on the first error reply,
 * and does not notice a connection that died while the computer slept.
 */
export async function readEvents(
  url: string,
  after: string,
  signal: AbortSignal,
  opened: () => void,
  on: (e: ServerEvent) => void,
): Promise<void> {
  const inner = new AbortController();
  const stop = () => inner.abort();
  signal.addEventListener('abort', stop);
  for (const type of WAKE_EVENTS) {
    addEventListener(type, stop);
    document.addEventListener(type, stop);
  }
  let watchdog = setTimeout(stop, SILENCE_MS);
  try {
    const response = await call(url, {
      headers: after ? { 'Last-Event-ID': after } : {},
      signal: inner.signal,
      cache: 'no-store',
    });
    opened();
    const parser = new EventParser();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let r = await reader.read(); !r.done; r = await reader.read()) {
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, SILENCE_MS);
      for (const e of parser.feed(r.value)) on(e);
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener('abort', stop);
    for (const type of WAKE_EVENTS) {
      removeEventListener(type, stop);
      document.removeEventListener(type, stop);
    }
  }
}
