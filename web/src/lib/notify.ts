import { base } from './base';
import { t } from './i18n/index.svelte';
import { forget, recall, remember } from './prefs.svelte';
import { go } from './router.svelte';

const ENABLED = 'notify';

export const canNotify = (): boolean => 'Notification' in globalThis;

/** Whether the user wants notifications in this browser, and the browser allows them. */
export const notifies = (): boolean => canNotify() && !!recall(ENABLED) && Notification.permission === 'granted';

/** Turns notifications on or off. Turning them on asks the browser, and reports whether it allows them. */
export async function setNotifies(on: boolean): Promise<boolean> {
  if (!on) {
    forget(ENABLED);
    return true;
  }
  if ((await Notification.requestPermission()) !== 'granted') return false;
  remember(ENABLED, 'yes');
  return true;
}

/** Tells that the answer in a chat is complete, if the page is hidden. */
export async function notifyAnswer(path: string, text: string): Promise<void> {
  if (!document.hidden || !notifies()) return;
  const options = { body: text.slice(0, 160), tag: path, icon: `${base}/icons/icon-192.png` };
  try {
    const shown = new Notification(t('answer_ready'), options);
    shown.onclick = () => {
      window.focus();
      go(path);
      shown.close();
    };
  } catch {
    // Chrome on Android shows notifications only through a service worker.
    const worker = await navigator.serviceWorker?.getRegistration();
    await worker?.showNotification(t('answer_ready'), { ...options, data: { url: base + path } });
  }
}
