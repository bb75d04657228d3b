/** Text of the polite live region, for screen readers. */
export const announcer = $state({ text: '' });

export function announce(text: string): void {
  announcer.text = ''; // a repeated text is announced again
  queueMicrotask(() => (announcer.text = text));
}
