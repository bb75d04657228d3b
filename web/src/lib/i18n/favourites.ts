import { de } from './favourites.de';
import { en, type FavouriteKey } from './favourites.en';
import type { Text } from './en';
import { fillIn, language, type Language } from './index.svelte';

// A separate catalogue, because only the favourites page needs it.
const texts: Record<Language, Record<FavouriteKey, Text>> = { en, de };

/** Like `t`, for favourites. */
export const f = (key: FavouriteKey, values?: Record<string, string | number>): string =>
  fillIn(texts[language()][key], values);
