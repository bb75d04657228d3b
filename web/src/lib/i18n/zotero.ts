import { textsOf } from './index.svelte';
import { en } from './zotero.en';

// A separate catalogue, because only users of Zotero need it.

/** Like `t`, for writing favourites to Zotero. */
export const z = textsOf('zotero', en);
