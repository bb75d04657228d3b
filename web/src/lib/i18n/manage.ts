import { textsOf } from './index.svelte';
import { en, type ManageKey } from './manage.en';

// A separate catalogue, because most users never open these pages and the first load stays small.

/** Like `t`, for the pages about accounts and administration. */
export const m = textsOf('manage', en);

/** The text for a value of the API, or else the value with spaces. */
export function labelOf(prefix: string, word: string): string {
  const key = `${prefix}.${word}`;
  return key in en ? m(key as ManageKey) : word.replaceAll('_', ' ');
}
