import { api, body, type ApiError, type Thread, type ThreadChange } from './api';
import { recall, remember } from './prefs.svelte';
import { asApiError } from './resource.svelte';

/** Polling intervals of the thread list: short while a turn runs. */
const BUSY_MS = 3000;
const IDLE_MS = 30_000;

/** Which threads the list shows: those with a tag, or the archived ones. */
export type View = { archived?: boolean; tag?: string };

/** The threads of one agent, pinned ones first, polled while the page is visible. */
class Threads {
  agentId = $state('');
  view = $state.raw<View>({});
  /** The selected threads while several are being chosen. */
  selected = $state.raw<Set<string>>();
  list = $state.raw<Thread[]>([]);
  more = $state.raw<string>();
  loaded = $state(false);
  error = $state.raw<ApiError>();
  /** When each thread was last opened here; a thread with newer messages is unread. */
  seen = $state.raw<Record<string, string>>(read());
  hidden = $state.raw<Set<string>>(new Set());
  #opened = $state.raw<Thread>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #latestRequest = 0;

  open(agentId: string): void {
    if (agentId === this.agentId) return;
    this.agentId = agentId;
    this.show({});
  }

  /** Shows another part of the threads. */
  show(view: View): void {
    this.view = view;
    this.selected = undefined;
    this.list = [];
    this.more = undefined;
    this.loaded = false;
    void this.refresh();
  }

  get #query() {
    return { limit: 50, sort: 'pinned' as const, archived: !!this.view.archived, tag: this.view.tag };
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const agentId = this.agentId;
    if (!agentId) return;
    const request = ++this.#latestRequest;
    try {
      const page = await body(
        api.GET('/api/agents/{agentId}/threads', { params: { path: { agentId }, query: this.#query } }),
      );
      if (request !== this.#latestRequest) return;
      const ids = new Set(page.threads.map((x) => x.id));
      const rest =
        this.more === undefined ? [] : this.list.filter((x) => !ids.has(x.id)).slice(Math.max(0, 50 - ids.size));
      this.list = [...page.threads, ...(this.list.length > 50 ? rest : [])];
      if (this.list.length <= 50) this.more = page.nextCursor;
      this.loaded = true;
      this.error = undefined;
    } catch (e) {
      this.error = asApiError(e);
    }
    const busy = this.list.some((x) => x.status === 'working');
    if (document.visibilityState === 'visible')
      this.#timer = setTimeout(() => void this.refresh(), busy ? BUSY_MS : IDLE_MS);
  }

  async loadMore(): Promise<void> {
    if (!this.more) return;
    const page = await body(
      api.GET('/api/agents/{agentId}/threads', {
        params: { path: { agentId: this.agentId }, query: { ...this.#query, cursor: this.more } },
      }),
    );
    const ids = new Set(this.list.map((x) => x.id));
    this.list = [...this.list, ...page.threads.filter((x) => !ids.has(x.id))];
    this.more = page.nextCursor;
  }

  /** The thread with an id, if it was listed or read. */
  find(id: string | undefined): Thread | undefined {
    return this.list.find((x) => x.id === id) ?? (this.#opened?.id === id ? this.#opened : undefined);
  }

  /** Reads a thread that is not in the list, such as an archived one. */
  async read(agentId: string, threadId: string): Promise<void> {
    const params = { path: { agentId, threadId } };
    this.#opened = (await body(api.GET('/api/agents/{agentId}/threads/{threadId}', { params }))).thread;
  }

  put(thread: Thread): void {
    this.list = [thread, ...this.list.filter((x) => x.id !== thread.id)];
  }

  /**
   * Changes threads of the list, one after the other. The screen shows it at once. The first request that fails is the
   * last one, and is returned with the threads that were not changed; the screen then shows what the server has.
   */
  async change(
    changed: Thread[],
    change: (x: Thread) => ThreadChange,
  ): Promise<{ error: unknown; unchanged: Thread[] } | undefined> {
    const before = this.list;
    let done = 0;
    const ids = new Set(changed.map((x) => x.id));
    this.list = this.list
      .map((x) => (ids.has(x.id) ? { ...x, ...change(x) } : x))
      .filter((x) => x.archived === !!this.view.archived);
    try {
      for (const x of changed) {
        await api.PATCH('/api/agents/{agentId}/threads/{threadId}', {
          params: { path: { agentId: x.agentId, threadId: x.id } },
          body: change(x),
        });
        done++;
      }
      return undefined;
    } catch (error) {
      this.list = before;
      return { error, unchanged: changed.slice(done) };
    } finally {
      await this.refresh();
    }
  }

  toggle(id: string): void {
    const next = new Set(this.selected);
    if (!next.delete(id)) next.add(id);
    this.selected = next;
  }

  hide(ids: string[], hidden: boolean): void {
    const next = new Set(this.hidden);
    for (const id of ids)
      if (hidden) next.add(id);
      else next.delete(id);
    this.hidden = next;
  }

  /** Reports whether a message arrived since the thread was last open. Threads from before the first visit are read. */
  unread(thread: Thread): boolean {
    const seen = this.seen[thread.id] ?? this.seen[''] ?? '';
    return thread.status === 'idle' && !!thread.lastMessageAt && thread.lastMessageAt > seen;
  }

  markRead(id: string): void {
    this.seen = { ...this.seen, [id]: new Date().toISOString() };
    remember('seen', JSON.stringify(this.seen));
  }
}

function read(): Record<string, string> {
  try {
    const seen = JSON.parse(recall('seen') ?? 'null') as Record<string, string> | null;
    if (seen) return seen;
  } catch {
    // Treat unreadable storage as a first visit.
  }
  return { '': new Date().toISOString() };
}

export const threads = new Threads();
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void threads.refresh();
});
