import { api, body } from './api';
import { Resource } from './resource.svelte';
import type { components } from './schema';

type Cap = components['schemas']['CredentialCap'];

/** Monthly spend caps of single keys and connections. */
class Caps extends Resource<Record<string, Cap>> {
  read(): Promise<void> {
    return this.load(async () =>
      Object.fromEntries((await body(api.GET('/api/account/spend-caps'))).caps.map((c) => [c.credentialId, c])),
    );
  }

  /** Sets a cap; undefined removes it. */
  async set(credentialId: string, capMicros: number | undefined): Promise<void> {
    await api.PUT('/api/account/spend-caps/{credentialId}', {
      params: { path: { credentialId } },
      body: { capMicros: capMicros ?? null },
    });
    await this.read();
  }
}

export const caps = new Caps();
