import { textsOf } from './index.svelte';
import { en } from './search.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the search page. */
export const s = textsOf('search', en);
