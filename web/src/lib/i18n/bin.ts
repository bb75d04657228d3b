import { textsOf } from './index.svelte';
import { en } from './bin.en';

// A separate catalogue, because the first page needs none of it.

/** Like `t`, for the bin. */
export const b = textsOf('bin', en);
