import { fillIn, language, type Language } from './index.svelte';
import { de } from './library.de';
import { en, type LibraryKey } from './library.en';
import type { Text } from './en';

// A separate catalogue, because only the page of a source needs it.
const texts: Record<Language, Record<LibraryKey, Text>> = { en, de };

/** Like `t`, for documents and uploads. */
export const l = (key: LibraryKey, values?: Record<string, string | number>): string =>
  fillIn(texts[language()][key], values);
