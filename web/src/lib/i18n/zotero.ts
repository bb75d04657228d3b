import { de } from './zotero.de';
import { en, type ZoteroKey } from './zotero.en';
import type { Text } from './en';
import { fillIn, language, type Language } from './index.svelte';

// A separate catalogue, because only users of Zotero need it.
const texts: Record<Language, Record<ZoteroKey, Text>> = { en, de };

/** Like `t`, for writing favourites to Zotero. */
export const z = (key: ZoteroKey, values?: Record<string, string | number>): string =>
  fillIn(texts[language()][key], values);
