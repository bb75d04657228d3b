import { Resource } from './resource.svelte';
import { showError } from './toast.svelte';

export type Page<T> = { list: T[]; next?: string };

/** A paginated list. */
export class Paged<T> extends Resource<Page<T>> {
  constructor(private readonly read: (cursor?: string) => Promise<Page<T>>) {
    super();
  }

  start(fresh = false): Promise<void> {
    return this.load(() => this.read(), fresh);
  }

  /** Appends the next page, unless the list was reloaded meanwhile. */
  async more(): Promise<void> {
    const before = this.data;
    if (!before?.next) return;
    try {
      const page = await this.read(before.next);
      if (this.data === before) this.data = { list: [...before.list, ...page.list], next: page.next };
    } catch (e) {
      showError(e, () => void this.more());
    }
  }
}
