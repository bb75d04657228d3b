import { agents } from './agents.svelte';
import { announce } from './announce.svelte';
import { api, body, type Agent } from './api';
import { errorText } from './i18n/index.svelte';
import { a } from './i18n/answers';
import type { Selection } from './pick';
import { asApiError } from './resource.svelte';
import { MAX_DOCUMENTS } from './scope';
import { uploads } from './uploads.svelte';
import type { UploadPlace } from './uploadClient';
import type { Upload } from './uploadQueue.svelte';

/** Time between two requests for the state of the index. */
const POLL_MS = 700;

export type AttachmentState = 'waiting' | 'uploading' | 'reading' | 'indexing' | 'ready' | 'refused';

/** A file of a question. It is uploaded to a source, and the question is limited to its documents. */
export class Attachment {
  upload = $state.raw<Upload>();
  /** Set while the documents of the uploaded file are not searchable yet. */
  indexing = $state(false);
  documentIds = $state.raw<string[]>();
  problem = $state('');
  removed = false;

  constructor(
    readonly place: UploadPlace,
    readonly name: string,
  ) {}

  get state(): AttachmentState {
    if (this.problem || this.upload?.state === 'refused') return 'refused';
    if (this.documentIds) return 'ready';
    if (this.indexing) return 'indexing';
    if (this.upload?.state === 'sending') return 'uploading';
    return !this.upload || this.upload.state === 'waiting' ? 'waiting' : 'reading';
  }
  get reason(): string {
    return this.problem || (this.upload?.reason ?? '');
  }
  /** The part that the server has received, from 0 to 1. */
  get progress(): number {
    return this.upload?.size ? this.upload.sent / this.upload.size : 0;
  }
}

/** The source that receives the files of questions: the default one if it is for uploads, else the first such one. */
export function uploadSource(agent: Agent | undefined): { id: string; name: string } | undefined {
  const own = agent?.sources.filter((s) => s.kind === 'upload') ?? [];
  return own.find((s) => s.default) ?? own[0];
}

/** The files of the question in the message field. */
export class Attachments {
  list = $state.raw<Attachment[]>([]);

  /** `ready` is called with the documents of each file as soon as they can be searched. */
  constructor(readonly ready: (documentIds: string[]) => void) {}

  get pending(): boolean {
    return this.list.some((x) => x.state !== 'ready' && x.state !== 'refused');
  }

  /** Uploads files to a source of the agent. */
  add(agent: Agent, { files }: Selection): void {
    const source = uploadSource(agent);
    if (!source) return;
    const place = { agentId: agent.id, sourceId: source.id };
    const made = files.map((f) => new Attachment(place, f.path));
    this.list = [...this.list, ...made];
    void uploads.add(place, files, 0).then((sent) => {
      made.forEach((x, i) => {
        x.upload = sent[i];
        if (x.removed) uploads.cancel(sent[i]!);
        else void this.#follow(x);
      });
    });
  }

  /** Removes a file from the question. A file that was sent completely stays in the source. */
  remove(x: Attachment): void {
    x.removed = true;
    if (x.upload) uploads.cancel(x.upload);
    this.list = this.list.filter((y) => y !== x);
  }

  retry(x: Attachment): void {
    x.problem = '';
    if (x.upload?.state === 'refused') uploads.retry(x.upload);
    void this.#follow(x);
  }

  /** Forgets the files, which continue to be uploaded. */
  clear(): void {
    for (const x of this.list) x.removed = true;
    this.list = [];
  }

  async #follow(x: Attachment): Promise<void> {
    try {
      await ended(x.upload!);
      if (x.removed || x.upload!.state === 'refused' || x.upload!.state === 'cancelled') return;
      x.indexing = true;
      const ids = await documentsOf(x.place, x.upload!.path);
      if (!ids.length) x.problem = a('no_documents');
      else await this.#indexed(x);
      if (x.removed || x.problem) return;
      x.documentIds = ids.slice(0, MAX_DOCUMENTS);
      this.ready(x.documentIds);
      this.list = this.list.filter((y) => y !== x);
      announce(a('file_ready', { name: x.name }));
      void agents.load(); // with the number of documents
    } catch (e) {
      x.problem = errorText(asApiError(e));
    } finally {
      x.indexing = false;
    }
  }

  /** Waits until all documents of the source can be searched. */
  async #indexed(x: Attachment): Promise<void> {
    while (!x.removed) {
      const { source } = await body(api.GET('/api/agents/{agentId}/sources/{sourceId}', { params: { path: x.place } }));
      if (source.status === 'ready') return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** Resolves when the result of an upload is known. */
function ended(upload: Upload): Promise<void> {
  return new Promise((resolve) => {
    const stop = $effect.root(() => {
      $effect(() => {
        if (upload.open) return;
        resolve();
        queueMicrotask(() => stop());
      });
    });
  });
}

/** The ids of the documents that were read from a file. */
async function documentsOf(place: UploadPlace, name: string): Promise<string[]> {
  for (let cursor: string | undefined; ;) {
    const page = await body(
      api.GET('/api/agents/{agentId}/sources/{sourceId}/files', {
        params: { path: place, query: { limit: 200, cursor } },
      }),
    );
    const file = page.files.find((f) => f.name === name);
    if (file) {
      const found = await body(
        api.GET('/api/agents/{agentId}/sources/{sourceId}/documents', {
          params: { path: place, query: { file: file.id, limit: MAX_DOCUMENTS } },
        }),
      );
      return found.documents.map((d) => d.id);
    }
    if (!page.nextCursor) return [];
    cursor = page.nextCursor;
  }
}
