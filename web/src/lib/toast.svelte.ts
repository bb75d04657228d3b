import { asApiError } from './resource.svelte';
import { errorText, t } from './i18n/index.svelte';

export type Toast = {
  id: number;
  text: string;
  requestId?: string;
  action?: { label: string; run: () => void };
  ended?: () => void;
};

/** How long a toast is shown, and therefore how long a deletion can be undone. */
export const TOAST_MS = 10_000;
/** How many toasts are shown at once. A further one ends the oldest. */
const MAX_TOASTS = 3;

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
  for (const old of toasts.list.slice(0, -(MAX_TOASTS - 1))) dismiss(old.id);
  toasts.list = [...toasts.list, { id, ...toast }];
  timers.set(
    id,
    setTimeout(() => dismiss(id), TOAST_MS),
  );
  return id;
}

/** Shows an error with its request id, which an administrator can find in the log, and an optional retry. */
export function showError(e: unknown, retry?: () => void): void {
  const error = asApiError(e);
  if (error.code === 'step_up_required') return; // the user closed the dialog that asks for a proof
  show({ text: errorText(error), requestId: error.requestId, action: retry && { label: t('retry'), run: retry } });
}

const pending = new Set<() => void>();
let sending: Promise<unknown> = Promise.resolve();

/**
 * Shows a deletion at once, and sends it when the toast ends or the page is closed. `undo` restores the screen. Only
 * for content (threads, memories, favourites, files): credentials, grants and webhooks are revoked at once, because a
 * tab that crashes before the request is sent would leave them working. undo.test.ts lists the allowed paths.
 */
export function undoable(text: string, commit: () => Promise<unknown>, undo: () => void): void {
  let open = true;
  const settle = () => {
    if (!open) return;
    open = false;
    pending.delete(settle);
    dismiss(id);
    const sent = commit().catch((e) => {
      undo();
      showError(e);
    });
    sending = Promise.all([sending, sent]);
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

/** Sends the deletions that can still be undone, and waits for all. The bin would lack them otherwise. */
export async function settleDeletions(): Promise<void> {
  for (const settle of pending) settle();
  await sending;
}

// Closing the page sends the deletions that the screen already shows.
addEventListener('pagehide', () => {
  for (const settle of pending) settle();
});
