import { api, body, type Agent, type ApiError } from './api';
import { recall, remember } from './prefs.svelte';
import { asApiError } from './resource.svelte';
import { params } from './router.svelte';

class Agents {
  list = $state.raw<Agent[]>([]);
  /** The models that can be chosen for an agent; the first one is the default. */
  models = $state.raw<string[]>([]);
  loaded = $state(false);
  error = $state.raw<ApiError>();

  async load(): Promise<void> {
    try {
      const all: Agent[] = [];
      let cursor: string | undefined;
      do {
        const page = await body(api.GET('/api/agents', { params: { query: { limit: 200, cursor } } }));
        all.push(...page.agents);
        this.models = page.models ?? [];
        cursor = page.nextCursor;
      } while (cursor);
      this.list = all;
      this.error = undefined;
      this.loaded = true;
    } catch (e) {
      this.error = asApiError(e);
    }
  }

  put(agent: Agent): void {
    this.list = this.list.some((a) => a.id === agent.id)
      ? this.list.map((a) => (a.id === agent.id ? agent : a))
      : [agent, ...this.list];
  }

  drop(id: string): void {
    this.list = this.list.filter((a) => a.id !== id);
  }

  get(id: string): Agent | undefined {
    return this.list.find((a) => a.id === id);
  }

  /** The current agent: the one in the URL, else the last one used, else the first. */
  get current(): Agent | undefined {
    return this.get(params().get('agent') ?? '') ?? this.get(recall('agent') ?? '') ?? this.list[0];
  }

  use(id: string): void {
    remember('agent', id);
  }
}

export const agents = new Agents();
