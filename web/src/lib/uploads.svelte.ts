import { agents } from './agents.svelte';
import { t } from './i18n/index.svelte';
import { l } from './i18n/library';
import { me } from './me.svelte';
import type { Selection } from './pick';
import { forget, recall, remember } from './prefs.svelte';
import { go, query, segments } from './router.svelte';
import { show } from './toast.svelte';
import { HttpUploadClient, type UploadPlace } from './uploadClient';
import { UploadQueue } from './uploadQueue.svelte';
import { BrowserUploadStore } from './uploadStore';

/** The preference that marks stored uploads, so that the app loads this module at start only if there are any. */
const STORED = 'uploads';

const store = new BrowserUploadStore();

export const uploads = new UploadQueue({
  store,
  client: new HttpUploadClient(),
  locks: navigator.locks,
  account: async () => {
    if (!me.data) await me.read();
    if (!me.data) throw me.error;
    return me.data.id;
  },
  stored: (some) => (some ? remember(STORED, 'yes') : forget(STORED)),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const ended = new AbortController();
      const end = () => {
        ended.abort();
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, ms);
      addEventListener('online', end, { signal: ended.signal });
      signal.addEventListener('abort', end, { signal: ended.signal });
    }),
});

/** Tells the other tabs that the account has signed out. */
const signOuts = new BroadcastChannel('carrel-uploads');
signOuts.onmessage = () => uploads.stop();

/** Deletes the queue from this browser, before the account signs out. */
export async function forgetUploads(): Promise<void> {
  if (!recall(STORED)) return;
  uploads.stop();
  signOuts.postMessage('stop');
  forget(STORED);
  await store.clear().catch(() => {}); // without IndexedDB nothing is stored
}

const openSource = ({ agentId, sourceId }: UploadPlace) => go(`/sources/${sourceId}${query({ agent: agentId })}`);

/** Continues the uploads that a reload or a closed tab has interrupted. */
export function resumeUploads(): Promise<void> {
  return uploads.resume((count, place) => {
    const here = segments()[1] === place.sourceId;
    const action = here ? undefined : { label: t('show'), run: () => openSource(place) };
    if (count) show({ text: l('resumed', { count }), action });
  });
}

/** Uploads files to a source. */
export function addUploads(place: UploadPlace, { files, leftOut }: Selection): void {
  if (files.length) void uploads.add(place, files, leftOut);
  else show({ text: l('nothing_to_upload', { count: leftOut }) });
}

/** Uploads dropped or pasted files to the open source, or else to the agent's default upload source. */
export function uploadHere(selection: Selection, openId?: string): void {
  const agent = agents.current;
  const sources = agent?.sources.filter((s) => s.kind === 'upload') ?? [];
  const source = sources.find((s) => s.id === openId) ?? sources.find((s) => s.default) ?? sources[0];
  if (!agent || !source) return;
  const place = { agentId: agent.id, sourceId: source.id };
  addUploads(place, selection);
  if (source.id !== openId && selection.files.length)
    show({
      text: t('uploading_to', { count: selection.files.length, source: source.name }),
      action: { label: t('show'), run: () => openSource(place) },
    });
}
