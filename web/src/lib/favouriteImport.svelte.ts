import { agents } from './agents.svelte';
import { call, type ApiError } from './api';
import { base } from './base';
import { referenceType, type ImportedEntry } from './favourites';
import { f } from './i18n/favourites';
import { asApiError } from './resource.svelte';
import type { components } from './schema';

/** The maximum size of a file; see importFavouriteFile in the contract. */
const MAX_BYTES = 16 << 20;

/** The import of one file. */
export class ImportRun {
  entries = $state.raw<ImportedEntry[]>();
  error = $state.raw<ApiError>();
  /** Why the file was not sent. */
  refusal = $state('');
  constructor(readonly name: string) {}
  get running(): boolean {
    return !this.entries && !this.error && !this.refusal;
  }
}

/** Imports of reference files, shown in a dialog of the favourites page. */
class FavouriteImports {
  open = $state(false);
  /** The agent that entries are saved with. */
  agentId = $state('');
  runs = $state.raw<ImportRun[]>([]);
  /** Counts finished imports; the page reloads its list. */
  finished = $state(0);
  #queue: Promise<void> = Promise.resolve();

  /** The current agent, or else the first one with which favourites can be saved; undefined if there is none. */
  get target(): string | undefined {
    return [agents.current, ...agents.list].find((a) => a?.capabilities.includes('favourites'))?.id;
  }

  show(): void {
    this.open = true;
    this.agentId = this.target ?? '';
    this.runs = this.runs.filter((r) => r.running);
  }

  /** Imports files one after the other, because the files of a library may depend on each other's order. */
  add(files: readonly File[]): void {
    if (!this.open) this.show();
    const agentId = this.agentId;
    for (const file of files) {
      const run = new ImportRun(file.name);
      this.runs = [...this.runs, run];
      this.#queue = this.#queue.then(() => this.#import(run, file, agentId));
    }
  }

  async #import(run: ImportRun, file: File, agentId: string): Promise<void> {
    try {
      const type = referenceType(file.name, await file.slice(0, 1000).text());
      if (!type) run.refusal = f('wrong_file');
      else if (file.size > MAX_BYTES) run.refusal = f('too_large');
      if (!type || run.refusal) return;
      const response = await call(`${base}/api/agents/${agentId}/favourite-files`, {
        method: 'POST',
        headers: { 'Content-Type': type },
        body: file,
      });
      run.entries = ((await response.json()) as components['schemas']['FavouriteImportReply']).entries;
      this.finished++;
    } catch (e) {
      run.error = asApiError(e);
    }
  }
}

export const favouriteImports = new FavouriteImports();
