import { ApiError } from './api';

/** Something that is loaded: what came, or why it did not, and whether it is still coming. */
export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<ApiError>();
  loading = $state(false);
  #turn = 0;

  /** Loads; what an earlier call brings later is dropped. What is shown stays until the new is there, unless `fresh`. */
  async load(fetch: () => Promise<T>, fresh = false): Promise<void> {
    const turn = ++this.#turn;
    this.loading = true;
    if (fresh) this.data = undefined;
    try {
      const data = await fetch();
      if (turn !== this.#turn) return;
      this.data = data;
      this.error = undefined;
    } catch (e) {
      if (turn === this.#turn) this.error = asApiError(e);
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }
}

/** Makes an ApiError of whatever was thrown. */
export const asApiError = (e: unknown): ApiError =>
  e instanceof ApiError ? e : new ApiError('internal', String(e), 0);
