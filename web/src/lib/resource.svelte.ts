import { ApiError } from './api';

/** Data loaded from the API, with its loading and error state. */
export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<ApiError>();
  loading = $state(false);
  #latestRequest = 0;

  /** Loads the data. Replies to earlier calls are ignored. The old data stays until then, unless `fresh` is set. */
  async load(fetch: () => Promise<T>, fresh = false): Promise<void> {
    const request = ++this.#latestRequest;
    this.loading = true;
    if (fresh) this.data = undefined;
    try {
      const data = await fetch();
      if (request !== this.#latestRequest) return;
      this.data = data;
      this.error = undefined;
    } catch (e) {
      if (request === this.#latestRequest) this.error = asApiError(e);
    } finally {
      if (request === this.#latestRequest) this.loading = false;
    }
  }
}

export const asApiError = (e: unknown): ApiError =>
  e instanceof ApiError ? e : new ApiError('internal', String(e), 0);
