import { api, body } from './api';
import { Resource } from './resource.svelte';
import type { components } from './schema';

/** The signed-in account. Pages that need it load it; the chat page does not, which keeps the first load fast. */
class Me extends Resource<components['schemas']['Account']> {
  read(): Promise<void> {
    return this.load(async () => (await body(api.GET('/api/account'))).account);
  }

  get isAdmin(): boolean {
    return this.data?.role === 'owner' || this.data?.role === 'admin';
  }
}

export const me = new Me();
