import { call } from './api';

/** One server-sent event. */
export type ServerEvent = { id: string; event: string; data: string };

/** Takes apart what comes over a stream of events, however it is cut into pieces. */
export class EventParser {
  #rest = '';

  feed(chunk: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    this.#rest += chunk;
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const e: ServerEvent = { id: '', event: 'message', data: '' };
      for (const line of this.#rest.slice(0, end).split('\n')) {
        const [name = '', value = ''] = split(line);
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

function split(line: string): [string, string] {
  const colon = line.indexOf(':');
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}

/** How long the server may be silent. It sends a comment every 15 seconds, so more means that the line is dead. */
const SILENCE_MS = 40_000;

/** What ends a line that may be dead: timers stood still while the computer slept, and can't tell. */
const WAKING = ['online', 'resume'] as const;

/**
 * Reads a stream of events until it ends. EventSource is not used because it can't start after a given event, gives up on the
 * first reply that is an error, and does not notice a line that died while the computer slept.
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
  for (const type of WAKING) {
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
    for (const type of WAKING) {
      removeEventListener(type, stop);
      document.removeEventListener(type, stop);
    }
  }
}
