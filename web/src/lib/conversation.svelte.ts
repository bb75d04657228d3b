import { api, ApiError, body, once, type Message } from './api';
import { announce } from './announce.svelte';
import { base } from './base';
import { t } from './i18n/index.svelte';
import { asApiError } from './resource.svelte';
import { readEvents, type ServerEvent } from './sse';
import { apply, newTurn, textOf, type LiveTurn, type Step } from './turn';

const PAGE = 50;

/** How many older ones are drawn at a time: as many as can be without the scrolling halting. */
const OLDER = 20;

/** More than the events of any turn. */
const LAST = 1_000_000;

/** How long a stream may say nothing before the list is asked whether the turn is over. */
const QUIET_MS = 4000;

/** The steps of turns that this browser saw, so that an answer can still say how it came about. */
const seenSteps = new Map<string, Step[]>();

export const stepsOf = (turnId: string): Step[] => {
  const known = seenSteps.get(turnId);
  if (known) return known;
  try {
    return JSON.parse(sessionStorage.getItem(`carrel.steps.${turnId}`) ?? '[]') as Step[];
  } catch {
    return [];
  }
};

function keepSteps(turnId: string, steps: Step[]): void {
  seenSteps.set(turnId, steps);
  try {
    sessionStorage.setItem(`carrel.steps.${turnId}`, JSON.stringify(steps));
  } catch {
    /* for this page, then */
  }
}

/** Whether trying again is of no use: who asks may not, or there is nothing. */
const final = (e: unknown): boolean =>
  e instanceof ApiError && (e.status === 401 || e.status === 403 || e.status === 404);

/**
 * One thread as it is on the screen: its messages, and the turn that runs. The server is where it happens; this follows, and
 * finds its way back after a reload, a sleep, a dropped line or a server that was killed.
 */
export class Conversation {
  messages = $state.raw<Message[]>([]);
  older = $state.raw<string>();
  loading = $state(true);
  error = $state.raw<ApiError>();
  /** The turn that runs, as its events tell it. */
  live = $state.raw<LiveTurn>();
  turnId = $state('');
  startedAt = $state('');
  /** Whether the line to the server is down while a turn runs. */
  reconnecting = $state(false);
  /** What was sent and is not listed yet. */
  sending = $state('');

  #stop = new AbortController();
  #following = false;
  #inbox: ServerEvent[] = [];
  #frame = 0;
  #partial = '';
  #posting: Promise<unknown> = Promise.resolve();

  constructor(
    readonly agentId: string,
    readonly threadId: string,
    readonly changed: () => void = () => {},
  ) {}

  get working(): boolean {
    return !!this.turnId || !!this.sending;
  }
  get text(): string {
    return this.live ? textOf(this.live) || this.#partial : '';
  }

  get #path() {
    return { path: { agentId: this.agentId, threadId: this.threadId } };
  }

  /** Reads the newest messages, and follows the turn if one runs. */
  async load(): Promise<void> {
    try {
      const page = await body(
        api.GET('/api/agents/{agentId}/threads/{threadId}/messages', {
          params: { ...this.#path, query: { limit: PAGE } },
        }),
      );
      if (this.#stop.signal.aborted) return;
      // Older ones that were read before stay.
      const first = page.messages[0];
      const before = first
        ? this.messages.filter((m) => m.id < first.id && !page.messages.some((n) => n.id === m.id))
        : [];
      if (!before.length) this.older = page.nextCursor;
      this.messages = [...before, ...page.messages];
      if (page.messages.some((m) => m.role === 'user' && m.text === this.sending)) this.sending = '';
      this.error = undefined;
      this.#settle(page.status === 'working' ? page.turn : undefined);
    } catch (e) {
      this.error = asApiError(e);
    } finally {
      this.loading = false;
    }
  }

  #settle(turn?: { id: string; startedAt: string; steps: Step[]; partialText?: string }): void {
    if (!turn) {
      if (this.live && this.turnId) keepSteps(this.turnId, this.live.steps);
      this.turnId = '';
      this.live = undefined;
      this.reconnecting = false;
      return;
    }
    if (turn.id !== this.turnId || !this.live) {
      // What the list says is shown until the events, which come from the start of the turn, have caught up.
      this.live = { ...newTurn(), steps: turn.steps.map((s) => ({ ...s, id: '' })) };
      this.#partial = turn.partialText ?? '';
    }
    this.turnId = turn.id;
    this.startedAt = turn.startedAt;
    void this.#follow();
  }

  /** Follows the running turn until it is done, over any number of lines. */
  async #follow(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    const url = `${base}/api/agents/${this.agentId}/threads/${this.threadId}/events?until=done`;
    for (let wait = 500; this.turnId && !this.#stop.signal.aborted; wait = Math.min(wait * 2, 8000)) {
      let quiet: ReturnType<typeof setTimeout> | undefined;
      try {
        if (!this.live?.done)
          await readEvents(
            url,
            this.live?.last ?? '',
            this.#stop.signal,
            () => {
              wait = 500;
              if (this.reconnecting || !this.live?.last) void this.#check();
              else quiet = setTimeout(() => void this.#check(), QUIET_MS);
              this.reconnecting = false;
            },
            (e) => {
              clearTimeout(quiet);
              this.#take(e);
            },
          );
      } catch (e) {
        if (final(e)) break;
      } finally {
        clearTimeout(quiet);
      }
      this.#flush();
      // The line may drop between the last event and the list that has the answer; then the list is asked for again.
      if (this.live?.done) {
        await this.load();
        if (!this.error) {
          this.changed();
          announce(t('answer_ready'));
        }
        if (!this.error || final(this.error)) break;
      }
      if (this.#stop.signal.aborted) break;
      this.reconnecting = true;
      await new Promise((r) => setTimeout(r, wait));
    }
    this.#following = false;
  }

  /** A turn may have ended before its stream was open, and then nothing would come. */
  async #check(): Promise<void> {
    const turn = this.turnId;
    await this.load();
    if (turn && !this.turnId) {
      this.#stop.abort();
      this.#stop = new AbortController();
      this.changed();
    }
  }

  #take(e: ServerEvent): void {
    this.#inbox.push(e);
    // Events may come by the hundred a second; the screen is drawn sixty times.
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.#inbox.length || !this.live) {
      this.#inbox = [];
      return;
    }
    // What the list told of the turn makes way for its events, which come from the start.
    let next = this.live.steps.some((s) => !s.id) ? { ...newTurn(), last: this.live.last } : this.live;
    for (const e of this.#inbox) next = apply(next, e);
    this.#inbox = [];
    if (next.pieces.length) this.#partial = '';
    this.live = next;
  }

  /** Sends a message. It fails with an ApiError, and then nothing was sent. */
  async send(text: string, research: boolean): Promise<void> {
    this.sending = text;
    // Events are numbered by turn. Asking for those after the turns that there were brings the new one from its start, also
    // when it is over by then; with older messages still unread their number is not known.
    const before = this.older ? '' : `${new Set(this.messages.map((m) => m.turnId)).size}.${LAST}`;
    try {
      const posting = body(
        api.POST('/api/agents/{agentId}/threads/{threadId}/messages', {
          params: { ...this.#path, header: { ...once(), Prefer: 'respond-async' } },
          body: { text, research },
        }),
      );
      this.#posting = posting.catch(() => {});
      const reply = await posting;
      this.turnId = reply.turnId;
      this.startedAt = new Date().toISOString();
      this.live = { ...newTurn(), last: before };
      this.#partial = '';
      this.changed();
      void this.#follow();
    } catch (e) {
      this.sending = '';
      throw e;
    }
  }

  /** Stops the turn. One that is still being sent is let arrive first: before that there is nothing to stop. */
  async cancel(): Promise<void> {
    await this.#posting;
    await api.POST('/api/agents/{agentId}/threads/{threadId}/cancel', { params: this.#path });
  }

  async loadOlder(): Promise<void> {
    if (!this.older) return;
    const cursor = this.older;
    this.older = undefined;
    try {
      const page = await body(
        api.GET('/api/agents/{agentId}/threads/{threadId}/messages', {
          params: { ...this.#path, query: { limit: OLDER, cursor } },
        }),
      );
      this.messages = [...page.messages, ...this.messages];
      this.older = page.nextCursor;
    } catch (e) {
      this.older = cursor;
      throw e;
    }
  }

  /** Puts what the reader thinks of an answer on the screen and on the server. */
  async rate(message: Message, thumb: 'up' | 'down' | undefined, note = ''): Promise<void> {
    const before = this.messages;
    const feedback = thumb && { thumb, note: note || undefined, updatedAt: new Date().toISOString() };
    this.messages = this.messages.map((m) => (m.id === message.id ? { ...m, feedback } : m));
    const params = { path: { ...this.#path.path, messageId: message.id } };
    try {
      if (thumb)
        await api.PUT('/api/agents/{agentId}/threads/{threadId}/messages/{messageId}/feedback', {
          params,
          body: { thumb, note: note || undefined },
        });
      else await api.DELETE('/api/agents/{agentId}/threads/{threadId}/messages/{messageId}/feedback', { params });
    } catch (e) {
      this.messages = before;
      throw e;
    }
  }

  close(): void {
    this.#stop.abort();
    cancelAnimationFrame(this.#frame);
    this.turnId = '';
  }
}
