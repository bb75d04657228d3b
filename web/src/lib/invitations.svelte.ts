import { agents } from './agents.svelte';
import { api, body, type Agent } from './api';
import { Resource } from './resource.svelte';
import type { components } from './schema';

export type Invitation = components['schemas']['Invitation'];

/** Pending invitations to shared agents. The menu shows their number. */
class Invitations extends Resource<Invitation[]> {
  read(): Promise<void> {
    return this.load(async () => (await body(api.GET('/api/account/invitations'))).invitations);
  }

  get count(): number {
    return this.data?.length ?? 0;
  }

  async accept(agentId: string): Promise<Agent> {
    const { agent } = await body(
      api.POST('/api/account/invitations/{agentId}/accept', { params: { path: { agentId } } }),
    );
    this.#drop(agentId);
    await agents.load();
    return agent;
  }

  /** Declines an invitation, or leaves a shared agent. */
  async decline(agentId: string): Promise<void> {
    await api.DELETE('/api/account/invitations/{agentId}', { params: { path: { agentId } } });
    this.#drop(agentId);
    agents.drop(agentId);
  }

  #drop(agentId: string): void {
    this.data = this.data?.filter((i) => i.agentId !== agentId);
  }
}

export const invitations = new Invitations();
