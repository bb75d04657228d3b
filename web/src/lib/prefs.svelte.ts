/** What the reader has chosen on this device. Storage may be forbidden or full; then it is kept for this visit. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`carrel.${name}`, value);
  } catch {
    /* kept in memory by whoever asked */
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(`carrel.${name}`);
  } catch {
    /* as above */
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

/** The colours, as chosen. */
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
