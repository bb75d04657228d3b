/** Files that were chosen together. `leftOut` counts those that were not added. */
export type UploadSelection = { id: string; leftOut: number };

/** A file of the upload queue, as the browser stores it. */
export type StoredUpload = {
  id: string;
  /** The tab that sends the file: the account and a random id. */
  owner: string;
  agentId: string;
  sourceId: string;
  path: string;
  size: number;
  /** Idempotency key of the request that creates the upload on the server. */
  key: string;
  /** Id of the upload on the server, once it is created. */
  uploadId?: string;
  /** Absent once the server has received the file. */
  file?: Blob;
  /** The selection that the file was added with, and how many of its files were left out. */
  selection?: UploadSelection;
  /** The result, if there is one. */
  outcome?: string;
  reason?: string;
};

/** Persists the upload queue. */
export interface UploadStore {
  add(items: readonly StoredUpload[]): Promise<void>;
  /** Changes an item. An item that has been removed stays removed. */
  update(id: string, change: Partial<StoredUpload>): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Removes the items of all other accounts and returns the owners of the rest. */
  owners(account: string): Promise<string[]>;
  /** Gives the items of an owner to another one and returns them. */
  adopt(owner: string, newOwner: string): Promise<StoredUpload[]>;
  clear(): Promise<void>;
}

const DATABASE = 'carrel-uploads';
const FILES = 'files';

/** The upload queue in IndexedDB. The browser keeps copies of the files until they are removed. */
export class BrowserUploadStore implements UploadStore {
  #database: Promise<IDBDatabase> | undefined;

  #open(): Promise<IDBDatabase> {
    this.#database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () =>
        request.result.createObjectStore(FILES, { keyPath: 'id' }).createIndex('owner', 'owner');
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error('IndexedDB is not available'));
    });
    return this.#database;
  }

  /** Runs a transaction and resolves when it is stored. */
  async #write(work: (files: IDBObjectStore) => void): Promise<void> {
    const transaction = (await this.#open()).transaction(FILES, 'readwrite');
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('The upload queue was not stored'));
      work(transaction.objectStore(FILES));
    });
  }

  add(items: readonly StoredUpload[]): Promise<void> {
    return this.#write((files) => {
      for (const item of items) files.put(item);
    });
  }

  update(id: string, change: Partial<StoredUpload>): Promise<void> {
    return this.#write((files) => {
      const request = files.get(id);
      request.onsuccess = () => {
        if (request.result) files.put({ ...(request.result as StoredUpload), ...change });
      };
    });
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#write((files) => {
      for (const id of ids) files.delete(id);
    });
  }

  async owners(account: string): Promise<string[]> {
    const found: string[] = [];
    await this.#write((files) => {
      const request = files.index('owner').openCursor(null);
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return;
        const owner = cursor.key as string;
        if (!owner.startsWith(`${account}/`)) cursor.delete();
        else if (found.at(-1) !== owner) found.push(owner);
        cursor.continue();
      };
    });
    return found;
  }

  async adopt(owner: string, newOwner: string): Promise<StoredUpload[]> {
    let items: StoredUpload[] = [];
    await this.#write((files) => {
      const request = files.index('owner').getAll(owner);
      request.onsuccess = () => {
        items = (request.result as StoredUpload[]).map((item) => ({ ...item, owner: newOwner }));
        for (const item of items) files.put(item);
      };
    });
    return items;
  }

  clear(): Promise<void> {
    return this.#write((files) => files.clear());
  }
}
