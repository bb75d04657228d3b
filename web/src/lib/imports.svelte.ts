import { base } from './base';
import type { components } from './schema';
import { readEvents, type ServerEvent } from './sse';

type Source = components['schemas']['Source'];
type Import = components['schemas']['ImportJob'];
type Report = Pick<Import, 'files' | 'bytes' | 'documents' | 'failed' | 'errors' | 'current' | 'etaSeconds'>;

/** Concurrent event streams. Browsers open six HTTP/1.1 connections per host, and the app needs some of them. */
const MAX_STREAMS = 3;

/** Live progress of the imports into an agent's sources. */
export class ImportFeed {
  #reports = $state.raw<Record<string, Report>>({});
  #streams = new Map<string, AbortController>();

  /** `ended` is called after each import, when the sources have changed. */
  constructor(
    readonly agentId: string,
    readonly ended: () => void,
  ) {}

  /** Follows the first sources of the list and stops following all others. */
  follow(ids: readonly string[]): void {
    const wanted = new Set(ids.slice(0, MAX_STREAMS));
    for (const [id, stream] of this.#streams)
      if (!wanted.has(id)) {
        stream.abort();
        this.#streams.delete(id);
        this.#forget(id);
      }
    for (const id of wanted) if (!this.#streams.has(id)) void this.#listen(id);
  }

  /** The source with the latest progress of its import. */
  current(source: Source): Source {
    const report = this.#reports[source.id];
    if (!report) return source;
    const before = source.import ?? { id: '', sourceId: source.id, createdAt: '', updatedAt: '' };
    return { ...source, import: { ...before, ...report, state: 'running' } };
  }

  close(): void {
    this.follow([]);
  }

  /** Reads the events of a source until its stream is aborted, reconnecting as needed. */
  async #listen(id: string): Promise<void> {
    const stream = new AbortController();
    this.#streams.set(id, stream);
    let last = '';
    for (let wait = 500; !stream.signal.aborted; wait = Math.min(wait * 2, 30_000)) {
      try {
        const url = `${base}/api/agents/${this.agentId}/sources/${id}/events`;
        await readEvents(
          url,
          last,
          stream.signal,
          () => (wait = 500),
          (e) => {
            last = e.id || last;
            this.#apply(id, e);
          },
        );
      } catch {
        // Reconnect below. The page itself reports that the server is unreachable.
      }
      if (!stream.signal.aborted) await new Promise((r) => setTimeout(r, wait));
    }
  }

  #apply(id: string, e: ServerEvent): void {
    if (e.event === 'progress') {
      // The server omits empty fields; they must clear the previous values.
      this.#reports = {
        ...this.#reports,
        [id]: {
          errors: [],
          current: undefined,
          etaSeconds: undefined,
          ...(JSON.parse(e.data) as Partial<Report>),
        } as Report,
      };
    } else if (e.event === 'done') {
      this.#forget(id);
      this.ended();
    }
  }

  #forget(id: string): void {
    const { [id]: _, ...rest } = this.#reports;
    this.#reports = rest;
  }
}
