import { api, ApiError, body, idempotencyKey, type Message } from './api';
import { announce } from './announce.svelte';
import { base } from './base';
import { t } from './i18n/index.svelte';
import { asApiError } from './resource.svelte';
import type { Scope } from './scope';
import { readEvents, type ServerEvent } from './sse';
import { apply, newTurn, textOf, type LiveTurn, type Step } from './turn';

const PAGE = 50;

/** Older messages load in smaller pages: rendering more at once makes scrolling stutter. */
const OLDER_PAGE = 20;

/** After this long without an event, the message list is read to see whether the turn has ended. */
const QUIET_MS = 4000;

/** Reports whether a retry cannot succeed: not signed in, not allowed, or not found. */
const isPermanent = (e: unknown): boolean =>
  e instanceof ApiError && (e.status === 401 || e.status === 403 || e.status === 404);

/** A message that is sent when the running answer is complete. */
export type FollowUp = { text: string; research: boolean; scope: Scope };

/**
 * The open chat: its messages and the running turn. The turn runs on the server; this class follows it and reconnects
 * after a reload, a suspended computer, a lost connection or a server restart.
 */
export class Conversation {
  messages = $state.raw<Message[]>([]);
  older = $state.raw<string>();
  loading = $state(true);
  error = $state.raw<ApiError>();
  /** The running turn, built from its events. */
  live = $state.raw<LiveTurn>();
  turnId = $state('');
  startedAt = $state('');
  /** Set while a turn runs and the event stream is disconnected. */
  reconnecting = $state(false);
  /** Text of the message that was sent but is not in `messages` yet. */
  sending = $state('');
  /** Messages that wait for the end of the running turn, in the order of sending. */
  followUps = $state.raw<FollowUp[]>([]);

  #stop = new AbortController();
  #following = false;
  #pendingEvents: ServerEvent[] = [];
  #frame = 0;
  #partial = '';
  #posting: Promise<unknown> = Promise.resolve();
  /** The number of lists that were requested, and the oldest one whose reply is not outdated. */
  #requested = 0;
  #oldest = 0;

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

  /** Reports whether the follow-ups may be sent: not after an answer that was stopped or failed. */
  get complete(): boolean {
    return this.messages.at(-1)?.status === 'complete';
  }

  get #path() {
    return { path: { agentId: this.agentId, threadId: this.threadId } };
  }

  /** Loads the newest messages and follows the running turn, if any. Anew, it forgets the older messages. */
  async load(anew = false): Promise<void> {
    const number = ++this.#requested;
    try {
      const page = await body(
        api.GET('/api/agents/{agentId}/threads/{threadId}/messages', {
          params: { ...this.#path, query: { limit: PAGE } },
        }),
      );
      if (this.#stop.signal.aborted || number < this.#oldest) return;
      this.#oldest = number;
      // Keep older messages that are already loaded. Without further pages, other messages belong to other versions.
      const first = page.messages[0];
      const before =
        first && page.nextCursor && !anew
          ? this.messages.filter((m) => m.id < first.id && !page.messages.some((n) => n.id === m.id))
          : [];
      if (!before.length) this.older = page.nextCursor;
      this.messages = [...before, ...page.messages];
      if (page.messages.some((m) => m.role === 'user' && m.text === this.sending)) this.sending = '';
      this.error = undefined;
      this.#settle(page.status === 'working' ? page.turn : undefined);
    } catch (e) {
      if (number >= this.#oldest) this.error = asApiError(e);
    } finally {
      this.loading = false;
    }
  }

  #settle(turn?: { id: string; startedAt: string; steps: Step[]; partialText?: string; queuePosition?: number }): void {
    if (!turn) {
      this.turnId = '';
      this.live = undefined;
      this.reconnecting = false;
      return;
    }
    if (turn.id !== this.turnId || !this.live) {
      // Show the state from the message list until the event stream, which starts at the beginning, has caught up.
      const steps = turn.steps.map((s) => ({ ...s, id: '' }));
      this.live = { ...newTurn(), steps, ahead: turn.queuePosition };
      this.#partial = turn.partialText ?? '';
    }
    this.turnId = turn.id;
    this.startedAt = turn.startedAt;
    void this.#follow();
  }

  /** Follows the running turn until it is done, reconnecting as needed. */
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
              if (this.reconnecting || !this.live?.last) void this.#recheck();
              else quiet = setTimeout(() => void this.#recheck(), QUIET_MS);
              this.reconnecting = false;
            },
            (e) => {
              clearTimeout(quiet);
              this.#queue(e);
            },
          );
      } catch (e) {
        if (isPermanent(e)) break;
      } finally {
        clearTimeout(quiet);
      }
      this.#flush();
      // The connection may fail between the last event and the list with the answer; the loop then loads it again.
      if (this.live?.done) {
        await this.load();
        if (!this.error) {
          this.changed();
          void this.#markFavourites();
          announce(t('answer_ready'));
          if (document.hidden) void this.#notify();
        }
        if (isPermanent(this.error)) break;
        if (!this.error && !this.live?.done) continue; // with the next turn, if a message was sent meanwhile
      }
      if (this.#stop.signal.aborted) break;
      this.reconnecting = true;
      await new Promise((r) => setTimeout(r, wait));
    }
    this.#following = false;
  }

  async #notify(): Promise<void> {
    const { notifyAnswer } = await import('./notify');
    await notifyAnswer(`/chat/${this.threadId}?agent=${this.agentId}`, this.messages.at(-1)?.text ?? '');
  }

  /** Shows favourites that the last reply saved or removed on the star buttons. */
  async #markFavourites(): Promise<void> {
    const done =
      this.messages.at(-1)?.actions?.filter((a) => a.state === 'done' && a.kind.endsWith('_favourite')) ?? [];
    if (!done.length) return;
    const { stars } = await import('./stars.svelte');
    for (const a of done) if (a.id) stars.mark(this.agentId, a.id, a.kind === 'save_favourite');
  }

  /** Reloads the list in case the turn ended before its stream was open: such a stream sends nothing. */
  async #recheck(): Promise<void> {
    const turn = this.turnId;
    await this.load();
    if (turn && !this.turnId) {
      this.#stop.abort();
      this.#stop = new AbortController();
      this.changed();
    }
  }

  #queue(e: ServerEvent): void {
    this.#pendingEvents.push(e);
    // Hundreds of events a second are batched into one update per frame.
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.#pendingEvents.length || !this.live) {
      this.#pendingEvents = [];
      return;
    }
    // Events replace the state from the message list, because they start at the beginning of the turn.
    let next = this.live.steps.some((s) => !s.id) ? { ...newTurn(), last: this.live.last } : this.live;
    for (const e of this.#pendingEvents) next = apply(next, e);
    this.#pendingEvents = [];
    if (next.pieces.length) this.#partial = '';
    this.live = next;
  }

  /**
   * Sends a message, or a version of a question, which takes its place and that of the messages after it. If it throws,
   * nothing was sent.
   */
  async send(text: string, research: boolean, scope: Scope = {}, versionOf?: Message): Promise<void> {
    if (!versionOf) this.sending = text; // a version is edited in place until it is sent
    try {
      const posting = body(
        api.POST('/api/agents/{agentId}/threads/{threadId}/messages', {
          params: { ...this.#path, header: { ...idempotencyKey(), Prefer: 'respond-async' } },
          body: {
            text,
            research,
            documentIds: scope.documentIds,
            sourceIds: scope.sourceIds,
            versionOf: versionOf?.id,
          },
        }),
      );
      this.#posting = posting.catch(() => {});
      const reply = (await posting) as { turnId: string }; // JSON, because no events were requested
      if (versionOf) {
        const at = this.messages.findIndex((m) => m.turnId === versionOf.turnId);
        if (at >= 0) this.messages = this.messages.slice(0, at);
        this.sending = text;
      }
      this.#oldest = ++this.#requested; // a list from before the reply does not have the message
      this.turnId = reply.turnId;
      this.startedAt = new Date().toISOString();
      this.live = newTurn(); // the stream starts at the beginning of the latest turn
      this.#partial = '';
      this.changed();
      void this.#follow();
    } catch (e) {
      this.sending = '';
      throw e;
    }
  }

  /** Selects a version of a question, with the messages after it. */
  async select(messageId: string): Promise<void> {
    const params = { path: { ...this.#path.path, messageId } };
    await api.POST('/api/agents/{agentId}/threads/{threadId}/messages/{messageId}/select', { params });
    await this.load(true);
  }

  /** Cancels the turn. It waits for a pending send, because there is no turn to cancel before that. */
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
          params: { ...this.#path, query: { limit: OLDER_PAGE, cursor } },
        }),
      );
      this.messages = [...page.messages, ...this.messages];
      this.older = page.nextCursor;
    } catch (e) {
      this.older = cursor;
      throw e;
    }
  }

  /** Saves feedback on an answer. The screen shows it at once and reverts if the request fails. */
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
