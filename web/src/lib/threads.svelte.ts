import { api, body, type ApiError, type Thread } from './api';
import { recall, remember } from './prefs.svelte';
import { asApiError } from './resource.svelte';

/** Polling intervals of the thread list: short while a turn runs. */
const BUSY_MS = 3000;
const IDLE_MS = 30_000;

/** The threads of one agent, polled while the page is visible. */
class Threads {
  agentId = $state('');
  list = $state.raw<Thread[]>([]);
  more = $state.raw<string>();
  loaded = $state(false);
  error = $state.raw<ApiError>();
  /** When each thread was last opened here; a thread with newer messages is unread. */
  seen = $state.raw<Record<string, string>>(read());
  hidden = $state.raw<Set<string>>(new Set());
  #timer: ReturnType<typeof setTimeout> | undefined;
  #latestRequest = 0;

  open(agentId: string): void {
    if (agentId === this.agentId) return;
    this.agentId = agentId;
    this.list = [];
    this.more = undefined;
    this.loaded = false;
    void this.refresh();
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const agentId = this.agentId;
    if (!agentId) return;
    const request = ++this.#latestRequest;
    try {
      const page = await body(
        api.GET('/api/agents/{agentId}/threads', { params: { path: { agentId }, query: { limit: 50 } } }),
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
        params: { path: { agentId: this.agentId }, query: { limit: 50, cursor: this.more } },
      }),
    );
    const ids = new Set(this.list.map((x) => x.id));
    this.list = [...this.list, ...page.threads.filter((x) => !ids.has(x.id))];
    this.more = page.nextCursor;
  }

  put(thread: Thread): void {
    this.list = [thread, ...this.list.filter((x) => x.id !== thread.id)];
  }

  rename(id: string, title: string): void {
    this.list = this.list.map((x) => (x.id === id ? { ...x, title } : x));
  }

  hide(id: string, hidden: boolean): void {
    const next = new Set(this.hidden);
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
