import { api, body, idempotencyKey } from './api';
import { showError } from './toast.svelte';

type AnyCard = { cardId: string; title: string };

/** The maximum number of cards in one lookup. */
const BATCH = 200;

/** Whether cards are favourites, by agent and card. Cards are looked up when their star is shown, many at once. */
class Stars {
  #known = $state.raw<Record<string, Map<string, boolean>>>({});
  #wanted = new Map<string, Set<string>>();
  #writing: Promise<void> = Promise.resolve();

  has(agentId: string, cardId: string): boolean {
    return this.#known[agentId]?.get(cardId) ?? false;
  }

  /** Looks a card up, unless its state is known. */
  want(agentId: string, cardId: string): void {
    if (this.#known[agentId]?.has(cardId)) return;
    if (!this.#wanted.size) setTimeout(() => void this.#lookup());
    const ids = this.#wanted.get(agentId) ?? new Set();
    this.#wanted.set(agentId, ids.add(cardId));
  }

  async #lookup(): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    await this.settled();
    for (const [agentId, all] of wanted) {
      const ids = [...all];
      for (let i = 0; i < ids.length; i += BATCH) await this.#read(agentId, ids.slice(i, i + BATCH));
    }
  }

  async #read(agentId: string, cardIds: string[]): Promise<void> {
    try {
      const saved = await body(
        api.POST('/api/agents/{agentId}/favourite-lookups', { params: { path: { agentId } }, body: { cardIds } }),
      );
      const known = new Map(this.#known[agentId]);
      // A star that was toggled meanwhile is known, and newer than the reply.
      for (const id of cardIds) if (!known.has(id)) known.set(id, saved.cardIds.includes(id));
      this.#known = { ...this.#known, [agentId]: known };
    } catch {
      // No message: toggling a star reports the error.
    }
  }

  /** Resolves when all toggles have been saved. A list read earlier may lack them. */
  settled(): Promise<void> {
    return this.#writing;
  }

  mark(agentId: string, cardId: string, on: boolean): void {
    this.#known = { ...this.#known, [agentId]: new Map(this.#known[agentId]).set(cardId, on) };
  }

  /** Shows the change at once and reverts it if the request fails. */
  toggle(agentId: string, card: AnyCard, threadId?: string): Promise<void> {
    const done = this.#toggle(agentId, card, threadId);
    this.#writing = Promise.all([this.#writing, done]).then(() => {});
    return done;
  }

  async #toggle(agentId: string, card: AnyCard, threadId?: string): Promise<void> {
    const on = !this.has(agentId, card.cardId);
    this.mark(agentId, card.cardId, on);
    try {
      // keepalive finishes the request even if the page is closed.
      if (on)
        await api.POST('/api/agents/{agentId}/favourites', {
          params: { path: { agentId }, header: idempotencyKey() },
          body: { card, threadId },
          keepalive: true,
        });
      else
        await api.DELETE('/api/agents/{agentId}/favourites/{cardId}', {
          params: { path: { agentId, cardId: card.cardId } },
          keepalive: true,
        });
    } catch (e) {
      this.mark(agentId, card.cardId, !on);
      showError(e, () => void this.toggle(agentId, card, threadId));
    }
  }
}

export const stars = new Stars();
