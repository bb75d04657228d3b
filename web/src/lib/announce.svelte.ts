/** What screen readers are told, politely, of things that happen away from the focus. */
export const announcer = $state({ text: '' });

export function announce(text: string): void {
  announcer.text = ''; // the same words twice are still news
  queueMicrotask(() => (announcer.text = text));
}
