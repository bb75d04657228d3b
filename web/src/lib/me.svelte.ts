import { api, body } from './api';
import { Resource } from './resource.svelte';
import type { components } from './schema';

/** Who is signed in. The pages that depend on it load it; the first page does not. */
class Me extends Resource<components['schemas']['Account']> {
  read(): Promise<void> {
    return this.load(async () => (await body(api.GET('/api/account'))).account);
  }

  /** Whether they run the installation. */
  get administers(): boolean {
    return this.data?.role === 'owner' || this.data?.role === 'admin';
  }
}

export const me = new Me();
