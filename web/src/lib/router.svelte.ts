import { base } from './base';

/** Where the app is. Pages read it; only `go` and the browser's own buttons change it. */
export const route = $state({ path: within(location.pathname), search: location.search, entry: entryKey() });

/** The path below the base of the installation. */
function within(pathname: string): string {
  return pathname.startsWith(base) ? pathname.slice(base.length) || '/' : pathname;
}

/** A key for the history entry that is shown, so that each remembers where it was scrolled to. */
function entryKey(): string {
  const key = (history.state as { key?: string } | null)?.key;
  if (key) return key;
  const made = crypto.randomUUID();
  history.replaceState({ ...history.state, key: made }, '');
  return made;
}

function sync(): void {
  route.path = within(location.pathname);
  route.search = location.search;
  route.entry = entryKey();
}

/** Goes to a path of the app. With `replace` the history keeps its length, and the focus stays: a filter must not take it. */
export function go(to: string, replace = false): void {
  const state = replace ? history.state : { key: crypto.randomUUID() };
  history[replace ? 'replaceState' : 'pushState'](state, '', base + to);
  sync();
  if (!replace) document.getElementById('main')?.focus({ preventScroll: true });
}

/** Writes the query of the present path, leaving out what is empty. */
export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') q.set(name, String(value));
  const text = q.toString();
  return text && `?${text}`;
}

/** The address of a page, for links. */
export const href = (to: string): string => base + to;

/** The parameters of the present query. */
export const params = (): URLSearchParams => new URLSearchParams(route.search);

/** The parts of the path: /chat/thr_1 is ['chat', 'thr_1']. */
export const segments = (): string[] => route.path.split('/').filter(Boolean);

/** Starts to follow the back button and clicks on plain links within the app. */
export function startRouter(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', sync);
  addEventListener('click', (e) => {
    const a = (e.target as Element | null)?.closest?.('a');
    if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    if (a.target || a.hasAttribute('download') || a.origin !== location.origin || !isAppPath(within(a.pathname)))
      return;
    e.preventDefault();
    go(within(a.pathname) + a.search);
  });
}

/** Paths that the app draws itself; everything else is the server's: /docs, /sign-out, files. */
const isAppPath = (path: string): boolean =>
  /^\/(chat|search|favourites|memories|agents|sources|settings|admin)(\/|$)/.test(path);
