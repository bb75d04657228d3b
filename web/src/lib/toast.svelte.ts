import { asApiError } from './resource.svelte';
import { problem, t } from './i18n/index.svelte';

/** A short word at the edge of the window. */
export type Toast = {
  id: number;
  text: string;
  requestId?: string;
  action?: { label: string; run: () => void };
  ended?: () => void;
};

/** How long a toast stays, and so how long something can be undone. */
export const TOAST_MS = 6000;

export const toasts = $state<{ list: Toast[] }>({ list: [] });
let next = 1;
const timers = new Map<number, ReturnType<typeof setTimeout>>();

export function dismiss(id: number): void {
  const gone = toasts.list.find((x) => x.id === id);
  toasts.list = toasts.list.filter((x) => x.id !== id);
  clearTimeout(timers.get(id));
  timers.delete(id);
  gone?.ended?.();
}

export function show(toast: Omit<Toast, 'id'>): number {
  const id = next++;
  toasts.list = [...toasts.list.slice(-2), { id, ...toast }];
  timers.set(
    id,
    setTimeout(() => dismiss(id), TOAST_MS),
  );
  return id;
}

/** Tells of a failure, with the request's id for whoever has to look for it, and a way to try again. */
export function showError(e: unknown, retry?: () => void): void {
  const error = asApiError(e);
  if (error.code === 'step_up_required') return; // the browser is on its way to the page that asks for the proof
  show({ text: problem(error), requestId: error.requestId, action: retry && { label: t('retry'), run: retry } });
}

const pending = new Set<() => void>();

/**
 * Shows a deletion at once and sends it when the time to undo it is over or the page is left. `undo` puts the screen back. Only
 * for content (threads, memories, favourites, files): credentials, grants and webhooks are revoked at once, because a tab that
 * crashes meanwhile would leave them working. undo.test.ts lists what may be passed.
 */
export function undoable(text: string, commit: () => Promise<unknown>, undo: () => void): void {
  let open = true;
  const settle = () => {
    if (!open) return;
    open = false;
    pending.delete(settle);
    commit().catch((e) => {
      undo();
      showError(e);
    });
  };
  pending.add(settle);
  const id = show({
    text,
    action: {
      label: t('undo'),
      run: () => {
        open = false;
        pending.delete(settle);
        undo();
        dismiss(id);
      },
    },
    ended: settle,
  });
}

/** A page that is closed keeps what was shown as done. */
addEventListener('pagehide', () => {
  for (const settle of pending) settle();
});
