/** Stores a preference on this device. If storage is blocked or full, it lasts until the page is closed. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`carrel.${name}`, value);
  } catch {
    // The caller keeps the value in memory.
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(`carrel.${name}`);
  } catch {
    // Nothing was stored.
  }
}

export function recall(name: string): string | undefined {
  try {
    return localStorage.getItem(`carrel.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export type Theme = 'light' | 'dark' | 'system';
const dark = globalThis.matchMedia?.('(prefers-color-scheme: dark)');
const chosen = recall('theme');

export const theme = $state<{ choice: Theme }>({ choice: chosen === 'light' || chosen === 'dark' ? chosen : 'system' });

function paint(): void {
  document.documentElement.dataset.theme =
    theme.choice === 'system' ? (dark?.matches ? 'dark' : 'light') : theme.choice;
}

export function setTheme(choice: Theme): void {
  theme.choice = choice;
  if (choice === 'system') forget('theme');
  else remember('theme', choice);
  paint();
}

export function startTheme(): void {
  paint();
  dark?.addEventListener('change', paint);
}
