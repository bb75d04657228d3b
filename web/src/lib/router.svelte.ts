import { base } from './base';

/** The current location. Only `go` and the browser's back and forward buttons change it. */
export const route = $state({ path: stripBase(location.pathname), search: location.search, entry: entryKey() });

/** Strips the base path of the installation. */
function stripBase(pathname: string): string {
  return pathname.startsWith(base) ? pathname.slice(base.length) || '/' : pathname;
}

/** The key of the current history entry, under which its scroll position is kept. */
function entryKey(): string {
  const key = (history.state as { key?: string } | null)?.key;
  if (key) return key;
  const made = crypto.randomUUID();
  history.replaceState({ ...history.state, key: made }, '');
  return made;
}

function sync(): void {
  route.path = stripBase(location.pathname);
  route.search = location.search;
  route.entry = entryKey();
}

/** Navigates to a path. `replace` adds no history entry and keeps the focus, which filters need. */
export function go(to: string, replace = false): void {
  const state = replace ? history.state : { key: crypto.randomUUID() };
  history[replace ? 'replaceState' : 'pushState'](state, '', base + to);
  sync();
  if (!replace) document.getElementById('main')?.focus({ preventScroll: true });
}

/** Formats a query string without empty values. */
export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') q.set(name, String(value));
  const text = q.toString();
  return text && `?${text}`;
}

/** The URL of a page, including the base path. */
export const href = (to: string): string => base + to;

export const params = (): URLSearchParams => new URLSearchParams(route.search);

/** The path's segments: /chat/thr_1 is ['chat', 'thr_1']. */
export const segments = (): string[] => route.path.split('/').filter(Boolean);

/** Handles the back button and plain clicks on links within the app. */
export function startRouter(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', sync);
  addEventListener('click', (e) => {
    const a = (e.target as Element | null)?.closest?.('a');
    if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    if (a.target || a.hasAttribute('download') || a.origin !== location.origin || !isAppPath(stripBase(a.pathname)))
      return;
    e.preventDefault();
    go(stripBase(a.pathname) + a.search);
  });
}

/** Paths that the app renders. The server handles all others: /docs, /sign-out, files. */
const isAppPath = (path: string): boolean =>
  /^\/(chat|search|check|favourites|memories|bin|agents|sources|settings|admin)(\/|$)/.test(path);
