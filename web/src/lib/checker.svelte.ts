import { announce } from './announce.svelte';
import { api, body, type ApiError, type CheckReply } from './api';
import { draftClaims, firstClaim, type DraftClaim } from './draft';
import { draftOf, keepDraft } from './drafts';
import { c } from './i18n/check';
import { asApiError } from './resource.svelte';
import type { Judged } from './sentences';

/** The draft of an agent, its check and the selected sentence. It outlives the page, so that Back shows it again. */
export class Checker {
  text = $state('');
  /** Ids of the sources to use; empty for all. */
  sourceIds = $state.raw<string[]>([]);
  /** Seconds since the request was sent; undefined if none is running. */
  seconds = $state<number>();
  error = $state.raw<ApiError>();
  /** The checked text and the reply. */
  result = $state.raw<{ text: string; reply: CheckReply; claims: DraftClaim[] }>();
  current = $state(0);
  /** States to show; empty for all. */
  states = $state.raw<ReadonlySet<Judged>>(new Set());

  #stop?: AbortController;

  constructor(readonly agentId: string) {
    this.text = draftOf(`check.${agentId}`);
  }

  edit(text: string): void {
    this.text = text;
    keepDraft(`check.${this.agentId}`, text);
  }

  async run(): Promise<void> {
    this.cancel();
    const stop = (this.#stop = new AbortController());
    const text = this.text;
    this.error = undefined;
    this.seconds = 0;
    const timer = setInterval(() => (this.seconds = (this.seconds ?? 0) + 1), 1000);
    try {
      const reply = await body(
        api.POST('/api/agents/{agentId}/check', {
          params: { path: { agentId: this.agentId } },
          // The Markdown is for the export. A second request would pay for the model again.
          body: { text, sourceIds: this.sourceIds.length ? this.sourceIds : undefined, markdown: true },
          signal: stop.signal,
        }),
      );
      const claims = draftClaims(reply.sentences);
      this.result = { text, reply, claims };
      this.states = new Set();
      this.current = firstClaim(claims);
      announce(c('checked', { count: claims.length }));
    } catch (e) {
      if (!stop.signal.aborted) this.error = asApiError(e);
    } finally {
      clearInterval(timer);
      if (this.#stop === stop) this.seconds = undefined;
    }
  }

  cancel(): void {
    this.#stop?.abort();
    this.seconds = undefined;
  }

  /** Shows or hides the sentences of a state. The selected sentence moves to a shown one. */
  toggle(state: Judged): void {
    const states = new Set(this.states);
    if (!states.delete(state)) states.add(state);
    this.states = states;
    const claims = this.result?.claims ?? [];
    if (states.size && !states.has(claims[this.current]?.state as Judged))
      this.current = claims.findIndex((s) => states.has(s.state));
  }
}

const checkers = new Map<string, Checker>();

/** The checker of an agent. */
export function checkerOf(agentId: string): Checker {
  const known = checkers.get(agentId);
  if (known) return known;
  const made = new Checker(agentId);
  checkers.set(agentId, made);
  return made;
}
