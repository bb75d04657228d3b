/** The path of the base URL without a trailing slash. The server writes it into the page. */
export const base: string =
  globalThis.document?.querySelector<HTMLMetaElement>('meta[name=carrel-base]')?.content ?? '';

/** The public base URL, for snippets. */
export const origin = (): string => location.origin + base;
