/** The path of the installation's base URL, without a slash at its end: the server writes it into the page. */
export const base: string =
  globalThis.document?.querySelector<HTMLMetaElement>('meta[name=carrel-base]')?.content ?? '';

/** Where people see the installation, for snippets that they copy. */
export const origin = (): string => location.origin + base;
