import { base } from './base';
import type { components } from './schema';
import { readEvents, type ServerEvent } from './sse';

type Source = components['schemas']['Source'];
type Import = components['schemas']['Import'];
type Report = Pick<Import, 'files' | 'bytes' | 'documents' | 'failed' | 'errors' | 'current' | 'etaSeconds'>;

/** How many sources are followed at once; browsers keep six lines to a server, and the app needs some of them. */
const LINES = 3;

/** Follows the imports of an agent's sources as they happen. */
export class ImportFeed {
  #reports = $state.raw<Record<string, Report>>({});
  #lines = new Map<string, AbortController>();

  /** `ended` is told of each import that ends: then the sources themselves have changed. */
  constructor(
    readonly agentId: string,
    readonly ended: () => void,
  ) {}

  /** Follows these sources, the first most of all, and no others. */
  follow(ids: readonly string[]): void {
    const wanted = new Set(ids.slice(0, LINES));
    for (const [id, line] of this.#lines)
      if (!wanted.has(id)) {
        line.abort();
        this.#lines.delete(id);
        this.#forget(id);
      }
    for (const id of wanted) if (!this.#lines.has(id)) void this.#listen(id);
  }

  /** The source with what is known of its import this moment. */
  current(source: Source): Source {
    const report = this.#reports[source.id];
    if (!report) return source;
    const before = source.import ?? { id: '', sourceId: source.id, createdAt: '', updatedAt: '' };
    return { ...source, import: { ...before, ...report, state: 'running' } };
  }

  close(): void {
    this.follow([]);
  }

  /** Listens until told not to, over any number of lines. */
  async #listen(id: string): Promise<void> {
    const line = new AbortController();
    this.#lines.set(id, line);
    let last = '';
    for (let wait = 500; !line.signal.aborted; wait = Math.min(wait * 2, 30_000)) {
      try {
        const url = `${base}/api/agents/${this.agentId}/sources/${id}/events`;
        await readEvents(
          url,
          last,
          line.signal,
          () => (wait = 500),
          (e) => {
            last = e.id || last;
            this.#take(id, e);
          },
        );
      } catch {
        /* the next line may hold; the page itself says when the server is away */
      }
      if (!line.signal.aborted) await new Promise((r) => setTimeout(r, wait));
    }
  }

  #take(id: string, e: ServerEvent): void {
    if (e.event === 'progress') {
      // What the server leaves out is nothing, and must replace what was there before.
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
