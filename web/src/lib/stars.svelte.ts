import { api, body, idempotencyKey } from './api';
import { showError } from './toast.svelte';

type AnyCard = { cardId: string; title: string };

/** Ids of favourite cards by agent. All are loaded once, because a card can appear on any page. */
class Stars {
  #ids = $state.raw<Record<string, Set<string>>>({});
  #loading = new Set<string>();
  #marks = 0;
  #writing: Promise<void> = Promise.resolve();

  has(agentId: string, cardId: string): boolean {
    return this.#ids[agentId]?.has(cardId) ?? false;
  }

  async load(agentId: string): Promise<void> {
    if (this.#ids[agentId] || this.#loading.has(agentId)) return;
    this.#loading.add(agentId);
    try {
      let ids: Set<string>, marks: number;
      do {
        // Read again if a star was toggled meanwhile: the list may be older than the click.
        marks = this.#marks;
        await this.settled();
        ids = await this.#read(agentId);
      } while (marks !== this.#marks);
      this.#ids = { ...this.#ids, [agentId]: ids };
    } catch {
      // No message: toggling a star reports the error.
    } finally {
      this.#loading.delete(agentId);
    }
  }

  async #read(agentId: string): Promise<Set<string>> {
    const ids = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await body(
        api.GET('/api/agents/{agentId}/favourites', { params: { path: { agentId }, query: { limit: 200, cursor } } }),
      );
      for (const f of page.favourites) ids.add(f.cardId);
      cursor = page.nextCursor;
    } while (cursor);
    return ids;
  }

  /** Resolves when all toggles have been saved. A list read earlier may lack them. */
  settled(): Promise<void> {
    return this.#writing;
  }

  mark(agentId: string, cardId: string, on: boolean): void {
    this.#marks++;
    const next = new Set(this.#ids[agentId]);
    if (on) next.add(cardId);
    else next.delete(cardId);
    this.#ids = { ...this.#ids, [agentId]: next };
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
