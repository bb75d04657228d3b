import { de } from './reader.de';
import { en, type ReaderKey } from './reader.en';
import { fillIn, language, type Language } from './index.svelte';
import type { Text } from './en';

// A separate catalogue, because the first page needs none of it.
const texts: Record<Language, Record<ReaderKey, Text>> = { en, de };

/** Like `t`, for the reader of documents. */
export const r = (key: ReaderKey, values?: Record<string, string | number>): string =>
  fillIn(texts[language()][key], values);
