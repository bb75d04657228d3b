import { ApiError } from './api';
import { agents } from './agents.svelte';
import { base } from './base';
import { t } from './i18n/index.svelte';
import { show } from './toast.svelte';

/** One file on its way to a source. */
export class Upload {
  readonly id = crypto.randomUUID();
  sent = $state(0);
  state = $state<'waiting' | 'sending' | 'done' | 'failed' | 'cancelled'>('waiting');
  error = $state.raw<ApiError>();
  #request: XMLHttpRequest | undefined;

  constructor(readonly agentId: string, readonly sourceId: string, readonly file: File) {}

  /** Sends the file. It is a XMLHttpRequest because fetch does not tell how much has been sent. */
  send(): Promise<void> {
    this.state = 'sending';
    this.sent = 0;
    this.error = undefined;
    const form = new FormData();
    form.append('file', this.file, this.file.webkitRelativePath || this.file.name);
    const request = (this.#request = new XMLHttpRequest());
    request.open('POST', `${base}/api/agents/${this.agentId}/sources/${this.sourceId}/files`);
    request.upload.onprogress = (e) => (this.sent = e.lengthComputable ? e.loaded / e.total : 0);
    return new Promise((resolve) => {
      request.onloadend = () => {
        if (request.status >= 200 && request.status < 300) this.state = 'done';
        else if (this.state !== 'cancelled') { this.state = 'failed'; this.error = failureOf(request); }
        resolve();
      };
      request.send(form);
    });
  }

  cancel(): void {
    this.state = 'cancelled';
    this.#request?.abort();
  }
}

function failureOf(request: XMLHttpRequest): ApiError {
  try {
    const p = JSON.parse(request.responseText) as { code: string; detail: string; requestId: string };
    return new ApiError(p.code, p.detail, request.status, p.requestId);
  } catch {
    return new ApiError(request.status ? 'internal' : 'offline', t('problem.offline'), request.status);
  }
}

/** How many files are sent at once; browsers keep six lines to a server, and the app needs some of them. */
const LANES = 2;

class Uploads {
  list = $state.raw<Upload[]>([]);
  /** Counts what has arrived, so that pages know when to look again. */
  arrived = $state(0);
  #running = 0;

  add(agentId: string, sourceId: string, files: Iterable<File>): void {
    const made = [...files].map((f) => new Upload(agentId, sourceId, f));
    this.list = [...this.list.filter((u) => u.state !== 'done' && u.state !== 'cancelled'), ...made];
    this.#next();
  }

  retry(u: Upload): void {
    u.state = 'waiting';
    this.#next();
  }

  drop(u: Upload): void {
    if (u.state === 'sending' || u.state === 'waiting') u.cancel();
    this.list = this.list.filter((x) => x !== u);
  }

  #next(): void {
    while (this.#running < LANES) {
      const u = this.list.find((x) => x.state === 'waiting');
      if (!u) return;
      this.#running++;
      void u.send().then(() => {
        this.#running--;
        if (u.state === 'done') this.arrived++;
        this.#next();
      });
    }
  }
}

export const uploads = new Uploads();

/** Sends files that were dropped or pasted anywhere to the source that is open, else to the first that takes files. */
export function take(files: Iterable<File>, sourceId?: string): void {
  const agent = agents.current;
  const list = [...files];
  if (!agent || !list.length) return;
  const source = agent.sources.find((s) => s.id === sourceId) ?? agent.sources.find((s) => s.default && s.kind === 'upload') ?? agent.sources.find((s) => s.kind === 'upload');
  if (!source) { show({ text: t('no_upload_source') }); return; }
  uploads.add(agent.id, source.id, list);
  show({ text: t('uploading_to', { count: list.length, source: source.name }) });
}
