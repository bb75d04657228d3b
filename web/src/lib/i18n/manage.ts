import { de } from './manage.de';
import { en, type ManageKey } from './manage.en';
import { fillIn, language, type Language } from './index.svelte';
import type { Text } from './en';

// A separate catalogue, because most users never open these pages and the first load stays small.
const texts: Record<Language, Record<ManageKey, Text>> = { en, de };

/** Like `t`, for the pages about accounts and administration. */
export const m = (key: ManageKey, values?: Record<string, string | number>): string =>
  fillIn(texts[language()][key], values);

/** The text for a value of the API, or else the value with spaces. */
export function labelOf(prefix: string, word: string): string {
  const key = `${prefix}.${word}`;
  return key in en ? m(key as ManageKey) : word.replaceAll('_', ' ');
}
