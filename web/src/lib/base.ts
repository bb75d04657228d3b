/** What the server writes into a meta element of the page. */
const written = (name: string): string =>
  globalThis.document?.querySelector<HTMLMetaElement>(`meta[name=${name}]`)?.content ?? '';

/** The path of the base URL without a trailing slash. */
export const base: string = written('carrel-base');

/** Whether deleted items can be restored from the bin. */
export const hasBin: boolean = written('carrel-bin') !== 'off';

/** The public base URL, for snippets. */
export const origin = (): string => location.origin + base;
