import { de } from './manage.de';
import { en, type ManageKey } from './manage.en';
import { language, say, type Language } from './index.svelte';
import type { Text } from './en';

// These texts come with the pages that show them, which most readers never open: the first load stays small.
const texts: Record<Language, Record<ManageKey, Text>> = { en, de };

/** A text of the pages about accounts and the installation, as `t` is for all others. */
export const m = (key: ManageKey, values?: Record<string, string | number>): string =>
  say(texts[language()][key], values);

/** A text for a word of the server, or the word made readable. */
export function worded(prefix: string, word: string): string {
  const key = `${prefix}.${word}`;
  return key in en ? m(key as ManageKey) : word.replaceAll('_', ' ');
}
