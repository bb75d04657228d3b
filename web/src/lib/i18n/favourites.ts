import { textsOf } from './index.svelte';
import { en } from './favourites.en';

// A separate catalogue, because only the favourites page needs it.

/** Like `t`, for favourites. */
export const f = textsOf('favourites', en);
